//! TLS, as a session is told of it.

use messina_layers::{Accept, Name};

/// Whom to trust, and for which names.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// Roots, and our own certificate.
    #[cfg(feature = "rustls")]
    pub config: messina_layers::TlsConfig,
    /// The names that a certificate may be valid for, in place of the endpoint's own; empty is its own.
    pub accept: Vec<Name>,
}

impl TlsSettings {
    /// Verifies each server for the name it is reached by, or the address where there is none.
    #[cfg(feature = "rustls")]
    #[must_use]
    pub fn new(config: messina_layers::TlsConfig) -> Self {
        Self { config, accept: Vec::new() }
    }

    /// What a certificate must be valid for at an endpoint with this name.
    #[must_use]
    pub fn accepted(&self, endpoint: Option<Name>) -> Accept {
        match endpoint {
            _ if !self.accept.is_empty() => Accept::Names(self.accept.clone()),
            Some(name) => Accept::Names(vec![name]),
            None => Accept::Dialled,
        }
    }
}
