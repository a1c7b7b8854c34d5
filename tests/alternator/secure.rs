//! TLS: names, addresses, certificates of clients, and the switches that leave checks out.

use std::time::Duration;

use messina::{
    alternator::{client::AlternatorBuilder, http::HttpOptions},
    layers::{Name, rustls::RootCertStore, rustls::pki_types::CertificateDer, rustls::pki_types::pem::PemObject},
    testkit::{
        ServerTls, TestCa,
        http::{HttpCluster, HttpNode},
    },
};

use crate::http_support::{builder, call, ready};

async fn cluster(tls: ServerTls) -> HttpCluster {
    HttpCluster::builder().nodes(2).tls(tls).start().await.unwrap()
}

/// A certificate for any of the addresses that a test's nodes may have cannot be made beforehand; this one has a name only.
fn named(ca: &TestCa) -> ServerTls {
    ca.server(["db.test"])
}

fn client(cluster: &HttpCluster, options: HttpOptions) -> AlternatorBuilder {
    builder(cluster, &[0]).http(options)
}

/// alternator A13: a certificate without the node's address is refused, unless its name is accepted, or checks are left out
/// under a loud name.
/// alternator 8: the setting is its own and has its effect (J 119, 128, C# 43).
#[tokio::test]
async fn certificates_without_addresses() {
    let ca = TestCa::new();
    let cluster = cluster(named(&ca)).await;
    let safe = HttpOptions::default().with_tls(ca.client());
    let alternator = client(&cluster, safe.clone()).build().unwrap();
    let error = alternator.ready(Duration::from_millis(300)).await.unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.pem().as_bytes()).unwrap()).unwrap();
    let options = [
        safe.with_accepted_name(Name::new("db.test").unwrap()),
        HttpOptions::default().dangerously_accept_any_name(roots.clone()),
        HttpOptions::default().dangerously_trust_any_certificate(),
    ];
    for options in options {
        let alternator = ready(client(&cluster, options)).await;
        assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
        assert_eq!(alternator.nodes().len(), 2);
    }
    let stranger = self::cluster(named(&TestCa::new())).await;
    let alternator = client(&stranger, HttpOptions::default().dangerously_accept_any_name(roots)).build().unwrap();
    alternator.ready(Duration::from_millis(300)).await.unwrap_err();
}

/// alternator A1: a seed that is a name has that name verified, whatever its address.
#[tokio::test]
async fn names_are_verified() {
    let ca = TestCa::new();
    let cluster = cluster(named(&ca)).await;
    let ip = cluster.node(0).addr().ip();
    let resolver = tower::service_fn(move |address: messina::layers::Address| async move {
        Ok::<_, std::io::Error>([address.ip().unwrap_or(ip)])
    });
    for (name, fits) in [("db.test", true), ("other.test", false)] {
        let options = HttpOptions::default().with_tls(ca.client()).with_resolver(resolver);
        let seed = format!("https://{name}:{}", cluster.port());
        let alternator = builder(&cluster, &[]).seed(seed).http(options).build().unwrap();
        assert_eq!(alternator.ready(Duration::from_millis(500)).await.is_ok(), fits, "{name}");
    }
}

/// alternator 8: a client's certificate, and no signature at all, is a way to log in (S 23684, 30690, ALB 111, 117).
#[tokio::test]
async fn mutual() {
    let ca = TestCa::new();
    let cluster = cluster(named(&ca).with_client_auth()).await;
    let name = Name::new("db.test").unwrap();
    let options = |tls| HttpOptions::default().with_tls(tls).with_accepted_name(name.clone());
    let alternator = client(&cluster, options(ca.client())).build().unwrap();
    alternator.ready(Duration::from_millis(300)).await.unwrap_err();
    let alternator = ready(client(&cluster, options(ca.client_with_certificate("app")))).await;
    assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
    let last = cluster.nodes().iter().find_map(HttpNode::last).unwrap();
    assert_eq!(last.header("authorization"), None);
}

/// alternator 8: a new connection resumes the TLS session of an earlier one (ALB 92, 95; S 17719).
#[tokio::test]
async fn sessions_are_resumed() {
    let ca = TestCa::new();
    let cluster = cluster(named(&ca)).await;
    let options = HttpOptions::default().with_tls(ca.client()).with_accepted_name(Name::new("db.test").unwrap());
    let alternator = ready(client(&cluster, options)).await;
    let until = tokio::time::Instant::now() + Duration::from_secs(5);
    while cluster.nodes().iter().all(|node| node.resumed() == 0) {
        assert!(tokio::time::Instant::now() < until);
        assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
        cluster.nodes().iter().for_each(HttpNode::reset);
    }
}
