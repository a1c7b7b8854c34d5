//! One fault per stage over real sockets, in real time, on the way of pools and of new control connections.

use std::{net::SocketAddr, time::Duration};

use messina::{
    Session,
    config::TlsSettings,
    layers::Order,
    session::SessionBuilder,
    testkit::{Cluster, ConnectionLog, Fault, Names, Stage, TestCa, rows},
};
use tokio::time::{Instant, sleep};

use crate::{
    scene::QUERY,
    support::{Events, all_closed},
};

/// The limit that strikes. Only the one that is meant is short: a busy machine must not make others strike.
const SHORT: Duration = Duration::from_millis(150);
/// Far more than anything here takes.
const ENOUGH: Duration = Duration::from_secs(20);

/// What is opened anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// The connection of the second node's pool.
    Pool,
    /// The control connection, to the second node, which is known.
    Control,
    /// The control connection, at the contact point.
    Name,
}

/// The stages, as errors call them.
const STAGES: [(Stage, &str); 9] = [
    (Stage::Tcp, "tcp"),
    (Stage::Tls, "tls"),
    (Stage::Options, "options"),
    (Stage::Startup, "startup"),
    (Stage::Auth, "auth"),
    (Stage::Cluster, "cluster"),
    (Stage::Keyspace, "keyspace"),
    (Stage::Identity, "identity"),
    (Stage::Register, "register"),
];

fn serves(one: &ConnectionLog) -> bool {
    one.is_open() && one.count(Stage::Keyspace) > 0 && one.count(Stage::Register) == 0
}

fn controls(one: &ConnectionLog) -> bool {
    one.is_open() && one.count(Stage::Register) > 0 && one.count(Stage::Peers) > 0
}

fn limited(stage: Stage, builder: SessionBuilder) -> SessionBuilder {
    let builder = builder.connect_timeout(ENOUGH).tls_timeout(ENOUGH).init_timeout(ENOUGH);
    match stage {
        Stage::Tcp => builder.connect_timeout(SHORT),
        Stage::Tls => builder.tls_timeout(SHORT),
        _ => builder.init_timeout(SHORT),
    }
}

/// Waits until the node at this address has such a connection beside the first so many.
async fn wait_for(cluster: &Cluster, addr: SocketAddr, beside: usize, is_it: fn(&ConnectionLog) -> bool) {
    let seen = cluster.wait_for(ENOUGH, |seen| seen.of(addr).skip(beside).any(is_it)).await;
    seen.unwrap_or_else(|seen| panic!("{addr}: {seen}"));
}

/// Two addresses lead to what is opened: at the first one this stage is silent.
async fn silent(purpose: For, stage: Stage, told: &str) {
    let ca = TestCa::new();
    let mut builder = Cluster::builder().nodes(3).own_addresses().user("ada", "pass");
    if stage == Stage::Tls {
        builder = builder.tls(ca.server(["db.test"]));
    }
    // The third stands beside the second, as the second where that is expected.
    let builder =
        builder.node(2, |facts| facts.listed = false).node(1, move |facts| facts.listed = purpose != For::Name);
    let cluster = builder.start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    let [first, good, faulty] = cluster.addrs()[..] else { panic!("three nodes") };
    if purpose != For::Name {
        let id = cluster.node(1).host_id();
        cluster.node(2).set(|facts| (facts.host_id, facts.address) = (id, Some(good)));
    }
    let names = Names::new();
    names.set("db.test", [first]);
    let mut builder = Session::builder()
        .contact_point("db.test")
        .resolver(names.clone())
        .candidate_order(Order::AsGiven)
        .credentials("ada", "pass")
        .keyspace("ks")
        .sequential();
    if stage == Stage::Tls {
        builder = builder.tls(TlsSettings::new(ca.client())).tls_accepted_name("db.test");
    }
    let events = Events::watch();
    let session = limited(stage, builder).build().await.unwrap();
    wait_for(&cluster, first, 0, serves).await;
    if purpose != For::Name {
        wait_for(&cluster, good, 0, serves).await;
    }

    let led = [faulty, good];
    match purpose {
        For::Name => names.set("db.test", led),
        _ => names.set(&good.ip().to_string(), led),
    }
    cluster.node(2).fault(stage, Fault::Silence);
    let (before, started) = (cluster.node(1).connections().len(), Instant::now());
    match purpose {
        For::Pool => cluster.node(1).reset_connections(),
        For::Control | For::Name => cluster.node(0).kill().await,
    }
    wait_for(&cluster, good, before, if purpose == For::Pool { serves } else { controls }).await;
    assert!(started.elapsed() >= SHORT, "{purpose:?} {stage:?}: {:?}", started.elapsed());
    let next = events.with("trying next address");
    let next = next.iter().find(|event| event.field("failed") == faulty.to_string());
    let next = next.unwrap_or_else(|| panic!("{purpose:?} {stage:?}: no event tells of {faulty}"));
    assert_eq!(next.field("stage"), told, "{purpose:?}");

    // It serves, and nothing is left open afterwards.
    let asked = Instant::now();
    while session.execute(QUERY, ()).await.is_err() {
        assert!(asked.elapsed() < ENOUGH, "{purpose:?} {stage:?}: the session does not serve");
        sleep(Duration::from_millis(10)).await;
    }
    drop(session);
    all_closed(cluster.log()).await;
}

/// connect 39: the walk over addresses serves a pool that opens again, over sockets.
/// connect 52: every stage, silent: the next address is tried.
#[tokio::test]
async fn pools() {
    for (stage, told) in STAGES.into_iter().filter(|(stage, _)| *stage < Stage::Identity) {
        silent(For::Pool, stage, told).await;
    }
}

/// connect 39: and a new control connection to a node that is known.
/// connect 88: REGISTER included.
#[tokio::test]
async fn control_connections_to_nodes() {
    for (stage, told) in STAGES.into_iter().filter(|(stage, _)| *stage != Stage::Identity) {
        silent(For::Control, stage, told).await;
    }
}

/// connect 39: and one to a contact point, whose name leads elsewhere by now.
/// connect 72: the identity read included.
#[tokio::test]
async fn control_connections_to_names() {
    for (stage, told) in STAGES {
        silent(For::Name, stage, told).await;
    }
}
