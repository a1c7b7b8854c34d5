//! Which TLS sessions are resumed, and which never.

use std::{io, net::SocketAddr, sync::Arc};

use messina_layers::{
    Accept, AttemptError, Candidate, MaybeTls, Name, ServerIdentity, Stage, TlsConfig, TlsIdentity, TlsLayer,
    Transport,
    rustls::{self, HandshakeKind, ServerConfig},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_rustls::TlsAcceptor;
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{
    capture::capture,
    certs::{Authority, server},
};

struct Secure(TlsIdentity);

impl ServerIdentity for Secure {
    fn tls(&self) -> Option<TlsIdentity> {
        Some(self.0.clone())
    }
}

/// Connects, reads a byte (and with it the tickets before it), and tells whether a session was resumed.
async fn resumed(
    client: &TlsConfig,
    server: &Arc<ServerConfig>,
    identity: TlsIdentity,
    dialled: &str,
) -> Result<bool, AttemptError> {
    let (near, far) = tokio::io::duplex(16 * 1024);
    let acceptor = TlsAcceptor::from(Arc::clone(server));
    let served = async move {
        let mut stream = acceptor.accept(far).await?;
        stream.write_all(b"!").await?;
        stream.flush().await?;
        io::Result::Ok(stream)
    };
    let mut near = Some(near);
    let connector = service_fn(move |candidate: Candidate<Secure>| {
        std::future::ready(Ok::<_, io::Error>(Transport::new(candidate, near.take().unwrap())))
    });
    let tls = TlsLayer::new().with_config(client.clone()).layer(connector);
    let dialled: SocketAddr = dialled.parse().unwrap();
    let (transport, _served) = tokio::join!(tls.oneshot(Candidate::new(Secure(identity), dialled)), served);
    let mut transport: Transport<Secure, MaybeTls<DuplexStream>> = transport?;
    let mut byte = [0];
    transport.io.read_exact(&mut byte).await.unwrap();
    let MaybeTls::Tls(stream) = transport.io else { panic!("plain") };
    Ok(stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed))
}

fn named(text: &str, scope: Option<&str>) -> TlsIdentity {
    let mut identity = TlsIdentity::named(Name::new(text).unwrap());
    identity.session_scope = scope.map(Into::into);
    identity
}

fn hung_up(candidate: Candidate<Secure>) -> Transport<Secure, DuplexStream> {
    Transport::new(candidate, tokio::io::duplex(64).0)
}

/// design 3.1: sessions are resumed per endpoint: servers that share a name, or a proxy, do not share sessions.
#[tokio::test]
async fn each_scope_resumes_its_own_sessions() {
    for version in rustls::ALL_VERSIONS {
        let authority = Authority::new();
        let client = authority.client();
        let server = server(&authority.issue(&["db.test", "10.0.0.1"]), &[*version], None);
        let connect = |identity| resumed(&client, &server, identity, "10.0.0.1:1");
        assert!(!connect(named("db.test", Some("a"))).await.unwrap(), "nothing to resume yet");
        assert!(connect(named("db.test", Some("a"))).await.unwrap(), "its own");
        assert!(!connect(named("db.test", Some("b"))).await.unwrap(), "the session of another server");
        assert!(!connect(named("db.test", None)).await.unwrap(), "the session of a scope");
        assert!(connect(named("db.test", None)).await.unwrap(), "by name alone");

        // With an SNI name, several names or an address, it is no different.
        let mut identity = named("other.test", Some("a"));
        identity.sni = Some(Name::new("node.proxy.test").unwrap());
        identity.accept = Accept::Names(vec![Name::new("x.test").unwrap(), Name::new("db.test").unwrap()]);
        assert!(!connect(identity.clone()).await.unwrap());
        assert!(connect(identity.clone()).await.unwrap());
        identity.session_scope = Some("b".into());
        assert!(!connect(identity.clone()).await.unwrap());
        identity.accept = Accept::Dialled;
        assert!(!connect(identity.clone()).await.unwrap(), "another thing to verify");
        assert!(connect(identity).await.unwrap());
    }
}

/// connect 27: no state grows with the number of names: of many servers the earliest are forgotten, of few none.
#[tokio::test]
async fn few_servers_are_remembered() {
    let authority = Authority::new();
    let client = authority.client();
    let server = server(&authority.issue(&["db.test"]), rustls::ALL_VERSIONS, None);
    let connect = |scope: String| {
        let (client, server) = (client.clone(), Arc::clone(&server));
        async move { resumed(&client, &server, named("db.test", Some(&scope)), "10.0.0.1:1").await.unwrap() }
    };
    assert!(!connect("first".into()).await);
    // Settings are made for a server before it answers, and these hang up at once.
    let others = async |count: usize, what: &str| {
        let closed = service_fn(|candidate| std::future::ready(Ok::<_, io::Error>(hung_up(candidate))));
        let tls = TlsLayer::new().with_config(client.clone()).layer(closed);
        for i in 0..count {
            let target = Secure(named("db.test", Some(&format!("{what} {i}"))));
            assert!(tls.clone().oneshot(Candidate::new(target, "10.0.0.1:1".parse().unwrap())).await.is_err());
        }
    };
    others(1024, "one").await;
    assert!(connect("first".into()).await, "a thousand others are no reason to forget");
    others(2100, "two").await;
    assert!(!connect("first".into()).await, "two thousand are");
}

/// design 3.1: trusting everyone has a name that says so, and a warning; nothing else of TLS is lost.
#[tokio::test]
async fn trust_all_says_so() {
    let theirs = Authority::new();
    let (built, log) = capture(|| TlsConfig::builder().dangerous_trust_all().build());
    let client = built.unwrap();
    assert_eq!(log.matches("TLS trusts every certificate").count(), 1, "{log}");
    for version in rustls::ALL_VERSIONS {
        let server = server(&theirs.issue_expired(&["other.test"]), &[*version], None);
        resumed(&client, &server, named("db.test", None), "10.0.0.1:1").await.unwrap();
        let several = TlsIdentity {
            accept: Accept::Names(vec![Name::new("a.test").unwrap(), Name::new("b.test").unwrap()]),
            ..TlsIdentity::default()
        };
        resumed(&client, &server, several, "10.0.0.1:1").await.unwrap();
    }
    let (_, log) = capture(|| Authority::new().client());
    assert_eq!(log, "", "ordinary settings need no warning");
}

/// design 3.1: leaving the name unchecked has a name that says so, and a warning; whose certificate it is stays checked, and
/// whether it still holds.
#[tokio::test]
async fn any_name_says_so() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let builder = TlsConfig::builder().roots(ours.roots());
    let (built, log) = capture(|| builder.clone().dangerous_any_name().build());
    assert_eq!(log.matches("TLS accepts certificates for any name").count(), 1, "{log}");
    let (client, safe) = (built.unwrap(), builder.build().unwrap());
    for version in rustls::ALL_VERSIONS {
        let other = server(&ours.issue(&["other.test"]), &[*version], None);
        resumed(&safe, &other, named("db.test", None), "10.0.0.1:1").await.unwrap_err();
        resumed(&client, &other, named("db.test", None), "10.0.0.1:1").await.unwrap();
        for refused in [theirs.issue(&["db.test"]), ours.issue_expired(&["db.test"])] {
            let server = server(&refused, &[*version], None);
            resumed(&client, &server, named("db.test", None), "10.0.0.1:1").await.unwrap_err();
        }
    }
}

/// The roots of the system are trusted where asked for, beside one's own, and no others.
#[cfg(feature = "native-roots")]
#[tokio::test]
async fn native_roots() {
    let ours = Authority::new();
    let system = match TlsConfig::builder().native_roots() {
        Ok(system) => system,
        Err(error) => {
            // A machine without roots; then it says so.
            assert_eq!(error.input(), "system's roots");
            return;
        }
    };
    let (system, both) =
        (system.build().unwrap(), TlsConfig::builder().native_roots().unwrap().roots(ours.roots()).build().unwrap());
    let server = server(&ours.issue(&["db.test"]), rustls::ALL_VERSIONS, None);
    resumed(&both, &server, named("db.test", None), "10.0.0.1:1").await.unwrap();
    let error = resumed(&system, &server, named("db.test", None), "10.0.0.1:1").await.unwrap_err();
    assert_eq!(error.stage(), Stage::TLS);
    let text = messina_layers::error::chain(&error).to_string();
    assert!(text.contains("UnknownIssuer") || text.contains("unknown issuer"), "{text}");
}
