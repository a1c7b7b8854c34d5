//! TLS without a part of its checks, under names that say so.

use std::sync::Arc;

use messina_layers::{
    TlsConfig,
    rustls::{
        CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
        client::{
            WebPkiServerVerifier,
            danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        },
        crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
        pki_types::{CertificateDer, ServerName, UnixTime},
    },
};

use super::HttpOptions;

impl HttpOptions {
    /// **Trusts whoever answers**: the connection is encrypted, and may be to anybody. For trials only; each use is
    /// logged as a warning.
    #[must_use]
    pub fn dangerously_trust_any_certificate(self) -> Self {
        tracing::warn!("TLS is switched to trust any certificate: connections may be to anybody");
        self.with_verifier(|provider| Some(Arc::new(Anyone(provider))))
    }

    /// **Accepts certificates of these authorities for any name**: whoever has one of them may be at the other end.
    /// [`with_accepted_name`](Self::with_accepted_name) is the safe way to certificates without addresses. Each use is
    /// logged as a warning.
    #[must_use]
    pub fn dangerously_accept_any_name(self, roots: RootCertStore) -> Self {
        tracing::warn!("TLS is switched to accept certificates for any name");
        let roots = Arc::new(roots);
        self.with_verifier(|provider| {
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build().ok()?;
            Some(Arc::new(AnyName(verifier)))
        })
    }

    /// Without a verifier, which takes roots that are empty, there are no settings, and no connection.
    fn with_verifier(
        mut self,
        verifier: impl FnOnce(Arc<CryptoProvider>) -> Option<Arc<dyn ServerCertVerifier>>,
    ) -> Self {
        let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()));
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        self.tls = builder.ok().zip(verifier(provider)).map(|(builder, verifier)| {
            let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
            TlsConfig::from(Arc::new(builder.with_no_client_auth()))
        });
        self
    }
}

#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.0.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // The name is looked at last, when the chain is found right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
