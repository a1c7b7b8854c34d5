//! A topology monitor of the application's own.

use messina::{
    layers::Dial,
    testkit::{Push, Stage},
    topology::{Snapshot, SystemTables, TopologyMonitor},
};
use tokio::time::sleep;

use crate::support::{Monitor, SECOND, World, control_nodes, settle, settled};

/// connect 135: the monitor that ships re-resolves nothing: its nodes are dialled at addresses.
#[test]
fn the_default() {
    let tables = SystemTables::new();
    assert!(!tables.reresolves_node_addresses(&Snapshot::default()));
    assert!(tables.events().is_empty());
}

/// connect 138: nodes from the tables and the control node have addresses, not names.
/// connect 142: an address reader has a typed answer: an IP, or none.
#[tokio::test(start_paused = true)]
async fn nodes_have_addresses() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    let session = world.session(&cluster).await;
    for node in session.topology().nodes() {
        let address = node.endpoint().unwrap().address();
        assert_eq!(address.ip(), node.address.map(|addr| addr.ip()));
        assert_eq!(address.name(), None);
    }
}

/// connect 136, 137: events of the monitor's own type are registered for, and lead to a read at once, together.
#[tokio::test(start_paused = true)]
async fn own_events() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    cluster.node(0).set(|facts| facts.events.push("CLIENT_ROUTES_CHANGE".into()));
    world.lead([cluster.node(0).addr()]);
    let monitor = Monitor::default();
    let session = world.builder().topology_monitor(monitor.clone()).build().await.unwrap();
    settled(&cluster).await;
    assert_eq!(*monitor.answers.reads.lock().unwrap(), [0], "a full read");
    let mut body = vec![0, 12];
    body.extend(b"UPDATE_NODES");
    body.extend([0, 0, 0, 0]);
    let event = Push::raw("CLIENT_ROUTES_CHANGE", body);
    (0..3).for_each(|_| assert_eq!(cluster.node(0).push(&event), 1));
    settle().await;
    let reads = monitor.answers.reads.lock().unwrap().clone();
    assert_eq!(reads.iter().sum::<usize>(), 3, "each event once: {reads:?}");
    assert!(reads.len() <= 3, "those that came together are read together: {reads:?}");
    sleep(3 * SECOND).await;
    assert_eq!(monitor.answers.reads.lock().unwrap().len(), reads.len());
    drop(session);
}

/// connect 89: a server that does not know the monitor's event is used without it.
#[tokio::test(start_paused = true)]
async fn an_event_that_the_server_does_not_know() {
    let world = World::new();
    let cluster = world.cluster().start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let session = world.builder().topology_monitor(Monitor::default()).build().await.unwrap();
    settled(&cluster).await;
    assert_eq!(cluster.node(0).count(Stage::Register), 2, "narrowed on the same connection");
    assert_eq!(control_nodes(&cluster).len(), 1);
    drop(session);
}
