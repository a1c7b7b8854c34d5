//! One walk over the contact points: what failed in it is not dialled twice, and nothing is left without a reason.

use std::time::Duration;

use messina::{
    Session,
    layers::{ConnectError, FixedResolver, Order, Resolved},
    session::SessionBuilder,
    testkit::{Cluster, Fault, Network, Stage, rows},
};

use crate::support::{Events, LIMIT, Mode, all_closed, attempts, name, named, stages, timed};

/// A session to two names that lead to the same addresses.
fn two_names(network: &Network, addrs: Vec<std::net::SocketAddr>) -> SessionBuilder {
    let resolved = || addrs.iter().copied().map(Resolved::from);
    let resolver = FixedResolver::new().with(name("one.test"), resolved()).with(name("two.test"), resolved());
    Session::builder()
        .contact_points(["one.test", "two.test"])
        .resolver(resolver)
        .connector(network.connector())
        .candidate_order(Order::AsGiven)
}

/// scenario S3: the same address under two contact points in one round is dialled once.
/// connect D4: it stands under both, with the reason.
/// reviewer 58: a round does not dial again what it tried.
#[tokio::test(start_paused = true)]
async fn one_dial_per_round() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let gate = Cluster::builder().network(&network).user("someone", "else").start().await.unwrap();
        let addrs = vec![network.refused(), network.mute(), gate.node(0).addr()];
        let builder = mode.of(two_names(&network, addrs.clone())).credentials("ada", "pass");
        let (result, took) = timed(builder).await;
        let error = result.unwrap_err();
        assert_eq!(network.dialled(), addrs);
        assert_eq!(took, LIMIT, "the second name costs nothing");
        for contact_point in error.contact_points() {
            let failed = contact_point.error.failed();
            assert_eq!(failed.iter().map(|failed| failed.addr).collect::<Vec<_>>(), addrs);
            let stages: Vec<_> = failed.iter().map(|failed| failed.error.stage().as_str()).collect();
            assert_eq!(stages, ["tcp", "options", "auth"]);
            assert_eq!(contact_point.error.class(), messina::layers::Class::Auth);
        }
        assert!(error.is_auth());
        let line = error.to_string();
        assert!(line.contains("not dialled again: it failed in this round"), "{line}");
    }
}

/// connect D4: counted before the cap, so what is left out makes room for others.
#[tokio::test(start_paused = true)]
async fn left_out_before_the_cap() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let mut addrs: Vec<_> = (0..3).map(|_| network.refused()).collect();
    addrs.push(cluster.node(0).addr());
    let session = two_names(&network, addrs.clone()).max_candidate_addresses(3).build().await.unwrap();
    assert_eq!(network.dialled()[..4], addrs);
    drop(session);
}

/// connect D4: a round is one build: the next one tries everything again.
#[tokio::test(start_paused = true)]
async fn the_next_round_tries_again() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).fault(0, Stage::Tcp, Fault::Refuse.times(1)).start().await;
    let cluster = cluster.unwrap();
    let builder = named(&network, cluster.addrs());
    builder.clone().build().await.unwrap_err();
    builder.build().await.unwrap();
}

/// connect D4: under another server name it is another server: both are tried.
#[tokio::test(start_paused = true)]
async fn another_name_is_another_server() {
    let network = Network::new();
    let ca = messina::testkit::TestCa::new();
    let cluster = Cluster::builder().network(&network).tls(ca.server(["two.test", "10.0.0.1"])).start().await.unwrap();
    let builder = two_names(&network, cluster.addrs()).tls(messina::config::TlsSettings::new(ca.client()));
    let session = builder.build().await.unwrap();
    assert_eq!(network.dialled()[..2], [cluster.node(0).addr(); 2]);
    drop(session);
}

/// reviewer 36: connected, but the node list cannot be read: that address alone is lost, with its reason.
/// connect 116: many addresses behind one name still mean many chances.
#[tokio::test(start_paused = true)]
async fn a_node_that_does_not_tell_the_nodes() {
    for (fault, cost) in [(Fault::error(0x1001, "busy"), Duration::ZERO), (Fault::Silence, LIMIT)] {
        let events = Events::watch();
        let network = Network::new();
        let cluster =
            Cluster::builder().network(&network).nodes(2).fault(0, Stage::Peers, fault).start().await.unwrap();
        let (result, took) = timed(named(&network, cluster.addrs())).await;
        let session = result.unwrap();
        assert_eq!(network.dialled()[..2], cluster.addrs());
        assert_eq!(took, cost);
        let told = events.with("the node list could not be read");
        assert_eq!((told.len(), told[0].field("addr")), (1, "10.0.0.1:9042"));
        drop(session);
        all_closed(cluster.log()).await;
    }
}

/// reviewer 36: if that is so everywhere, each address says so, with its own reason.
#[tokio::test(start_paused = true)]
async fn nobody_tells_the_nodes() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
    cluster.node(0).fault(Stage::Peers, Fault::error(0x1001, "busy"));
    cluster.node(1).fault(Stage::Peers, Fault::Silence);
    let dead = network.refused();
    let [a, b] = cluster.addrs()[..] else { panic!("two nodes") };
    let error = named(&network, [dead, a, b]).build().await.unwrap_err();
    assert_eq!(network.dialled(), [dead, a, b]);
    assert_eq!(stages(&error), ["tcp", "nodes", "nodes"]);
    assert_eq!(attempts(&error)[2].elapsed, LIMIT);
    let line = error.to_string();
    assert!(line.contains("busy") && !line.contains("not dialled again"), "{line}");
    all_closed(cluster.log()).await;

    // One address: tried once.
    let before = network.dialled().len();
    let error = named(&network, [a]).build().await.unwrap_err();
    assert_eq!((network.dialled().len() - before, stages(&error)), (1, vec!["nodes"]));

    // The cap holds for this too.
    let before = network.dialled().len();
    let error = named(&network, [a, b]).max_candidate_addresses(1).build().await.unwrap_err();
    assert_eq!((network.dialled().len() - before, stages(&error)), (1, vec!["nodes"]));
}

/// connect D4: an attempt that was cut off by the one that won did not fail: if the winner turns out to be of no use,
/// it is tried again.
#[tokio::test(start_paused = true)]
async fn cut_off_is_not_failed() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2);
    let cluster = cluster.fault(0, Stage::Options, Fault::Delay(Duration::from_millis(400)));
    let cluster = cluster.fault(1, Stage::Peers, Fault::error(0x1001, "busy")).start().await.unwrap();
    let session = named(&network, cluster.addrs()).build().await.unwrap();
    let [slow, useless] = cluster.addrs()[..] else { panic!("two nodes") };
    assert_eq!(network.dialled()[..3], [slow, useless, slow]);
    drop(session);
}

/// report 31: a row of the node list without an address: skipped with a line that names server, table and column.
#[tokio::test(start_paused = true)]
async fn a_row_without_an_address() {
    let events = Events::watch();
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(3).node(1, |facts| facts.address = None);
    let cluster = cluster.start().await.unwrap();
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    let told = events.with("a row of the node list is skipped");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].field("server"), told[0].field("table")), ("10.0.0.1:9042", "system.peers_v2"));
    assert!(told[0].message.contains("system.peers_v2.native_address of "), "{told:?}");
    cluster.wait_for(LIMIT, |seen| seen.of(cluster.node(2).addr()).count() == 1).await.unwrap();
    assert_eq!(network.dials(cluster.node(1).addr()), 0);
    drop(session);
}

/// report 31: a row without an id, one of a type that it should not have, one that is listed twice: each is told.
#[tokio::test(start_paused = true)]
async fn odd_rows() {
    let events = Events::watch();
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let own = cluster.node(0).host_id();
    let ip = cluster.node(0).addr().ip();
    let rows = rows!["peer inet, host_id uuid, native_address inet, native_port int";
        (ip, None::<uuid::Uuid>, ip, 9042), (ip, own, ip, 9042), (ip, Some(uuid::Uuid::from_u128(1)), ip, 70000)];
    cluster.prime("SELECT * FROM system.peers_v2", rows);
    let session = named(&network, cluster.addrs()).build().await.unwrap();
    let told: Vec<_> = events.with("is skipped").into_iter().map(|event| event.message).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for (message, part) in told.iter().zip([
        "host_id",
        "it is the control node itself",
        "native_port of 00000000-0000-0000-0000-000000000001 is 70000: 70000 is not a port",
    ]) {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    drop(session);
}

/// report 21: one name that fails does not fail the others: a warning, and the next contact point.
/// report 23: if all fail, the message lists each with its own cause.
/// scenario S4: a lookup that fails names the host, and the plan continues.
#[tokio::test(start_paused = true)]
async fn a_bad_name_beside_a_good_one() {
    let events = Events::watch();
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let resolver = FixedResolver::new()
        .with(name("empty.test"), Vec::<Resolved>::new())
        .with(name("good.test"), cluster.addrs().into_iter().map(Resolved::from));
    let builder = Session::builder().resolver(resolver).connector(network.connector());
    let builder = builder.contact_points(["bad.test", "empty.test"]);
    let session = builder.clone().contact_point("good.test").build().await.unwrap();
    let warned: Vec<_> = events.warnings().iter().map(|event| event.field("entry").to_owned()).collect();
    assert_eq!(warned, ["contact point bad.test:9042", "contact point empty.test:9042"]);
    drop(session);

    let error = builder.contact_point(network.refused().to_string()).build().await.unwrap_err();
    let [bad, empty, dead] = error.contact_points() else { panic!("{error}") };
    assert!(matches!(bad.error, ConnectError::Resolve { .. }));
    assert!(matches!(empty.error, ConnectError::NoAddress { .. }));
    assert!(matches!(dead.error, ConnectError::Exhausted { .. }));
    let line = error.to_string();
    for part in
        ["bad.test:9042 (resolve after", "empty.test:9042 (resolve: the name has no address", "10.255.0.1:9042 tcp"]
    {
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
}
