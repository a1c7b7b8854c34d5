//! TLS, by a client of rustls alone.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use messina::testkit::{Cluster, Ended, EventKind, Fault, Network, ServerTls, Stage, TestCa, Wrong};
use messina_layers::rustls::pki_types::pem::PemObject;
use messina_layers::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use messina_layers::rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::client::{Client, OPTIONS, QUIET, SOON};

type Identity = Option<(String, String)>;

fn connector(ca: &TestCa, identity: Identity) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.pem().as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(chain.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    Arc::new(config).into()
}

async fn dial(cluster: &Cluster, ca: &TestCa, name: &str, me: Identity) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(cluster.node(0).addr()).await?;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    tokio::time::timeout(SOON, connector(ca, me).connect(name, stream)).await.unwrap()
}

async fn start(tls: ServerTls) -> Cluster {
    Cluster::builder().tls(tls).start().await.unwrap()
}

/// testkit: a certificate for names and addresses; the name asked for stands in the log, the bytes decrypted.
#[tokio::test]
async fn handshake() {
    let ca = TestCa::new();
    let cluster = start(ca.server(["db.test", "127.0.0.1"])).await;
    let stream = dial(&cluster, &ca, "db.test", None).await.unwrap();
    let mut client = Client::over(stream);
    assert_eq!(client.startup(&[]).await.opcode, 0x02);
    drop(dial(&cluster, &ca, "127.0.0.1", None).await.unwrap());
    cluster.node(0).wait_for(SOON, |all| all.len() == 2 && all.iter().all(|one| one.events().len() > 1)).await.unwrap();
    let log = cluster.node(0).connections();
    let tls: Vec<_> = log.iter().map(|one| one.events()[1].kind.clone()).collect();
    let sni = |name: Option<&str>| EventKind::Tls { sni: name.map(str::to_owned) };
    assert_eq!(tls, [sni(Some("db.test")), sni(None)]);
    assert_eq!(log[0].received_bytes()[..5], [4, 0, 0, 7, 1]);
}

/// testkit: another name, another authority, an expired certificate: each is refused by a client that looks.
#[tokio::test]
async fn bad_certificates() {
    let (ca, other) = (TestCa::new(), TestCa::new());
    let good = ca.server(["db.test"]);
    let text = |result: std::io::Result<TlsStream<TcpStream>>| result.unwrap_err().to_string();
    let cluster = start(good.clone()).await;
    let error = text(dial(&cluster, &ca, "other.test", None).await);
    assert!(error.contains("not valid for name"), "{error}");
    let error = text(dial(&cluster, &other, "db.test", None).await);
    assert!(error.contains("UnknownIssuer") || error.contains("BadSignature"), "{error}");
    let cluster = start(good.expired()).await;
    let error = text(dial(&cluster, &ca, "db.test", None).await);
    assert!(error.contains("expired"), "{error}");
    cluster.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
    assert!(matches!(cluster.log().connections()[0].events()[1].kind, EventKind::Refused(_)));

    // A certificate that rotates at run time.
    cluster.node(0).set(|facts| facts.tls = Some(ca.server(["db.test"])));
    dial(&cluster, &ca, "db.test", None).await.unwrap();
}

/// testkit: a server that demands a certificate refuses a client without one.
#[tokio::test]
async fn client_certificates() {
    let ca = TestCa::new();
    let cluster = start(ca.server(["db.test"]).with_client_auth()).await;
    let stream = dial(&cluster, &ca, "db.test", Some(ca.identity("me"))).await.unwrap();
    assert_eq!(Client::over(stream).ask(OPTIONS, &[]).await.opcode, 0x06);
    // In TLS 1.3 the client learns of it with its first read.
    let refused = match dial(&cluster, &ca, "db.test", None).await {
        Ok(mut stream) => stream.read(&mut [0]).await.unwrap_err(),
        Err(error) => error,
    };
    assert!(refused.to_string().contains("CertificateRequired"), "{refused}");
}

/// testkit: a client that speaks no TLS is refused, and the log says why.
#[tokio::test]
async fn plain_client() {
    let ca = TestCa::new();
    let cluster = start(ca.server(["db.test"])).await;
    let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
    client.send(1, OPTIONS, &[]).await;
    cluster.wait_for(SOON, |seen| seen.opened() == 1 && seen.open() == 0).await.unwrap();
    let log = &cluster.log().connections()[0];
    assert!(matches!(log.events()[1].kind, EventKind::Refused(_)), "{log}");
}

/// testkit: every fault at the TLS stage.
#[tokio::test]
async fn faults() {
    let ca = TestCa::new();
    let cluster = start(ca.server(["db.test"])).await;
    let node = cluster.node(0);
    let error = async || dial(&cluster, &ca, "db.test", None).await.unwrap_err();

    for fault in [Fault::Reset, Fault::Refuse] {
        node.fault(Stage::Tls, fault);
        assert_eq!(error().await.kind(), ErrorKind::ConnectionReset);
    }
    for fault in [Fault::Close, Fault::error(0, ""), Fault::Cut(0), Fault::Cut(20)] {
        node.fault(Stage::Tls, fault);
        assert_eq!(error().await.kind(), ErrorKind::UnexpectedEof);
    }
    assert_eq!(node.connections().last().unwrap().closed(), Some(Ended::ByServer));
    node.fault(Stage::Tls, Fault::Wrong(Wrong::Garbage));
    assert_eq!(error().await.kind(), ErrorKind::InvalidData);

    let hello = async |fault: Fault| {
        node.fault(Stage::Tls, fault);
        let mut stream = TcpStream::connect(node.addr()).await.unwrap();
        let name = ServerName::try_from("db.test").unwrap();
        let dial = connector(&ca, None).connect(name, &mut stream);
        assert!(tokio::time::timeout(QUIET, dial).await.is_err());
        stream.write_all(&[]).await.unwrap();
        stream
    };
    hello(Fault::Silence).await;
    hello(Fault::Half).await;
    node.fault(Stage::Tls, Fault::Delay(Duration::from_millis(20)));
    let start = tokio::time::Instant::now();
    dial(&cluster, &ca, "db.test", None).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(20));
    cluster.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
}

/// testkit: TLS over pipes, and what a client of the layers needs to trust it.
#[tokio::test(start_paused = true)]
async fn over_pipes() {
    let ca = TestCa::new();
    let network = Network::new();
    let tls = ca.server(["db.test"]).with_client_auth();
    let cluster = Cluster::builder().network(&network).tls(tls).start().await.unwrap();
    let pipe = network.dial(cluster.node(0).addr()).await.unwrap();
    let name = ServerName::try_from("db.test").unwrap();
    let stream = connector(&ca, Some(ca.identity("me"))).connect(name, pipe).await.unwrap();
    let mut client = Client::over(stream);
    assert_eq!(client.startup(&[]).await.opcode, 0x02);
    cluster.node(0).kill().await;
    assert_eq!(client.end().await, ErrorKind::ConnectionReset);
    let _ = (ca.client(), ca.client_with_certificate("me"));
}
