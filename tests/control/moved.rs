//! A cluster that moves behind its name.

use std::{net::SocketAddr, time::Duration};

use messina::testkit::{Cluster, Push, rows};
use tokio::time::Instant;
use uuid::Uuid;

use crate::support::{Monitor, SECOND, SOON, World, control_nodes, settled, told, until};
use messina::topology::SessionEvent;

const QUERY: &str = "SELECT id FROM ks.t";

/// connect 130: every old address is dead and the record leads elsewhere: the control connection is back within a round.
/// scenario H10: without a restart, also when the nodes are quite other ones.
/// report 1, 2, 11, 13: a replaced cluster is found again by its name.
/// reviewer 2: names are looked up again at every reconnect.
#[tokio::test(start_paused = true)]
async fn all_nodes_are_replaced() {
    let world = World::new();
    let old = world.cluster().name("shop").nodes(3).start().await.unwrap();
    let session = world.session(&old).await;
    let new = world.cluster().name("shop").nodes(3).start().await.unwrap();
    // Other nodes, though of the same cluster.
    for (id, node) in (1..).zip(new.nodes()) {
        node.set(|facts| facts.host_id = Some(Uuid::from_u128(id)));
    }
    new.prime(QUERY, rows!["id int"; (1,)]);
    world.lead(new.addrs());
    world.dials.take();
    let started = Instant::now();
    for node in old.nodes() {
        node.kill().await;
    }
    settled(&new).await;
    assert!(started.elapsed() < 2 * SECOND, "{:?}", started.elapsed());
    let mut dialled = world.dials.take();
    assert_eq!(dialled.pop(), Some(new.node(0).addr()));
    assert!(dialled.len() <= 2 * old.nodes().len(), "at most two rounds: {dialled:?}");
    let ids: Vec<_> = session.topology().nodes().iter().map(|node| node.host_id.as_u128()).collect();
    assert_eq!(ids, [1, 2, 3]);
    let one: (i32,) = session.execute(QUERY, ()).await.unwrap().one().await.unwrap();
    assert_eq!(one, (1,));
}

/// scenario H10: the variant with a monitor that says it finds every node again, though it does not.
/// connect D5: the contact points come in the second round.
/// connect 137: complete routes that are stale cost one round, not the cluster.
/// reviewer 54: a flag does not suppress recovery.
#[tokio::test(start_paused = true)]
async fn stale_routes_cost_one_round() {
    let world = World::new();
    let old = world.cluster().name("shop").nodes(2).start().await.unwrap();
    world.lead([old.node(0).addr()]);
    let monitor = Monitor::default();
    let answers = monitor.answers.clone();
    let session = world.builder().topology_monitor(monitor).build().await.unwrap();
    settled(&old).await;
    answers.reresolves.store(true, std::sync::atomic::Ordering::Relaxed);
    let new = world.cluster().name("shop").start().await.unwrap();
    new.node(0).set(|facts| facts.host_id = Some(Uuid::from_u128(9)));
    world.lead(new.addrs());
    world.dials.take();
    let asked = world.names.asked("db.test");
    let started = Instant::now();
    // One moment for both, so that the first round finds neither.
    old.node(1).fault(messina::testkit::Stage::Tcp, messina::testkit::Fault::Refuse);
    old.node(1).reset_connections();
    old.node(0).kill().await;
    new.wait_for(SOON, |seen| seen.open() >= 1).await.unwrap();
    settled(&new).await;
    let took = started.elapsed();
    assert!(took >= SECOND && took < 2 * SECOND, "the second round, about a second later: {took:?}");
    let dialled = world.dials.take();
    assert_eq!(dialled.iter().filter(|addr| **addr == new.node(0).addr()).count(), 1);
    assert_eq!(world.names.asked("db.test"), asked + 1, "the name is not looked up while it is held back");
    assert_eq!(session.topology().nodes().len(), 1);
}

/// report 14, 20: the records change one after the other, three generations, without a restart.
/// scenario H10: no generation is alive when the next one but one is.
#[tokio::test(start_paused = true)]
async fn three_generations() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    let session = world.session(&cluster).await;
    for generation in 1..=3_u8 {
        for (i, node) in (1..).zip(cluster.nodes()) {
            let place = SocketAddr::from(([10, 100 + generation, 0, i], 9042));
            node.kill().await;
            world.network.move_node(node, place).unwrap();
            node.set(|facts| facts.address = Some(place));
            node.start();
            world.lead(cluster.addrs());
            for other in cluster.nodes() {
                other.push(&Push::status("UP", place));
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        assert_eq!(session.topology().nodes().len(), 3, "report 18: no node twice");
        for node in cluster.nodes() {
            let seen = session.topology();
            assert_eq!(seen.node(node.host_id().unwrap()).unwrap().address, Some(node.addr()));
        }
        session.execute(QUERY, ()).await.unwrap();
        assert_eq!(control_nodes(&cluster).len(), 1);
    }
}

/// connect D15: a new address for a host id replaces its pin; the change is told.
/// connect 99: the newest endpoint is taken over.
/// report 15: the pool moves with it.
#[tokio::test(start_paused = true)]
async fn an_address_changes() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let mut events = session.events();
    let (node, old) = (cluster.node(1), cluster.node(1).addr());
    let new = SocketAddr::from(([10, 77, 0, 1], 9042));
    node.kill().await;
    world.network.move_node(node, new).unwrap();
    node.set(|facts| facts.address = Some(new));
    node.start();
    cluster.node(0).push(&Push::status("UP", new));
    let moved = until(&mut events, |event| matches!(event, SessionEvent::NodeMoved { .. })).await;
    let SessionEvent::NodeMoved { host_id, from, to } = moved else { panic!("{moved}") };
    assert_eq!((Some(host_id), from, to), (node.host_id(), old.into(), new.into()));
    let pin = until(&mut events, |event| matches!(event, SessionEvent::PinChanged { .. })).await;
    let SessionEvent::PinChanged { from, to, .. } = pin else { panic!("{pin}") };
    assert_eq!((from, to), (Some(old.into()), Some(new.into())));
    settled(&cluster).await;
    let others = told(&mut events);
    let wrong =
        |event: &SessionEvent| matches!(event, SessionEvent::NodeAdded { .. } | SessionEvent::NodeRemoved { .. });
    assert!(!others.iter().any(wrong), "it is the same node: {others:?}");
}

/// connect 98: an identified node is dialled at its own address only, though the name it was found by has another one.
#[tokio::test(start_paused = true)]
async fn an_identified_node_keeps_its_address() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let elsewhere = Cluster::builder().network(&world.network).name("elsewhere").start().await.unwrap();
    world.lead([cluster.node(0).addr(), elsewhere.node(0).addr()]);
    let session = world.builder().fallback_to_contact_points(false).build().await.unwrap();
    settled(&cluster).await;
    cluster.node(0).kill().await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(world.network.dials(elsewhere.node(0).addr()), 0);
    assert!(world.network.dials(cluster.node(0).addr()) > 3, "it is tried again where it was");
    assert_eq!(control_nodes(&cluster), [cluster.node(1).addr()]);
    drop(session);
}
