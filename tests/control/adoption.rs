//! Who may be the control node: not who was removed, is left out, or is forced down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use messina::{
    testkit::{Cluster, Push, Scylla, Stage},
    topology::{EventBus, Refusal, SessionEvent, SessionEvents},
};
use tokio::time::sleep;

use crate::support::{SECOND, SOON, World, control_nodes, settled, told};

/// Why candidates were refused, until now.
fn refusals(events: &mut SessionEvents) -> Vec<(uuid::Uuid, Refusal)> {
    let refused = told(events).into_iter().filter_map(|event| match event {
        SessionEvent::CandidateRefused { host_id, reason } => Some((host_id, reason)),
        SessionEvent::NodeAdded { .. } => panic!("{event}"),
        _ => None,
    });
    refused.collect()
}

/// A cluster of two, of which the second node was removed, goes on, and is behind the contact point.
async fn removed(world: &World, cluster: &Cluster) -> (messina::Session, SessionEvents) {
    let session = world.session(cluster).await;
    let removed = cluster.node(1);
    removed.set(|facts| facts.listed = false);
    cluster.node(0).push(&Push::topology("REMOVED_NODE", removed.addr()));
    sleep(2 * SECOND).await;
    assert_eq!(session.topology().nodes().len(), 1);
    world.lead([removed.addr()]);
    let events = session.events();
    (session, events)
}

/// connect D6: a node that the metadata dropped is not adopted: no added event, no entry, a reason; the next is tried.
/// scenario H11: the removed node answers behind the contact point.
/// report 7: it does not come back as control node.
/// reviewer 56: checked first, published after.
#[tokio::test(start_paused = true)]
async fn a_removed_node_does_not_come_back() {
    for scylla in [false, true] {
        let world = World::new();
        let builder = world.cluster().nodes(2);
        let cluster = if scylla { builder.scylla(Scylla::new(1)) } else { builder }.start().await.unwrap();
        let (session, mut events) = removed(&world, &cluster).await;
        let registered = cluster.node(1).count(Stage::Register);
        let startups = cluster.node(1).count(Stage::Startup);
        cluster.node(0).kill().await;
        sleep(3 * SECOND).await;
        let refused = refusals(&mut events);
        assert!(refused.len() >= 2, "in every round: {refused:?}");
        let id = cluster.node(1).host_id().unwrap();
        assert!(refused.iter().all(|refusal| *refusal == (id, Refusal::Removed)), "{refused:?}");
        assert_eq!(cluster.node(1).count(Stage::Register), registered, "refused before REGISTER");
        if scylla {
            assert_eq!(cluster.node(1).count(Stage::Startup), startups, "SUPPORTED tells it before the login");
        }
        assert!(session.topology().node(id).is_none());
        // The next candidate of the same name.
        world.lead(vec![cluster.node(1).addr(), cluster.node(0).addr()]);
        cluster.node(0).start();
        cluster.node(0).wait_for(SOON, |seen| seen.last().is_some_and(|one| one.is_open())).await.unwrap();
        sleep(2 * SECOND).await;
        assert_eq!(control_nodes(&cluster), [cluster.node(0).addr()]);
        assert_eq!(session.topology().nodes().len(), 1);
    }
}

/// connect D6: listed again, it may be control node again.
#[tokio::test(start_paused = true)]
async fn a_node_that_is_listed_again_is_wanted_again() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let (session, _events) = removed(&world, &cluster).await;
    cluster.node(1).set(|facts| facts.listed = true);
    cluster.node(0).push(&Push::topology("NEW_NODE", cluster.node(1).addr()));
    sleep(2 * SECOND).await;
    assert_eq!(session.topology().nodes().len(), 2);
    cluster.node(0).kill().await;
    sleep(2 * SECOND).await;
    assert_eq!(control_nodes(&cluster), [cluster.node(1).addr()]);
}

/// scenario H11: the variant of a node that the filter leaves out, from the first connect on.
/// connect 134: it is closed, and the next entry tried.
/// report 25: refused before it costs a login, where its host id is told early.
/// reviewer 36: every drop has a reason.
/// reviewer 55: no full login for a node that will be refused.
#[tokio::test(start_paused = true)]
async fn an_ignored_node() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).scylla(Scylla::new(1));
    let cluster = cluster.node(0, |facts| facts.data_center = Some("far".into())).start().await.unwrap();
    world.lead(cluster.addrs());
    let bus = EventBus::new();
    let mut events = bus.subscribe();
    let near = |node: &messina::topology::NodeInfo| node.datacenter.as_deref() != Some("far");
    let session = world.builder().event_bus(bus).node_filter(near).build().await.unwrap();
    let far = cluster.node(0);
    let id = far.host_id().unwrap();
    sleep(SECOND).await;
    assert_eq!(control_nodes(&cluster), [cluster.node(1).addr()]);
    let first: Vec<_> = told(&mut events).into_iter().map(|event| event.to_string()).collect();
    assert!(first[0].contains("not adopted: the node filter leaves it out"), "{first:?}");
    // It is known, and nothing is connected to it.
    assert_eq!((session.topology().nodes().len(), session.topology().is_ignored(id)), (2, true));
    assert_eq!(far.connections().iter().filter(|one| one.is_open()).count(), 0);

    // Now that it is known, the address alone is enough, and after a round in vain SUPPORTED is.
    let (dials, startups) = (world.network.dials(far.addr()), far.count(Stage::Startup));
    cluster.node(1).kill().await;
    sleep(SECOND / 2).await;
    assert_eq!(world.network.dials(far.addr()), dials, "not even dialled");
    sleep(5 * SECOND).await;
    assert!(world.network.dials(far.addr()) > dials, "asked who is there");
    assert_eq!((far.count(Stage::Startup), far.count(Stage::Register)), (startups, 0), "no login");
    assert!(refusals(&mut events).iter().all(|refusal| *refusal == (id, Refusal::Ignored)));
    cluster.node(1).start();
    settled_with(&cluster, 2).await;
    assert_eq!(control_nodes(&cluster), [cluster.node(1).addr()]);
}

async fn settled_with(cluster: &Cluster, open: usize) {
    cluster.wait_for(SOON, |seen| seen.open() == open).await.unwrap();
}

/// connect 134: the variant of a node that is forced down, here for the name of another cluster.
/// scenario H11: it is refused with that reason.
#[tokio::test(start_paused = true)]
async fn a_node_that_is_forced_down() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let mut events = session.events();
    let down = cluster.node(1);
    let id = down.host_id().unwrap();
    // Its pool finds another cluster's name there, and forces it down.
    down.set(|facts| facts.cluster_name = "other".into());
    down.reset_connections();
    sleep(5 * SECOND).await;
    down.set(|facts| facts.cluster_name = "testkit".into());
    world.lead([down.addr()]);
    cluster.node(0).kill().await;
    sleep(SECOND / 2).await;
    let refused = refusals(&mut events);
    assert!(!refused.is_empty() && refused.iter().all(|refusal| *refusal == (id, Refusal::ForcedDown)), "{refused:?}");
    assert_eq!(control_nodes(&cluster), Vec::<std::net::SocketAddr>::new());
    // Its pool may return after the longest delay, and it is wanted again.
    sleep(Duration::from_secs(70)).await;
    assert_eq!(control_nodes(&cluster), [down.addr()]);
}

/// connect 134: left out while the connect was under way: closed after the handshake, the next entry is tried.
#[tokio::test(start_paused = true)]
async fn ignored_meanwhile() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let wanted = Arc::new(AtomicBool::new(true));
    let (filter, slow) = (Arc::clone(&wanted), cluster.node(1).host_id().unwrap());
    let filter = move |node: &messina::topology::NodeInfo| node.host_id != slow || filter.load(Ordering::Relaxed);
    let session = world.builder().node_filter(filter).build().await.unwrap();
    settled(&cluster).await;
    let mut events = session.events();
    // The node list is read late on both that remain; meanwhile the filter turns against one.
    let late = messina::testkit::Fault::Delay(SECOND);
    (1..3).for_each(|node| cluster.node(node).fault(Stage::Peers, late.clone()));
    cluster.node(0).kill().await;
    sleep(SECOND / 2).await;
    wanted.store(false, Ordering::Relaxed);
    sleep(3 * SECOND).await;
    assert_eq!(control_nodes(&cluster), [cluster.node(2).addr()]);
    let refused = refusals(&mut events);
    let tried_first = world.dials.take().iter().any(|addr| *addr == cluster.node(1).addr());
    assert_eq!(refused.len(), usize::from(tried_first), "{refused:?}");
}

/// scenario S27: two nodes behind one balancer: the control node is told apart by host id.
/// reviewer 40, 48: the balancer's address is no node's address.
#[tokio::test(start_paused = true)]
async fn two_nodes_behind_one_address() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    // The balancer leads to one node now and to the other one later.
    let balancer = std::net::SocketAddr::from(([10, 88, 0, 1], 9042));
    world.names.set("10.88.0.1", [cluster.node(0).addr()]);
    let builder = messina::Session::builder().contact_addr(balancer).resolver(world.names.clone());
    let session = builder.connector(world.dials.connector()).build().await.unwrap();
    settled(&cluster).await;
    let told_by = |session: &messina::Session| session.topology().told().unwrap().host_id;
    assert_eq!(Some(told_by(&session)), cluster.node(0).host_id());
    world.names.set("10.88.0.1", [cluster.node(1).addr()]);
    cluster.node(0).kill().await;
    sleep(2 * SECOND).await;
    assert_eq!(Some(told_by(&session)), cluster.node(1).host_id());
    for node in cluster.nodes() {
        assert_eq!(session.topology().node(node.host_id().unwrap()).unwrap().address, Some(node.addr()));
    }
}
