//! Certificates that rotate under a running session.

use std::time::Duration;

use messina::{
    Session,
    testkit::{Cluster, Network, TestCa},
};

use crate::support::{Events, Files, Names, SOON, connected, serves};

/// report 41: new files serve new connections, without a restart; open ones go on.
#[tokio::test(start_paused = true)]
async fn rotation() {
    let (before, after, files) = (TestCa::new(), TestCa::new(), Files::new());
    let network = Network::new();
    let cluster =
        Cluster::builder().network(&network).tls(before.server(["db.test", "10.0.0.1"])).start().await.unwrap();
    let names = Names::default();
    names.set("db.test", cluster.addrs());
    let ca = files.write("ca.pem", &before.pem());
    let log = Events::watch();
    let session = Session::builder()
        .contact_point("db.test")
        .tls_ca_file(&ca)
        .tls_reload_interval(Duration::from_secs(30))
        .resolver(names)
        .connector(network.connector())
        .build()
        .await
        .unwrap();
    connected(&cluster, [0], SOON).await;
    let opened = cluster.log().now().opened();

    // The server rotates first, then the file; a half-written file is passed over.
    let node = cluster.node(0);
    node.set(|facts| facts.tls = Some(after.server(["db.test", "10.0.0.1"])));
    files.write("ca.pem", "half a fi");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(node.connections().iter().any(serves), "what is open goes on");
    assert_eq!(cluster.log().now().opened(), opened);
    node.kill().await;
    node.start();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(!node.connections().iter().any(serves));
    assert_eq!(log.warned("changed TLS files cannot be used"), 1);

    files.write("ca.pem", &after.pem());
    connected(&cluster, [0], Duration::from_secs(120)).await;
    assert_eq!(log.with("TLS files changed").len(), 1);
    drop(session);
}

/// report 41: our own certificate rotates while the session lives: connections that are open stay, servers that accept the
/// new one alone let us in with it, and never with the old one.
#[tokio::test]
async fn rotation_of_our_own() {
    let (ca, before, after, files) = (TestCa::new(), TestCa::new(), TestCa::new(), Files::new());
    let server = || ca.server(["127.0.0.1"]);
    let cluster = Cluster::builder().tls(server().with_client_auth_by(&before)).start().await.unwrap();
    let node = cluster.node(0);
    let identity = |ca: &TestCa| {
        let (chain, key) = ca.identity("ada");
        (files.write("cert.pem", &chain), files.write("key.pem", &key))
    };
    let (cert, key) = identity(&before);
    let log = Events::watch();
    let session = Session::builder()
        .contact_addr(node.addr())
        .tls_ca_file(files.write("ca.pem", &ca.pem()))
        .tls_client_files(&cert, &key)
        .tls_reload_interval(Duration::from_millis(20))
        .reconnect_delays(Duration::from_millis(50), Duration::from_millis(100))
        .build()
        .await
        .unwrap();
    connected(&cluster, [0], SOON).await;

    // What is open does not mind what the next ones must show.
    node.set(|facts| facts.tls = Some(server().with_client_auth_by(&after)));
    let opened = cluster.log().now().opened();
    session.execute("SELECT key FROM system.local", ()).await.unwrap();
    assert_eq!((cluster.log().now().opened(), log.with("TLS files changed").len()), (opened, 0));
    // The old one is refused, again and again.
    node.reset_connections();
    cluster.wait_for(SOON, |seen| seen.opened() >= opened + 4 && seen.open() == 0).await.unwrap();
    assert!(!node.connections().iter().any(serves));

    // The files change, one after the other as files do: a certificate without its key is passed over.
    identity(&after);
    connected(&cluster, [0], SOON).await;
    assert!(!log.with("TLS files changed").is_empty());
    let in_use = async {
        while session.nodes()[0].connections.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, in_use).await.unwrap();
    session.execute("SELECT key FROM system.local", ()).await.unwrap();
    drop(session);
    cluster.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
}

/// A server of an unknown authority is told as just that.
#[tokio::test(start_paused = true)]
async fn an_unknown_authority() {
    let (ours, theirs) = (TestCa::new(), TestCa::new());
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).tls(theirs.server(["db.test"])).start().await.unwrap();
    let names = Names::default();
    names.set("db.test", cluster.addrs());
    let builder = Session::builder().contact_point("db.test").resolver(names).connector(network.connector());
    let trusting = builder.clone().tls(messina::config::TlsSettings::new(ours.client()));
    let line = trusting.build().await.unwrap_err().to_string();
    assert!(line.contains("UnknownIssuer"), "{line}");

    // Trusting all is a choice with a name and a warning.
    let log = Events::watch();
    let session = builder.tls_dangerous_trust_all().build().await.unwrap();
    connected(&cluster, [0], SOON).await;
    assert_eq!(log.warned("TLS trusts every certificate"), 1);
    drop(session);
}
