//! What can go wrong in TLS, and the stage that tells of it.

use std::{io, time::Duration};

use messina_layers::{
    Address, AttemptError, Candidate, Dial, HandshakeLayer, MaybeTls, Name, Scope, ServerIdentity, Stage, TimedOut,
    TlsConfig, TlsIdentity, TlsLayer, Transport, rustls, tls::DEFAULT_TLS_TIMEOUT,
};
use rustls::SupportedProtocolVersion;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    task::JoinHandle,
    time::Instant,
};
use tokio_rustls::TlsAcceptor;
use tower::{Layer, ServiceExt, service_fn};

use crate::support::certs::{Authority, Identity, server};

#[derive(Clone)]
struct Secure(TlsIdentity);

impl Dial for Secure {
    fn address(&self) -> Address {
        Address::Name(db(), 9042)
    }
}

impl ServerIdentity for Secure {
    fn tls(&self) -> Option<TlsIdentity> {
        Some(self.0.clone())
    }
}

fn db() -> Name {
    Name::new("db.test").unwrap()
}

fn candidate() -> Candidate<Secure> {
    Candidate::new(Secure(TlsIdentity::named(db())), "10.0.0.1:9042".parse().unwrap())
}

/// Dials `near`, runs TLS, then expects one byte as its handshake.
async fn one_byte(client: TlsConfig, near: DuplexStream) -> Result<u8, AttemptError> {
    let mut near = Some(near);
    let connector = service_fn(move |candidate: Candidate<Secure>| {
        std::future::ready(Ok::<_, io::Error>(Transport::new(candidate, near.take().unwrap())))
    });
    let handshake =
        service_fn(async |mut transport: Transport<Secure, MaybeTls<DuplexStream>>| transport.io.read_u8().await);
    HandshakeLayer::new(handshake)
        .layer(TlsLayer::new().with_config(client).layer(connector))
        .oneshot(candidate())
        .await
}

type Server = JoinHandle<io::Result<()>>;

/// A server that accepts TLS and sends a byte.
fn serve(
    certificate: &Identity,
    versions: &[&'static SupportedProtocolVersion],
    clients: Option<&Authority>,
) -> (DuplexStream, Server) {
    let (near, far) = tokio::io::duplex(16 * 1024);
    let acceptor = TlsAcceptor::from(server(certificate, versions, clients));
    let serve = async move {
        let mut stream = acceptor.accept(far).await?;
        stream.write_u8(1).await?;
        stream.shutdown().await
    };
    (near, tokio::spawn(serve))
}

fn told(error: &AttemptError) -> (Stage, Scope, String) {
    (error.stage(), error.scope(), messina_layers::error::chain(error).to_string())
}

#[tokio::test]
async fn both_versions_of_tls_work() {
    let authority = Authority::new();
    let certificate = authority.issue(&["db.test"]);
    for version in rustls::ALL_VERSIONS {
        let (near, _server) = serve(&certificate, &[*version], None);
        assert_eq!(one_byte(authority.client(), near).await.unwrap(), 1);
    }
}

/// connect 52: a TLS failure is one of this address: wrong name, unknown authority, expired.
#[tokio::test(start_paused = true)]
async fn certificates_that_do_not_do() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    for (certificate, cause) in [
        (authority.issue(&["other.test"]), "certificate not valid for name \"db.test\""),
        (stranger.issue(&["db.test"]), "UnknownIssuer"),
        (authority.issue_expired(&["db.test"]), "certificate expired"),
    ] {
        let (near, server) = serve(&certificate, rustls::ALL_VERSIONS, None);
        let (stage, scope, text) = told(&one_byte(authority.client(), near).await.unwrap_err());
        assert_eq!((stage, scope), (Stage::TLS, Scope::Candidate), "{text}");
        assert!(text.contains(cause), "{text}");
        assert!(server.await.unwrap().is_err(), "the server is told");
    }
}

/// connect 52: a server that speaks no TLS.
#[tokio::test(start_paused = true)]
async fn a_plain_server() {
    for banner in [&b"\x84\x00\x00\x00\x00\x00\x00\x00\x00 not TLS"[..], b"HTTP/1.1 400 Bad Request\r\n\r\n"] {
        let (near, mut far) = tokio::io::duplex(1024);
        far.write_all(banner).await.unwrap();
        let (stage, scope, text) = told(&one_byte(Authority::new().client(), near).await.unwrap_err());
        assert_eq!((stage, scope), (Stage::TLS, Scope::Candidate), "{text}");
    }
}

/// connect 52: a server that closes in the middle of the handshake.
#[tokio::test(start_paused = true)]
async fn a_server_that_closes_early() {
    let (near, mut far) = tokio::io::duplex(16 * 1024);
    let connect = tokio::spawn(one_byte(Authority::new().client(), near));
    far.read_u8().await.unwrap();
    drop(far);
    let error = connect.await.unwrap().unwrap_err();
    assert_eq!((error.stage(), error.scope()), (Stage::TLS, Scope::Candidate));
    assert_eq!(error.find::<io::Error>().unwrap().kind(), io::ErrorKind::UnexpectedEof);
}

/// connect 52: a server that never answers the hello ends at the limit of the step, 5 s unless told otherwise.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_the_hello() {
    assert_eq!(DEFAULT_TLS_TIMEOUT, Duration::from_secs(5));
    for limit in [DEFAULT_TLS_TIMEOUT, Duration::from_millis(300)] {
        let (near, mut far) = tokio::io::duplex(16 * 1024);
        let mut near = Some(near);
        let connector = service_fn(move |candidate: Candidate<Secure>| {
            std::future::ready(Ok::<_, io::Error>(Transport::new(candidate, near.take().unwrap())))
        });
        let tls = TlsLayer::new().with_config(Authority::new().client()).with_timeout(limit).layer(connector);
        let started = Instant::now();
        let error = tls.oneshot(candidate()).await.map(drop).unwrap_err();
        assert_eq!(
            (error.stage(), error.scope(), error.find()),
            (Stage::TLS, Scope::Candidate, Some(&TimedOut::new(limit)))
        );
        assert_eq!(started.elapsed(), limit);
        let mut hello = Vec::new();
        far.read_to_end(&mut hello).await.unwrap();
        assert_eq!(hello[0], 22, "a hello was sent, and then the connection was closed");
    }
}

/// connect 52: a client certificate demanded and none shown. TLS 1.2 tells within its handshake; in 1.3 the
/// client has finished before the server looks, so the next step reads the alert.
#[tokio::test(start_paused = true)]
async fn a_client_certificate_is_demanded() {
    let authority = Authority::new();
    let certificate = authority.issue(&["db.test"]);
    for (version, stage) in [(&rustls::version::TLS12, Stage::TLS), (&rustls::version::TLS13, Stage::HANDSHAKE)] {
        let (near, server) = serve(&certificate, &[version], Some(&authority));
        let (told_stage, scope, text) = told(&one_byte(authority.client(), near).await.unwrap_err());
        assert_eq!((told_stage, scope), (stage, Scope::Candidate), "{text}");
        assert!(text.contains("received fatal alert"), "{text}");
        assert!(server.await.unwrap().is_err());

        let own = authority.issue(&["client.test"]);
        let client = TlsConfig::from_pem(
            authority.pem().as_bytes(),
            Some((own.chain_pem.as_bytes(), own.key.serialize_pem().as_bytes())),
        );
        let (near, _server) = serve(&certificate, &[version], Some(&authority));
        assert_eq!(one_byte(client.unwrap(), near).await.unwrap(), 1);
    }
}

/// connect 52: a server that closes after finishing TLS: the next step tells.
#[tokio::test(start_paused = true)]
async fn a_server_that_closes_after_finishing() {
    let authority = Authority::new();
    let acceptor = TlsAcceptor::from(server(&authority.issue(&["db.test"]), rustls::ALL_VERSIONS, None));
    for politely in [true, false] {
        let (near, far) = tokio::io::duplex(16 * 1024);
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let mut stream = acceptor.accept(far).await.unwrap();
            if politely {
                stream.shutdown().await.unwrap();
            }
        });
        let error = one_byte(authority.client(), near).await.unwrap_err();
        assert_eq!((error.stage(), error.scope()), (Stage::HANDSHAKE, Scope::Candidate));
        assert_eq!(error.find::<io::Error>().unwrap().kind(), io::ErrorKind::UnexpectedEof);
    }
}

/// A failed dial stays one of the stage tcp, and a panic in the connector is one.
/// connect D24: a layer between TLS and the connector ends the dial.
#[tokio::test]
async fn a_failed_dial_is_not_a_failure_of_tls() {
    let refused = service_fn(async |_: Candidate<Secure>| {
        Err::<Transport<Secure, DuplexStream>, _>(io::Error::from(io::ErrorKind::ConnectionRefused))
    });
    let torn =
        service_fn(async |_: Candidate<Secure>| -> io::Result<Transport<Secure, DuplexStream>> { panic!("torn") });
    let error = TlsLayer::new().layer(refused).oneshot(candidate()).await.map(drop).unwrap_err();
    assert_eq!((error.stage(), error.cause().to_string().as_str()), (Stage::TCP, "connection refused"));
    let error = TlsLayer::new().layer(torn).oneshot(candidate()).await.map(drop).unwrap_err();
    assert_eq!((error.stage(), error.cause().to_string().as_str()), (Stage::TCP, "panicked: torn"));
    let torn = service_fn(|_: Candidate<Secure>| -> std::future::Ready<io::Result<Transport<Secure, DuplexStream>>> {
        panic!("torn at once")
    });
    let error = TlsLayer::new().layer(torn).oneshot(candidate()).await.map(drop).unwrap_err();
    assert_eq!((error.stage(), error.cause().to_string().as_str()), (Stage::TCP, "panicked: torn at once"));
}

/// connect 45: dropping a connect in the middle of TLS closes its transport.
#[tokio::test]
async fn a_dropped_handshake_closes_its_transport() {
    let (near, mut far) = tokio::io::duplex(16 * 1024);
    let mut connect = tokio_test::task::spawn(one_byte(Authority::new().client(), near));
    assert!(connect.poll().is_pending());
    drop(connect);
    let mut hello = Vec::new();
    far.read_to_end(&mut hello).await.unwrap();
    assert!(!hello.is_empty());
}
