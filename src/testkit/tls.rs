//! Certificates made for a test, and what a node shows of them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use messina_layers::TlsConfig;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// A certificate authority that lives as long as the test. A clone is the same authority.
///
/// ```
/// # async fn example() -> std::io::Result<()> {
/// use messina::testkit::{Cluster, TestCa};
///
/// let ca = TestCa::new();
/// let cluster = Cluster::builder().tls(ca.server(["db.test", "127.0.0.1"])).start().await?;
/// let trusted = ca.client(); // for a session, or `ca.pem()` for a file
/// # let _ = (cluster, trusted);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TestCa {
    inner: Arc<Ca>,
}

struct Ca {
    cert: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Default for TestCa {
    fn default() -> Self {
        Self::new()
    }
}

impl TestCa {
    /// A fresh authority that nobody knows.
    pub fn new() -> Self {
        static AUTHORITIES: AtomicUsize = AtomicUsize::new(1);
        // Each has a subject of its own, or a certificate of another authority would look like a forged one of this.
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        let mut params = params(&[], &format!("messina test authority {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = made(KeyPair::generate());
        let cert = made(params.self_signed(&key));
        Self { inner: Arc::new(Ca { cert, issuer: Issuer::new(params, key) }) }
    }

    /// The authority's certificate as PEM, for clients that read files.
    pub fn pem(&self) -> String {
        self.inner.cert.pem()
    }

    /// Settings of a client that trusts this authority and shows no certificate.
    pub fn client(&self) -> TlsConfig {
        made(TlsConfig::from_pem(self.pem().as_bytes(), None))
    }

    /// Settings of a client that trusts this authority and shows a certificate of it.
    pub fn client_with_certificate(&self, name: &str) -> TlsConfig {
        let (chain, key) = self.identity(name);
        made(TlsConfig::from_pem(self.pem().as_bytes(), Some((chain.as_bytes(), key.as_bytes()))))
    }

    /// A client's certificate and key, both as PEM.
    pub fn identity(&self, name: &str) -> (String, String) {
        let (cert, key) = self.issue(&[], name, false);
        (cert.pem(), key.serialize_pem())
    }

    /// What a server shows: a certificate for these DNS names and IP addresses.
    ///
    /// # Panics
    /// On a name that cannot stand in a certificate.
    pub fn server<S: Into<String>>(&self, names: impl IntoIterator<Item = S>) -> ServerTls {
        let names = names.into_iter().map(Into::into).collect();
        ServerTls::make(self.clone(), names, false, None)
    }

    fn issue(&self, names: &[String], subject: &str, expired: bool) -> (Certificate, KeyPair) {
        let mut params = params(names, subject);
        params.use_authority_key_identifier_extension = true;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        if expired {
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let key = made(KeyPair::generate());
        let cert = made(params.signed_by(&key, &self.inner.issuer));
        (cert, key)
    }
}

impl fmt::Debug for TestCa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestCa").finish_non_exhaustive()
    }
}

/// What a server shows in the TLS handshake; see [`TestCa::server`].
#[derive(Clone)]
pub struct ServerTls {
    ca: TestCa,
    names: Vec<String>,
    expired: bool,
    /// Whose certificates a client may show; `None` asks for none.
    clients: Option<TestCa>,
    config: Arc<ServerConfig>,
}

impl ServerTls {
    /// The same, with a certificate that expired long ago.
    pub fn expired(self) -> Self {
        Self::make(self.ca, self.names, true, self.clients)
    }

    /// The same, demanding a certificate of the same authority from the client.
    pub fn with_client_auth(self) -> Self {
        let clients = self.ca.clone();
        self.with_client_auth_by(&clients)
    }

    /// The same, demanding a certificate of this authority from the client.
    pub fn with_client_auth_by(self, clients: &TestCa) -> Self {
        Self::make(self.ca, self.names, self.expired, Some(clients.clone()))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.config.clone().into()
    }

    fn make(ca: TestCa, names: Vec<String>, expired: bool, clients: Option<TestCa>) -> Self {
        let (cert, key) = ca.issue(&names, "messina test server", expired);
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = made(builder.with_safe_default_protocol_versions());
        let builder = if let Some(clients) = &clients {
            let mut roots = RootCertStore::empty();
            made(roots.add(clients.inner.cert.der().clone()));
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(made(verifier))
        } else {
            builder.with_no_client_auth()
        };
        let key = made(PrivateKeyDer::try_from(key.serialize_der()));
        let config = made(builder.with_single_cert(vec![cert.der().clone()], key));
        Self { ca, names, expired, clients, config: Arc::new(config) }
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ServerTls");
        debug.field("names", &self.names).field("expired", &self.expired).finish_non_exhaustive()
    }
}

fn params(names: &[String], subject: &str) -> CertificateParams {
    let mut params = made(CertificateParams::new(names));
    params.distinguished_name.push(DnType::CommonName, subject);
    params
}

/// What certificates are made of comes from this file, apart from the names.
fn made<T, E: fmt::Display>(result: Result<T, E>) -> T {
    match result {
        Ok(made) => made,
        Err(error) => panic!("a certificate for a test cannot be made: {error}"),
    }
}
