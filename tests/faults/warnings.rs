//! How often the same thing is said: once, until it is over or another reason takes its place.

use std::time::Duration;

use messina::{
    Session,
    testkit::{Cluster, Fault, Names, Network, Stage, rows},
};
use tokio::time::sleep;
use tracing::Level;

use crate::{
    scene::{QUERY, controls, until},
    support::{Events, events::Seen},
    world::Before,
};

const SECOND: Duration = Duration::from_secs(1);
/// Back-off steps and rounds that say nothing new.
const MANY: usize = 50;

struct Scene {
    network: Network,
    cluster: Cluster,
    before: Before,
    session: Session,
    events: Events,
}

impl Scene {
    async fn of(nodes: usize) -> Self {
        let network = Network::new();
        let cluster = Cluster::builder().network(&network).nodes(nodes).start().await.unwrap();
        cluster.prime(QUERY, rows!["id int"; (1,)]);
        let names = Names::new();
        names.set("db.test", [cluster.node(0).addr()]);
        let before = Before::session();
        let builder = Session::builder().contact_point("db.test").resolver(names).connector(network.connector());
        let session = builder.build().await.unwrap();
        until(SECOND, || network.held().len() == nodes + 1).await.unwrap();
        sleep(5 * SECOND).await;
        Self { network, cluster, before, session, events: Events::watch() }
    }

    /// What is warned of failed connects in pools.
    fn of_pools(&self) -> usize {
        self.said("could not connect to the node", Level::WARN).len()
    }

    fn said(&self, text: &str, level: Level) -> Vec<Seen> {
        self.events.with(text).into_iter().filter(|event| event.level == level).collect()
    }

    /// Waits until an address was dialled so many more times.
    async fn dialled(&self, node: usize, more: usize) {
        let addr = self.cluster.node(node).addr();
        let dials = self.network.dials(addr);
        until(7200 * SECOND, || self.network.dials(addr) >= dials + more).await.unwrap();
    }

    async fn end(self) {
        self.session.execute(QUERY, ()).await.unwrap();
        drop(self.session);
        self.before.check(&self.network).await.unwrap();
    }
}

/// report 23: why a node cannot be connected to is said once, with the whole table, and not at each of fifty back-off
/// steps; another reason is said again, and so is the same one after the node was connected to.
#[tokio::test(start_paused = true)]
async fn of_a_node() {
    let scene = Scene::of(2).await;
    let node = scene.cluster.node(1);
    node.kill().await;
    scene.dialled(1, MANY).await;
    assert_eq!(scene.of_pools(), 1);
    let warned = scene.said("could not connect to the node", Level::WARN);
    assert_eq!(warned[0].field("host_id"), node.host_id().unwrap().to_string());
    for part in [&*node.addr().to_string(), "tcp", "connection refused"] {
        assert!(warned[0].message.contains(part), "{part:?} is not in {:?}", warned[0].message);
    }
    assert!(scene.said("could not connect: ", Level::DEBUG).len() >= MANY, "each is told at debug");

    // Another reason, and then the first one again, which is nothing new.
    node.start();
    node.fault(Stage::Startup, Fault::Close);
    scene.dialled(1, MANY).await;
    assert_eq!(scene.of_pools(), 2);
    node.kill().await;
    scene.dialled(1, MANY).await;
    assert_eq!(scene.of_pools(), 2);

    // It was well for a while.
    node.clear_faults();
    node.start();
    until(70 * SECOND, || scene.network.held().len() == 3).await.unwrap();
    sleep(5 * SECOND).await;
    node.kill().await;
    scene.dialled(1, 5).await;
    assert_eq!(scene.of_pools(), 3);
    scene.end().await;
}

/// report 23: the same of a control connection: once for each entry of the plan, over fifty rounds.
#[tokio::test(start_paused = true)]
async fn of_the_control_connection() {
    let scene = Scene::of(1).await;
    let node = scene.cluster.node(0);
    let entries = || {
        let warned = scene.events.warnings();
        warned.iter().map(|event| event.field("entry").to_owned()).filter(|entry| !entry.is_empty()).collect::<Vec<_>>()
    };
    let of_node = format!("node {} at 10.0.0.1:9042", node.host_id().unwrap());
    let both = [of_node, "contact point db.test:9042".to_owned()];
    node.kill().await;
    scene.dialled(0, MANY).await;
    assert_eq!(entries(), both);
    assert!(scene.said("could not connect: ", Level::DEBUG).len() >= MANY, "the others are told at debug");

    // Another reason.
    node.start();
    node.fault(Stage::Options, Fault::Close);
    scene.dialled(0, MANY).await;
    assert_eq!(entries(), [&both[..], &both[..1]].concat(), "the contact point leads nowhere else than before");

    // And anew after it was there for a while.
    node.clear_faults();
    until(70 * SECOND, || scene.network.held().len() == 2).await.unwrap();
    sleep(5 * SECOND).await;
    let before = entries().len();
    node.kill().await;
    scene.dialled(0, 5).await;
    assert_eq!(entries()[before..], both);
    node.start();
    until(70 * SECOND, || scene.network.held().len() == 2).await.unwrap();
    scene.end().await;
}

/// report 31: a node list that cannot be read: said once over fifty rounds, and again when it cannot be read for another
/// reason.
#[tokio::test(start_paused = true)]
async fn of_the_node_list() {
    let scene = Scene::of(1).await;
    let node = scene.cluster.node(0);
    let unread = |level| scene.said("connected, but the node list could not be read", level).len();
    let rounds = || node.connections().iter().filter(|one| one.count(Stage::Peers) > 0).count();
    for (time, text) in [(1, "the disk is full"), (2, "too much to do")] {
        node.fault(Stage::Peers, Fault::error(0, text));
        let before = rounds();
        // The pool keeps its connection; the control connections come and go.
        node.reset_connections();
        until(600 * SECOND, || rounds() >= before + MANY).await.unwrap();
        // Once for the node and once for the contact point, whichever was asked.
        assert!((1..=2 * time).contains(&unread(Level::WARN)), "{} warnings", unread(Level::WARN));
        let last = scene.said("connected, but the node list could not be read", Level::WARN);
        assert!(last.last().unwrap().message.contains(text), "{:?}", last.last());
        assert!(unread(Level::DEBUG) >= (MANY - 2) * time);
    }
    node.clear_faults();
    until(70 * SECOND, || controls(&scene.network, &scene.cluster).len() == 1).await.unwrap();
    until(70 * SECOND, || scene.network.held().len() == 2).await.unwrap();
    scene.end().await;
}
