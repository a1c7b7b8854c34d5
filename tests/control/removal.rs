//! Nodes that leave.

use messina::{
    testkit::{Push, Stage, rows},
    topology::SessionEvent,
};
use tokio::time::sleep;

use crate::support::{SECOND, SOON, World, control_nodes, settle, settled, told};

/// report 22: a node leaves while its reconnect loop runs: the loop ends.
#[tokio::test(start_paused = true)]
async fn a_removed_node_is_not_dialled_any_more() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    let session = world.session(&cluster).await;
    let mut events = session.events();
    let gone = cluster.node(2);
    gone.kill().await;
    sleep(5 * SECOND).await;
    gone.set(|facts| facts.listed = false);
    cluster.node(0).push(&Push::topology("REMOVED_NODE", gone.addr()));
    sleep(2 * SECOND).await;
    let dials = world.network.dials(gone.addr());
    sleep(300 * SECOND).await;
    assert_eq!(world.network.dials(gone.addr()), dials);
    let removed = told(&mut events).into_iter().filter(|event| matches!(event, SessionEvent::NodeRemoved { .. }));
    assert_eq!(removed.count(), 1);
}

/// report 22: the last but one leaves: the one that is left lists nobody, and that is believed.
#[tokio::test(start_paused = true)]
async fn the_last_but_one_leaves() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let gone = cluster.node(1);
    gone.set(|facts| facts.listed = false);
    // It is told while the node still answers.
    cluster.node(0).push(&Push::topology("REMOVED_NODE", gone.addr()));
    sleep(2 * SECOND).await;
    assert_eq!(session.topology().nodes().len(), 1);
}

/// connect 134: the control node leaves: another one takes over, and the first is forgotten by it.
#[tokio::test(start_paused = true)]
async fn the_control_node_leaves() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    let session = world.session(&cluster).await;
    let gone = cluster.node(0);
    assert_eq!(control_nodes(&cluster), [gone.addr()]);
    gone.set(|facts| facts.listed = false);
    gone.push(&Push::topology("REMOVED_NODE", gone.addr()));
    sleep(SECOND).await;
    let [control] = control_nodes(&cluster)[..] else { panic!("{:?}", control_nodes(&cluster)) };
    assert_ne!(control, gone.addr());
    assert!(session.topology().node(gone.host_id().unwrap()).is_none());
    assert_eq!(session.topology().nodes().len(), 2);
}

/// report 54: after the first connect no node is a bare contact point: each has its host id and its own address.
/// reviewer 51: nothing is added and removed at the first refresh.
#[tokio::test(start_paused = true)]
async fn no_node_is_a_contact_point() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let bus = messina::topology::EventBus::new();
    let mut events = bus.subscribe();
    world.lead([cluster.node(0).addr()]);
    let session = world.builder().event_bus(bus).build().await.unwrap();
    settled(&cluster).await;
    session.refresh_topology().await.unwrap();
    for (node, own) in session.topology().nodes().iter().zip(0..) {
        let known = cluster.nodes().iter().find(|known| known.host_id() == Some(node.host_id)).unwrap();
        assert_eq!(node.endpoint().unwrap(), known.addr().into(), "node {own}");
    }
    let nodes = told(&mut events).into_iter().filter(|event| {
        matches!(
            event,
            SessionEvent::NodeAdded { .. } | SessionEvent::NodeRemoved { .. } | SessionEvent::NodeMoved { .. }
        )
    });
    assert_eq!(nodes.count(), 2, "each was added once");
}

/// cql 7: a control node that lists nobody though others answer is not believed; it is asked again, and believed then.
#[tokio::test(start_paused = true)]
async fn an_empty_list_is_not_believed() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    let session = world.session(&cluster).await;
    let before = session.topology();
    cluster
        .prime("SELECT * FROM system.peers_v2", rows!["peer inet, host_id uuid, native_address inet, native_port int"]);
    cluster.node(0).push(&Push::topology("NEW_NODE", cluster.node(2).addr()));
    sleep(3 * SECOND).await;
    assert!(std::sync::Arc::ptr_eq(&before, &session.topology()), "the nodes known before stay");
    // Nobody answers any more: now it is the truth.
    let reads = cluster.node(0).count(Stage::Peers);
    cluster.node(1).kill().await;
    cluster.node(2).kill().await;
    cluster
        .node(0)
        .wait_for(20 * SECOND, |seen| seen.iter().map(|one| one.count(Stage::Peers)).sum::<usize>() > reads)
        .await
        .unwrap();
    settle().await;
    assert_eq!(session.topology().nodes().len(), 1);
}

/// cql 7: a list without any token keeps those that are known.
#[tokio::test(start_paused = true)]
async fn lost_tokens_stay() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    assert_eq!(session.topology().ring().len(), 8);
    cluster.nodes().iter().for_each(|node| node.set(|facts| facts.tokens.clear()));
    let before = session.topology();
    session.refresh_topology().await.unwrap();
    let after = session.topology();
    assert!(!std::sync::Arc::ptr_eq(&before, &after));
    assert_eq!(after.ring(), before.ring());
    // Where one node has some, the list is as it is.
    cluster.node(0).set(|facts| facts.tokens = vec![1, 2]);
    session.refresh_topology().await.unwrap();
    assert_eq!(session.topology().ring().len(), 2);
    cluster.wait_for(SOON, |seen| seen.open() == 3).await.unwrap();
}
