//! Settings of a TLS client.

use std::{fmt, sync::Arc};

use tokio_rustls::rustls::{
    self, ClientConfig, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};

use super::verify::AnyOf;
use crate::{address::Name, error::BoxError};

/// Whom to trust and how to show who we are; cheap to clone.
///
/// Made through `builder_with_provider` with the process's default provider, or ring where there is none, so
/// it works whatever providers an application has enabled.
#[derive(Clone)]
pub struct TlsConfig {
    config: Arc<ClientConfig>,
    // Kept beside the configuration, which does not give it back, to verify other names than the one asked.
    verifier: Option<Arc<dyn ServerCertVerifier>>,
}

impl TlsConfig {
    /// Trusts these roots and shows no certificate.
    ///
    /// # Errors
    /// If `roots` is empty or the provider cannot do TLS 1.2 or 1.3.
    pub fn with_roots(roots: RootCertStore) -> Result<Self, TlsConfigError> {
        Self::build(roots, None)
    }

    /// Trusts the certificates in this PEM text; shows a certificate if a PEM chain and key are given.
    ///
    /// # Errors
    /// If a text holds no certificate or key, or one that cannot be used; the error says which.
    pub fn from_pem(ca: &[u8], client: Option<(&[u8], &[u8])>) -> Result<Self, TlsConfigError> {
        let mut roots = RootCertStore::empty();
        for cert in certificates(ca, "CA file")? {
            roots
                .add(cert)
                .map_err(|e| TlsConfigError::new("CA file", "has a certificate that cannot be a root", e))?;
        }
        let client = match client {
            None => None,
            Some((chain, key)) => {
                let chain = certificates(chain, "certificate file")?;
                let key = PrivateKeyDer::from_pem_slice(key)
                    .map_err(|e| TlsConfigError::new("key file", "holds no private key in PEM form", e))?;
                Some((chain, key))
            }
        };
        Self::build(roots, client)
    }

    fn build(
        roots: RootCertStore,
        client: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    ) -> Result<Self, TlsConfigError> {
        let provider = CryptoProvider::get_default()
            .cloned()
            .unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .map_err(|e| TlsConfigError::new("CA file", "gives no usable roots", e))?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| TlsConfigError::new("TLS provider", "supports neither TLS 1.2 nor 1.3", e))?
            .with_webpki_verifier(Arc::clone(&verifier));
        let config = match client {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|e| TlsConfigError::new("key file", "does not fit the certificate file", e))?,
        };
        Ok(Self { config: Arc::new(config), verifier: Some(verifier) })
    }

    /// The settings for one connection: those as they are, or verifying other names than the one asked for.
    pub(super) fn for_names(
        &self,
        asked: &ServerName<'static>,
        accepted: Vec<ServerName<'static>>,
    ) -> Result<Arc<ClientConfig>, BoxError> {
        if accepted.len() == 1 && accepted[0] == *asked {
            return Ok(Arc::clone(&self.config));
        }
        let verifier = self.verifier.clone().ok_or(
            "several accepted names, or an SNI name apart from the accepted one, need TLS settings made by `TlsConfig`",
        )?;
        let mut config = ClientConfig::clone(&self.config);
        config.dangerous().set_certificate_verifier(Arc::new(AnyOf::new(verifier, accepted)));
        // A session resumed for the asked name would skip the check of the accepted ones.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Arc::new(config))
    }
}

/// Settings made elsewhere, used as they are; only the name asked for can be verified with them.
impl From<Arc<ClientConfig>> for TlsConfig {
    fn from(config: Arc<ClientConfig>) -> Self {
        Self { config, verifier: None }
    }
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the key.
        f.debug_struct("TlsConfig").finish_non_exhaustive()
    }
}

fn certificates(pem: &[u8], what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsConfigError> {
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
    fn new(input: &'static str, problem: &'static str, source: impl Into<BoxError>) -> Self {
        Self { input, problem, source: source.into() }
    }

    /// Which input was wrong: `CA file`, `certificate file`, `key file` or `TLS provider`.
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
