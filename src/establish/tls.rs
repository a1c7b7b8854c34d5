//! Whom TLS has to find behind a CQL target.

use messina_layers::{ServerIdentity, TlsIdentity};

use super::Open;

/// The endpoint's own name, whatever its pin; the address really dialled where it has none.
impl ServerIdentity for Open {
    fn tls(&self) -> Option<TlsIdentity> {
        let settings = self.config().tls.as_ref()?;
        let name = self.endpoint().target().tls_name();
        let mut identity = TlsIdentity::dialled();
        identity.sni.clone_from(&name);
        identity.accept = settings.accepted(name);
        #[cfg(feature = "rustls")]
        {
            identity.config = Some(settings.config.clone());
        }
        Some(identity)
    }
}
