//! TLS, as a session is told of it.

mod check;

use messina_layers::{Accept, Name};

/// Whom to trust, and for which names.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// Roots, and our own certificate.
    #[cfg(feature = "rustls")]
    pub config: messina_layers::TlsConfig,
    /// The names that a certificate may be valid for, in place of the endpoint's own; empty is its own.
    pub accept: Vec<Name>,
    /// The files that the settings come from and follow.
    #[cfg(feature = "rustls")]
    files: Option<messina_layers::TlsFiles>,
}

impl TlsSettings {
    /// Verifies each server for the name it is reached by, or the address where there is none.
    #[cfg(feature = "rustls")]
    #[must_use]
    pub fn new(config: messina_layers::TlsConfig) -> Self {
        Self { config, accept: Vec::new(), files: None }
    }

    /// The same, with settings that follow their files: each connect looks whether they are due to be read again.
    #[cfg(feature = "rustls")]
    #[must_use]
    pub fn from_files(files: messina_layers::TlsFiles) -> Self {
        Self { config: files.current(), accept: Vec::new(), files: Some(files) }
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

    /// The settings of a connection that is made now.
    #[cfg(feature = "rustls")]
    pub(crate) fn current(&self) -> messina_layers::TlsConfig {
        self.files.as_ref().map_or_else(|| self.config.clone(), messina_layers::TlsFiles::current)
    }

    /// Looks at the files, if they are due.
    pub(crate) async fn refresh(&self) {
        #[cfg(feature = "rustls")]
        if let Some(files) = &self.files {
            files.refresh().await;
        }
    }
}
