//! `messina probe --alternator`.

use std::path::Path;

use messina::testkit::{
    TestCa,
    http::{HttpCluster, HttpFault, HttpReply, On},
};

use crate::support::{messina_with, probe};

/// alternator 4.2: every node is asked for health, list and filters, those too that only a list names.
/// driver 7.9: a table for people, with a verdict for each contact point.
#[tokio::test]
async fn nodes_of_a_cluster() {
    let cluster = HttpCluster::start(3).await.unwrap();
    cluster.node(2).stop();
    let seed = cluster.node(0).addr().to_string();
    let ran = probe(&[&seed, "--alternator", "--timeout", "2"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let row = ran.row(cluster.node(0).addr());
    assert!(row.contains("healthy") && row.contains("3 nodes") && row.contains("known"), "{row}");
    let dead = ran.out.lines().find(|line| line.contains(&cluster.url(2)) && line.contains("(listed)")).unwrap();
    assert!(dead.contains("refused"), "{dead}");
    assert!(ran.verdict(&cluster.url(0)).contains("listed that do not answer"), "{ran:?}");
}

/// alternator 4.4: whether the filters are known is told, and nothing works where no address does; as JSON too.
#[tokio::test]
async fn as_json() {
    let cluster = HttpCluster::builder().nodes(2).without_filters().start().await.unwrap();
    let ran = probe(&[&cluster.url(0), "--alternator", "--json"]).await;
    assert_eq!((ran.code, ran.json()["hosts"][0]["filters"].as_str()), (0, Some("ignored")), "{ran:?}");
    cluster.nodes().iter().for_each(|node| node.fault(On::List, HttpFault::Status(503)));
    let ran = probe(&[&cluster.url(0), "--alternator", "--json"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.json()["hosts"][0]["error"].as_str().unwrap().contains("503"), "{ran:?}");
}

/// driver 7.9: what has no meaning here is said as such, with exit code 2.
#[tokio::test]
async fn options_of_cql() {
    let ran = probe(&["127.0.0.1:1", "--alternator", "--query", "SELECT 1"]).await;
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("--query"), "{ran:?}");
}

/// alternator A13: with TLS and no authority given, those of the operating system are trusted, and no others.
#[tokio::test]
async fn roots_of_the_system() {
    let ca = TestCa::new();
    let cluster = HttpCluster::builder().nodes(1).tls(ca.server(["db.test"])).start().await.unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("alternator-roots-{}.pem", std::process::id()));
    std::fs::write(&file, ca.pem()).unwrap();
    let seed = cluster.node(0).addr().to_string();
    let args = ["probe", &seed, "--alternator", "--tls", "--tls-name", "db.test"];
    // Where the platform's roots are looked for.
    let ran = messina_with(args, &[("SSL_CERT_FILE", file.to_str().unwrap())]).await;
    std::fs::write(&file, TestCa::new().pem()).unwrap();
    let other = messina_with(args, &[("SSL_CERT_FILE", file.to_str().unwrap())]).await;
    std::fs::remove_file(&file).unwrap();
    assert_eq!((ran.code, other.code), (0, 1), "{ran:?} {other:?}");
    assert!(other.out.contains("certificate"), "{other:?}");
}

/// alternator A1: a seed is scheme, host and port; anything more is refused with the seed, what is wrong and what is
/// allowed.
#[tokio::test]
async fn refused_seeds() {
    for (seed, wrong) in [
        ("http://db.test/path", "a path"),
        ("http://db.test:8000?a=b", "a query"),
        ("http://db.test#top", "a fragment"),
        ("http://ada@db.test", "a user"),
        ("http://::1:80", "in brackets"),
        ("db.test/path", "a path"),
    ] {
        let ran = probe(&[seed, "--alternator"]).await;
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains(seed) && ran.err.contains(wrong) && ran.err.contains("`http://host:port`"), "{ran:?}");
    }
}

/// driver 7.9: of another server's page only a beginning is shown.
#[tokio::test]
async fn page_of_another_server() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let page = format!("<html>\n<body>\n{}</body>\n</html>", "word ".repeat(100));
    cluster.node(0).fault(On::Requests, HttpFault::Reply(HttpReply::new(200, page)));
    let ran = probe(&[&cluster.url(0), "--alternator"]).await;
    let row = ran.row(cluster.node(0).addr());
    assert!(row.contains("<html> <body> word word word word word w...  "), "{row}");
}

/// driver 7.9: a certificate that is refused has the advice that it has with CQL.
#[tokio::test]
async fn refused_certificate() {
    let ca = TestCa::new();
    let cluster = HttpCluster::builder().nodes(1).tls(ca.server(["db.test"])).start().await.unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("alternator-refused-{}.pem", std::process::id()));
    std::fs::write(&file, ca.pem()).unwrap();
    let seed = cluster.node(0).addr().to_string();
    let ran = probe(&[&seed, "--alternator", "--tls-ca", file.to_str().unwrap()]).await;
    std::fs::write(&file, TestCa::new().pem()).unwrap();
    let other = probe(&[&seed, "--alternator", "--tls-ca", file.to_str().unwrap()]).await;
    std::fs::remove_file(&file).unwrap();
    assert!(ran.verdict(&format!("https://{seed}")).contains("`--tls-name db.test`"), "{ran:?}");
    assert!(other.verdict(&format!("https://{seed}")).contains("`--tls-ca FILE`"), "{other:?}");
}
