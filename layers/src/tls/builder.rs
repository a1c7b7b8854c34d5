//! Collects whom to trust and what to show.

use std::sync::{Arc, Once};

use tokio_rustls::rustls::{
    self, ClientConfig, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use super::{
    config::{TlsConfig, TlsConfigError, certificates},
    verify::{AnyName, TrustAll},
};
#[cfg(feature = "native-roots")]
use crate::error::BoxError;

/// Collects whom to trust and what to show; [`build`](Self::build) makes a [`TlsConfig`] of it.
///
/// Roots add up: those of the system and some of one's own may be trusted together.
#[must_use = "a builder does nothing until `build` is called"]
pub struct TlsConfigBuilder {
    roots: RootCertStore,
    client: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    // Set to trust everyone; the warning is said once, however many settings are made of clones.
    trust_all: Option<Arc<Once>>,
    any_name: Option<Arc<Once>>,
}

impl TlsConfigBuilder {
    pub(super) fn new() -> Self {
        Self { roots: RootCertStore::empty(), client: None, trust_all: None, any_name: None }
    }

    /// Trusts these roots too.
    pub fn roots(mut self, roots: RootCertStore) -> Self {
        self.roots.extend(roots.roots);
        self
    }

    /// Trusts the certificates in this PEM text too.
    ///
    /// # Errors
    /// If the text holds no certificate, or one that cannot be a root.
    pub fn ca_pem(mut self, pem: &[u8]) -> Result<Self, TlsConfigError> {
        for cert in certificates(pem, "CA file")? {
            self.roots
                .add(cert)
                .map_err(|e| TlsConfigError::new("CA file", "has a certificate that cannot be a root", e))?;
        }
        Ok(self)
    }

    /// Trusts the roots of the operating system too. Reads files, once, now.
    ///
    /// # Errors
    /// If the system has no usable root; a single unusable one is passed over.
    #[cfg(feature = "native-roots")]
    pub fn native_roots(mut self) -> Result<Self, TlsConfigError> {
        let found = rustls_native_certs::load_native_certs();
        let (added, _unusable) = self.roots.add_parsable_certificates(found.certs);
        if added == 0 {
            let why: BoxError = match found.errors.into_iter().next() {
                Some(error) => error.into(),
                None => "the system has none".into(),
            };
            return Err(TlsConfigError::new("system's roots", "cannot be used", why));
        }
        Ok(self)
    }

    /// Shows this certificate where a server asks for one: a PEM chain and its PEM key.
    ///
    /// # Errors
    /// If a text holds no certificate or key.
    pub fn client_pem(mut self, chain: &[u8], key: &[u8]) -> Result<Self, TlsConfigError> {
        let chain = certificates(chain, "certificate file")?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|e| TlsConfigError::new("key file", "holds no private key in PEM form", e))?;
        self.client = Some((chain, key));
        Ok(self)
    }

    /// Trusts whoever answers: **no certificate is verified**, so anyone on the way can read and change everything.
    ///
    /// For trials with a server whose certificate cannot be had. [`build`](Self::build) warns in the log.
    pub fn dangerous_trust_all(mut self) -> Self {
        self.trust_all = Some(Arc::new(Once::new()));
        self
    }

    /// Accepts certificates of the trusted authorities **for any name**: whoever has one of them may be at the other end.
    ///
    /// Where certificates hold other names than the one that is connected to, accepting those names
    /// ([`Accept`](crate::Accept)) is the safe way. [`build`](Self::build) warns in the log.
    pub fn dangerous_any_name(mut self) -> Self {
        self.any_name = Some(Arc::new(Once::new()));
        self
    }

    /// Makes the settings.
    ///
    /// # Errors
    /// If there is no root, the key does not fit the certificate, or the provider cannot do TLS 1.2 or 1.3.
    pub fn build(self) -> Result<TlsConfig, TlsConfigError> {
        let provider = CryptoProvider::get_default()
            .cloned()
            .unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
        let verifier: Arc<dyn ServerCertVerifier> = if let Some(warned) = self.trust_all {
            warned.call_once(|| {
                tracing::warn!(
                    "TLS trusts every certificate: whoever is on the way can read and change everything \
                     (`dangerous_trust_all`)"
                );
            });
            Arc::new(TrustAll::new(provider.signature_verification_algorithms))
        } else {
            WebPkiServerVerifier::builder_with_provider(Arc::new(self.roots), Arc::clone(&provider))
                .build()
                .map_err(|e| TlsConfigError::new("CA file", "gives no usable roots", e))?
        };
        let verifier: Arc<dyn ServerCertVerifier> = match self.any_name {
            Some(warned) => {
                warned.call_once(|| {
                    tracing::warn!(
                        "TLS accepts certificates for any name: whoever has one may be at the other end \
                         (`dangerous_any_name`)"
                    );
                });
                Arc::new(AnyName(verifier))
            }
            None => verifier,
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| TlsConfigError::new("TLS provider", "supports neither TLS 1.2 nor 1.3", e))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier));
        let config = match self.client {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|e| TlsConfigError::new("key file", "does not fit the certificate file", e))?,
        };
        Ok(TlsConfig::assemble(config, verifier))
    }
}

impl Clone for TlsConfigBuilder {
    fn clone(&self) -> Self {
        let client = self.client.as_ref().map(|(chain, key)| (chain.clone(), key.clone_key()));
        let (trust_all, any_name) = (self.trust_all.clone(), self.any_name.clone());
        Self { roots: self.roots.clone(), client, trust_all, any_name }
    }
}

impl std::fmt::Debug for TlsConfigBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the key.
        f.debug_struct("TlsConfigBuilder")
            .field("roots", &self.roots.len())
            .field("client", &self.client.is_some())
            .field("trust_all", &self.trust_all.is_some())
            .field("any_name", &self.any_name.is_some())
            .finish()
    }
}
