//! The nodes that a control connection tells, and the way back to them.

use std::time::Duration;

use messina::{
    session::Session,
    testkit::{Cluster, Fault, Network, Push, Scylla, Stage},
};
use uuid::Uuid;

use crate::support::{Events, LIMIT, SOON, all_closed, named};

async fn open(network: &Network, cluster: &Cluster) -> Session {
    named(network, [cluster.node(0).addr()]).build().await.unwrap()
}

/// connect D15: a new address for a host id replaces the old one: the connection moves.
#[tokio::test(start_paused = true)]
async fn a_node_moves() {
    let network = Network::new();
    // The third place is where the second node will be: it has the same host id, and is not listed by itself.
    let host_id = Some(Uuid::from_u128(0x42));
    let cluster = Cluster::builder().network(&network).nodes(3).node(1, move |facts| facts.host_id = host_id);
    let cluster = cluster.node(2, move |facts| (facts.host_id, facts.listed) = (host_id, false));
    let cluster = cluster.start().await.unwrap();
    let session = open(&network, &cluster).await;
    cluster.wait_for(SOON, |seen| seen.open() == 3).await.unwrap();
    assert_eq!(network.dials(cluster.node(2).addr()), 0);

    let moved = cluster.node(2).addr();
    cluster.node(1).set(|facts| facts.address = Some(moved));
    assert_eq!(cluster.node(0).push(&Push::status("UP", moved)), 1);
    cluster.node(2).wait_for(SOON, |seen| seen.iter().any(|one| one.count(Stage::Cluster) == 1)).await.unwrap();
    cluster.node(1).wait_for(SOON, |seen| seen.iter().all(|one| !one.is_open())).await.unwrap();
    assert_eq!((network.dials(cluster.node(1).addr()), network.dials(moved)), (1, 1));
    drop(session);
    all_closed(cluster.log()).await;
}

/// connect D4: another node answers at a known node's address: that refusal leaves nothing out, and the contact point
/// at the same address is tried in the same round.
#[tokio::test(start_paused = true)]
async fn a_node_is_replaced_at_its_address() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).scylla(Scylla::new(1)).start().await.unwrap();
    let session = open(&network, &cluster).await;
    cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    let node = cluster.node(0);
    node.kill().await;
    node.set(|facts| facts.host_id = Some(Uuid::from_u128(0x43)));
    node.start();
    let before = node.connections().len();
    // The known node is expected and is not there; the contact point expects nobody, and registers.
    node.wait_for(SOON, |seen| seen.iter().any(|one| one.is_open() && one.count(Stage::Register) == 1)).await.unwrap();
    let connections = &node.connections()[before..];
    let refused: Vec<_> = connections.iter().filter(|one| one.stages() == [Stage::Options]).collect();
    assert!(!refused.is_empty(), "the wrong host was seen before it cost anything");
    drop(session);
    all_closed(cluster.log()).await;
}

/// connect D4: a version that an identified node refused leaves nothing out: the contact point at the same address is
/// tried in the same round.
#[tokio::test(start_paused = true)]
async fn a_refused_version_leaves_nothing_out() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let session = open(&network, &cluster).await;
    let node = cluster.node(0);
    node.wait_for(SOON, |seen| seen.iter().filter(|one| one.is_open()).count() == 2).await.unwrap();
    // The control connection is lost at its next refresh; the node's own connection is not.
    node.fault(Stage::Peers, Fault::Close.times(1));
    node.fault(Stage::Options, Fault::error(0x000A, "Invalid or unsupported protocol version").times(1));
    assert_eq!(node.push(&Push::topology("NEW_NODE", node.addr())), 1);
    node.wait_for(SOON, |seen| seen.iter().any(|one| one.count(Stage::Peers) == 2)).await.unwrap();
    let lost = tokio::time::Instant::now();
    node.wait_for(SOON, |seen| seen.last().is_some_and(|one| one.count(Stage::Register) == 1)).await.unwrap();
    assert_eq!((lost.elapsed(), network.dialled().len()), (Duration::ZERO, 4), "both in one round");
    drop(session);
}

/// connect D4: a node that is gone and its contact point share one dial in each round.
/// reviewer 58: unchanged names cost nothing more.
#[tokio::test(start_paused = true)]
async fn one_dial_per_round_when_all_is_gone() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let session = open(&network, &cluster).await;
    cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    let before = network.dialled().len();
    cluster.node(0).kill().await;
    // Rounds come about every second, the node's own back-off doubles from one second to sixty.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let dials = network.dialled().len() - before;
    assert!((45..=80).contains(&dials), "{dials} dials in a minute, two contact paths would be about 120");
    cluster.node(0).start();
    cluster.wait_for(SOON, |seen| seen.open() >= 1).await.unwrap();
    drop(session);
    all_closed(cluster.log()).await;
}

/// connect 58: while every way back refuses the login, one warning says what to check.
#[tokio::test(start_paused = true)]
async fn credentials_are_revoked() {
    let events = Events::watch();
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).user("ada", "pass").start().await.unwrap();
    let session = named(&network, cluster.addrs()).credentials("ada", "pass").build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    cluster.node(0).fault(Stage::Auth, Fault::error(0x0100, "revoked"));
    cluster.node(0).kill().await;
    cluster.node(0).start();
    tokio::time::sleep(4 * LIMIT).await;
    assert_eq!(events.warned("check the credentials"), 1);
    drop(session);
}

/// connect D22: a node that advertises an address where nobody is stays reachable by the way it was found.
#[tokio::test(start_paused = true)]
async fn the_way_in_serves_while_the_address_fails() {
    let network = Network::new();
    let nowhere = network.refused();
    let cluster = Cluster::builder().network(&network).node(0, move |facts| facts.address = Some(nowhere));
    let cluster = cluster.start().await.unwrap();
    let session = open(&network, &cluster).await;
    let node = cluster.node(0);
    assert_eq!(network.dialled(), [node.addr(), nowhere, node.addr()]);
    // Who answers by the way in is read, since a name or a balancer may lead elsewhere.
    assert_eq!(node.connections()[1].count(Stage::Identity), 1);
    drop(session);
}

/// connect D22: only if the node that answers there is the one that is meant.
#[tokio::test(start_paused = true)]
async fn another_node_by_the_way_in_does_not_serve() {
    let network = Network::new();
    let nowhere = network.refused();
    let cluster = Cluster::builder().network(&network).node(0, move |facts| facts.address = Some(nowhere));
    let cluster = cluster.start().await.unwrap();
    let node = cluster.node(0).clone();
    let other = Uuid::from_u128(0x44);
    // After the node list was read, the same address leads to another node.
    cluster.prime_with("SELECT * FROM system.peers_v2", move |_| {
        node.set(|facts| facts.host_id = Some(other));
        messina::testkit::rows!["peer inet, host_id uuid, native_address inet, native_port int"].into()
    });
    let error = named(&network, cluster.addrs()).build().await.unwrap_err();
    assert_eq!(error.kind(), messina::error::Kind::NoConnection);
    all_closed(cluster.log()).await;
}
