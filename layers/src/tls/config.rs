//! Settings of a TLS client.

use std::{fmt, sync::Arc};

use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    client::{Resumption, danger::ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

use super::{
    TlsConfigBuilder,
    sessions::{Sessions, Whose},
    verify::AnyOf,
};
use crate::{address::Name, error::BoxError};

/// Whom to trust and how to show who we are; cheap to clone.
///
/// Made through `builder_with_provider` with the process's default provider, or ring where there is none, so
/// it works whatever providers an application has enabled. Sessions are resumed, each server's apart.
#[derive(Clone)]
pub struct TlsConfig {
    config: Arc<ClientConfig>,
    // Kept beside the configuration, which does not give it back, to verify other names than the one asked.
    verifier: Option<Arc<dyn ServerCertVerifier>>,
    sessions: Arc<Sessions>,
}

impl TlsConfig {
    /// Begins new settings.
    pub fn builder() -> TlsConfigBuilder {
        TlsConfigBuilder::new()
    }

    /// Trusts these roots and shows no certificate.
    ///
    /// # Errors
    /// If `roots` is empty or the provider cannot do TLS 1.2 or 1.3.
    pub fn with_roots(roots: RootCertStore) -> Result<Self, TlsConfigError> {
        Self::builder().roots(roots).build()
    }

    /// Trusts the certificates in this PEM text; shows a certificate if a PEM chain and key are given.
    ///
    /// # Errors
    /// If a text holds no certificate or key, or one that cannot be used; the error says which.
    pub fn from_pem(ca: &[u8], client: Option<(&[u8], &[u8])>) -> Result<Self, TlsConfigError> {
        let builder = Self::builder().ca_pem(ca)?;
        match client {
            None => builder.build(),
            Some((chain, key)) => builder.client_pem(chain, key)?.build(),
        }
    }

    pub(super) fn assemble(config: ClientConfig, verifier: Arc<dyn ServerCertVerifier>) -> Self {
        Self { config: Arc::new(config), verifier: Some(verifier), sessions: Arc::default() }
    }

    /// What rustls is given, for use outside of this crate.
    #[must_use]
    pub fn client_config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    /// The settings for one connection: those as they are, or verifying other names than the one asked for, or with
    /// sessions of their own.
    pub(super) fn for_server(&self, whose: Whose) -> Result<Arc<ClientConfig>, BoxError> {
        let as_asked = matches!(&whose.accepted[..], [only] if *only == whose.asked);
        let Some(verifier) = &self.verifier else {
            // Made elsewhere: its verifier is not known, and whether sessions may be resumed is its own matter.
            return match as_asked {
                true => Ok(Arc::clone(&self.config)),
                false => Err("several accepted names, or an SNI name apart from the accepted one, need TLS settings \
                              made by `TlsConfig`"
                    .into()),
            };
        };
        if as_asked && whose.scope.is_none() {
            return Ok(Arc::clone(&self.config));
        }
        let accepted = whose.accepted.clone();
        Ok(self.sessions.of(whose, || {
            let mut config = ClientConfig::clone(&self.config);
            if !as_asked {
                let verifier = Arc::new(AnyOf::new(Arc::clone(verifier), accepted));
                config.dangerous().set_certificate_verifier(verifier);
            }
            config.resumption = Resumption::in_memory_sessions(1);
            config
        }))
    }
}

/// Settings made elsewhere, used as they are; only the name asked for can be verified with them, and sessions are
/// resumed as they say.
impl From<Arc<ClientConfig>> for TlsConfig {
    fn from(config: Arc<ClientConfig>) -> Self {
        Self { config, verifier: None, sessions: Arc::default() }
    }
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the key.
        f.debug_struct("TlsConfig").finish_non_exhaustive()
    }
}

pub(super) fn certificates(pem: &[u8], what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsConfigError> {
    let certs: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certs = certs.map_err(|e| TlsConfigError::new(what, "is not PEM", e))?;
    if certs.is_empty() {
        return Err(TlsConfigError::new(what, "holds no certificate in PEM form", "no BEGIN CERTIFICATE line"));
    }
    Ok(certs)
}

/// A DNS name as TLS knows it; a final dot is left out of the hello and of the comparison by rustls.
pub(super) fn server_name(name: &Name) -> Result<ServerName<'static>, BoxError> {
    ServerName::try_from(name.as_str().to_owned())
        .map_err(|e| format!("{name} cannot be a TLS server name: {e}").into())
}

/// TLS settings that cannot be used: which input, and why.
#[derive(Debug)]
pub struct TlsConfigError {
    input: &'static str,
    problem: &'static str,
    source: BoxError,
}

impl TlsConfigError {
    pub(super) fn new(input: &'static str, problem: &'static str, source: impl Into<BoxError>) -> Self {
        Self { input, problem, source: source.into() }
    }

    /// Which input was wrong: `CA file`, `certificate file`, `key file`, `system's roots` or `TLS provider`.
    #[must_use]
    pub fn input(&self) -> &'static str {
        self.input
    }
}

impl fmt::Display for TlsConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} {}", self.input, self.problem)
    }
}

impl std::error::Error for TlsConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}
