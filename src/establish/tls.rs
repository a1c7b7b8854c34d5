//! Whom TLS has to find behind a CQL target.

use messina_layers::{ServerIdentity, TlsIdentity};

use super::Open;

/// The endpoint's own name, whatever its pin; the address really dialled where it has none.
impl ServerIdentity for Open {
    fn tls(&self) -> Option<TlsIdentity> {
        let settings = self.config().tls.as_ref()?;
        let endpoint = self.endpoint().target();
        let mut identity = TlsIdentity::dialled();
        identity.sni = endpoint.server_name();
        identity.accept = settings.accepted(endpoint.tls_name());
        // Nodes may share a name, and a proxy: what was agreed on with one of them is offered to no other.
        let scope = self.expected_host().map_or_else(|| self.to_string(), |host_id| host_id.to_string());
        identity.session_scope = Some(scope.into());
        #[cfg(feature = "rustls")]
        {
            identity.config = Some(settings.current());
        }
        Some(identity)
    }
}
