//! TLS through a session: which name is verified, where, and what a failure says.

use std::net::SocketAddr;

use messina::{
    Session,
    config::TlsSettings,
    error::Kind,
    session::SessionBuilder,
    testkit::{Cluster, EventKind, Network, ServerTls, TestCa},
};

use crate::support::{Mode, SOON, TestStack, all_closed, attempts, named, stages, timed};

/// Nodes on pipes, at 10.0.0.1 and so on, with this certificate.
async fn cluster(network: &Network, nodes: usize, tls: ServerTls) -> Cluster {
    Cluster::builder().network(network).nodes(nodes).tls(tls).start().await.unwrap()
}

fn trusting(builder: SessionBuilder, ca: &TestCa) -> SessionBuilder {
    builder.tls(TlsSettings::new(ca.client()))
}

/// The name of each hello, in order; `None` where the client sent none.
fn hellos(cluster: &Cluster) -> Vec<Option<String>> {
    let connections = cluster.log().connections();
    let events = connections.iter().flat_map(|connection| connection.events());
    events
        .filter_map(|event| match &event.kind {
            EventKind::Tls { sni } => Some(sni.clone()),
            _ => None,
        })
        .collect()
}

/// The only cause of a failed build, with its stage.
async fn cause(builder: SessionBuilder) -> (&'static str, String) {
    let error = builder.build().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
    let stage = stages(&error)[0];
    (stage, messina::layers::error::chain(attempts(&error)[0].error.cause()).to_string())
}

/// connect D29: a contact point's name is verified; a node known by its address has the address dialled verified.
/// connect 100: the name stays beside the pin.
#[tokio::test(start_paused = true)]
async fn names_and_addresses() {
    for mode in Mode::BOTH {
        let ca = TestCa::new();
        let network = Network::new();
        let cluster = cluster(&network, 2, ca.server(["db.test", "10.0.0.1", "10.0.0.2"])).await;
        let builder = mode.of(trusting(named(&network, [cluster.node(0).addr()]), &ca));
        let session = builder.build().await.unwrap();
        cluster.wait_for(SOON, |seen| seen.logins() == 3).await.unwrap();
        // An address is not sent as a name.
        assert_eq!(hellos(&cluster), [Some("db.test".to_owned()), None, None]);
        drop(session);
        all_closed(cluster.log()).await;
    }
}

/// connect D29: a certificate without the node's address does for the name, and not for the node.
#[tokio::test(start_paused = true)]
async fn a_certificate_for_the_name_alone() {
    let ca = TestCa::new();
    let network = Network::new();
    let cluster = cluster(&network, 1, ca.server(["db.test"])).await;
    let builder = trusting(named(&network, cluster.addrs()), &ca);
    let error = builder.clone().build().await.unwrap_err();
    assert_eq!(error.kind(), Kind::NoConnection);
    let line = error.to_string();
    assert!(line.contains("10.0.0.1:9042 tls") && line.contains("not valid for name"), "{line}");

    // Accepted names are for exactly this.
    let session = builder.tls_accepted_name("db.test").build().await.unwrap();
    drop(session);
}

/// connect D29: accepted names stand in place of names and addresses alike; one of several is enough.
#[tokio::test(start_paused = true)]
async fn accepted_names() {
    let ca = TestCa::new();
    let network = Network::new();
    let cluster = cluster(&network, 2, ca.server(["nodes.internal.test"])).await;
    let builder = trusting(named(&network, [cluster.node(0).addr()]), &ca);
    let (stage, text) = cause(builder.clone()).await;
    assert_eq!(stage, "tls");
    assert!(text.contains("db.test"), "{text}");
    let builder = builder.tls_accepted_name("other.test").tls_accepted_name("nodes.internal.test");
    let session = builder.build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.logins() == 3).await.unwrap();
    drop(session);

    let builder = trusting(named(&network, [cluster.node(0).addr()]), &ca).tls_accepted_name("other.test");
    assert_eq!(cause(builder).await.0, "tls");
}

/// connect D29: a literal contact point has its address verified.
#[tokio::test(start_paused = true)]
async fn a_literal_contact_point() {
    let ca = TestCa::new();
    for (names, works) in [(&["10.0.0.1"][..], true), (&["db.test"], false), (&["10.0.0.2"], false)] {
        let network = Network::new();
        let cluster = cluster(&network, 1, ca.server(names.iter().copied())).await;
        let addr = cluster.node(0).addr();
        let builder = Session::builder().contact_point(addr.to_string()).connector(network.connector());
        let result = trusting(builder, &ca).build().await;
        assert_eq!(result.is_ok(), works, "{names:?}");
        if let Err(error) = result {
            assert_eq!(stages(&error), ["tls"]);
        }
    }
}

/// connect 52: a certificate for another name, of an unknown authority, expired, or none at all: one address's failure.
/// scenario S1: the next address has the right one.
#[tokio::test(start_paused = true)]
async fn bad_certificates_are_passed_over() {
    let ca = TestCa::new();
    let bad: [(ServerTls, &str); 3] = [
        (ca.server(["other.test"]), "db.test"),
        (TestCa::new().server(["db.test"]), "invalid peer certificate"),
        (ca.server(["db.test"]).expired(), "expired"),
    ];
    for (tls, word) in bad {
        let network = Network::new();
        let wrong = cluster(&network, 1, tls).await;
        let right = cluster(&network, 1, ca.server(["db.test", "10.1.0.1"])).await;
        let addrs: [SocketAddr; 2] = [wrong.node(0).addr(), right.node(0).addr()];
        let (stage, text) = cause(trusting(named(&network, [addrs[0]]), &ca)).await;
        assert_eq!(stage, "tls");
        assert!(text.contains(word), "{word:?} is not in {text:?}");
        for mode in Mode::BOTH {
            let (result, _) = timed(mode.of(trusting(named(&network, addrs), &ca))).await;
            drop(result.unwrap());
        }
        all_closed(wrong.log()).await;
    }
}

/// connect 52: TLS to a server that speaks none, and none to a server that speaks it.
#[tokio::test(start_paused = true)]
async fn only_one_side_speaks_tls() {
    let ca = TestCa::new();
    let network = Network::new();
    let plain = Cluster::builder().network(&network).start().await.unwrap();
    let encrypted = cluster(&network, 1, ca.server(["db.test"])).await;
    let (stage, _) = cause(trusting(named(&network, plain.addrs()), &ca)).await;
    assert_eq!(stage, "tls");
    let (stage, _) = cause(named(&network, encrypted.addrs())).await;
    assert_eq!(stage, "options");
}

/// connect 52: a server that demands a certificate gets one, or the address fails.
#[tokio::test(start_paused = true)]
async fn client_certificates() {
    let ca = TestCa::new();
    let network = Network::new();
    let cluster = cluster(&network, 1, ca.server(["db.test", "10.0.0.1"]).with_client_auth()).await;
    let builder = named(&network, cluster.addrs());
    let shown = TlsSettings::new(ca.client_with_certificate("ada"));
    drop(builder.clone().tls(shown).build().await.unwrap());
    // In TLS 1.3 the client learns only afterwards that it should have shown one.
    let (stage, _) = cause(trusting(builder.clone(), &ca)).await;
    assert!(["tls", "options"].contains(&stage), "{stage}");
    let stranger = TlsSettings::new(TestCa::new().client_with_certificate("eve"));
    assert_eq!(cause(builder.tls(stranger)).await.0, "tls");
}

/// connect D29: files do what values do.
#[tokio::test(start_paused = true)]
async fn certificates_from_files() {
    let ca = TestCa::new();
    let network = Network::new();
    let cluster = cluster(&network, 1, ca.server(["db.test", "10.0.0.1"]).with_client_auth()).await;
    let files = crate::support::Files::new();
    let (chain, key) = ca.identity("ada");
    let builder = named(&network, cluster.addrs())
        .tls_ca_file(files.write("ca.pem", &ca.pem()))
        .tls_client_files(files.write("cert.pem", &chain), files.write("key.pem", &key));
    drop(builder.build().await.unwrap());
}

/// connect 97: the connection to an identified node is opened by its pin; TLS sees the name all the same.
/// connect 100: a certificate for the name alone does.
#[tokio::test(start_paused = true)]
async fn a_pinned_target_keeps_its_name() {
    use messina::layers::{HostAddr, Pinned};
    let ca = TestCa::new();
    let network = Network::new();
    let cluster = cluster(&network, 1, ca.server(["db.test"])).await;
    let stack = TestStack::new(&network, [network.refused()], |builder| trusting(builder, &ca));
    let endpoint = messina::endpoint::ContactPoint::parse("db.test").unwrap().endpoint().clone();
    let pinned = Pinned::at(endpoint, HostAddr::from(cluster.node(0).addr()));
    let target = messina::establish::Open::new(pinned, stack.config.clone());
    let established = stack.connect(target).await.unwrap();
    assert_eq!(established.addr, cluster.node(0).addr());
    assert_eq!(hellos(&cluster), [Some("db.test".to_owned())]);
}
