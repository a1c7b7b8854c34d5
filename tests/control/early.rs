//! Who answers: before the first control connection, and when somebody is expected.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, atomic::Ordering},
};

use messina::{
    layers::Address,
    testkit::{Fault, Stage},
    topology::{EventBus, SessionEvent},
};
use tower::service_fn;

use crate::support::{Monitor, SECOND, SOON, World, control_nodes, settled, told};

/// connect 73: a reconnect to a node that is known reads no system.local inside the attempt: REGISTER comes before it.
/// connect 88: REGISTER follows the handshake directly.
#[tokio::test(start_paused = true)]
async fn an_identified_node_is_not_read_in_the_attempt() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let session = world.builder().schema_metadata(false).build().await.unwrap();
    settled(&cluster).await;
    cluster.node(0).kill().await;
    let node = cluster.node(1);
    node.wait_for(SOON, |seen| seen.iter().any(|one| one.count(Stage::Peers) > 0)).await.unwrap();
    let control = node.connections().into_iter().find(|one| one.count(Stage::Register) > 0).unwrap();
    let wanted = [Stage::Options, Stage::Startup, Stage::Cluster, Stage::Register, Stage::Identity, Stage::Peers];
    assert_eq!(control.stages(), wanted);
    // The contact point is of nobody known: it is read, and before REGISTER.
    let first = &cluster.node(0).connections()[0];
    let wanted = [Stage::Options, Stage::Startup, Stage::Cluster, Stage::Identity, Stage::Register, Stage::Peers];
    assert_eq!(first.stages(), wanted, "connect 79: one read of system.local");
    drop(session);
}

/// connect 81: every address of a contact point fails identity: it is told before the session is built, and by D21
/// as an event of the contact point, not of a node.
#[tokio::test(start_paused = true)]
async fn identity_fails_everywhere() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    (0..2).for_each(|node| cluster.node(node).set(|facts| facts.host_id = None));
    world.lead(cluster.addrs().into_iter().take(2));
    let bus = EventBus::new();
    let mut events = bus.subscribe();
    let builder = world.builder().contact_addr(cluster.node(2).addr()).event_bus(bus.clone());
    let session = builder.build().await.unwrap();
    let first = told(&mut events).remove(0);
    let SessionEvent::ContactPointFailed { name, attempts, .. } = first else { panic!("{first}") };
    assert_eq!(&*name, "db.test:9042");
    let failed: Vec<_> = attempts.iter().map(|attempt| (attempt.addr, attempt.error.stage().as_str())).collect();
    assert_eq!(failed, [(cluster.node(0).addr(), "identity"), (cluster.node(1).addr(), "identity")]);
    assert_eq!(control_nodes(&cluster), [cluster.node(2).addr()]);
    drop(session);

    let mut events = bus.subscribe();
    let error = world.builder().event_bus(bus).build().await.unwrap_err();
    assert_eq!(error.contact_points().len(), 1);
    assert!(matches!(told(&mut events)[..], [SessionEvent::ContactPointFailed { .. }]));
}

/// connect 74: the topology monitor's own read of who answers is used, for the first connect and the later ones.
#[tokio::test(start_paused = true)]
async fn the_monitors_identity_is_used() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let monitor = Monitor::default();
    let identities = || monitor.answers.identities.load(Ordering::Relaxed);
    let session = world.builder().topology_monitor(monitor.clone()).build().await.unwrap();
    settled(&cluster).await;
    assert_eq!(identities(), 1);
    session.refresh_topology().await.unwrap();
    assert_eq!(identities(), 2);
    cluster.node(0).kill().await;
    cluster.node(1).wait_for(SOON, |seen| seen.iter().any(|one| one.count(Stage::Peers) > 0)).await.unwrap();
    assert_eq!(identities(), 3);
}

/// connect D17: one runtime: every lookup, dial and read of a session happens on the runtime that it was built on.
#[test]
fn one_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let own = std::thread::current().id();
    runtime.block_on(async {
        let world = World::new();
        let cluster = world.cluster().nodes(3).start().await.unwrap();
        world.lead(cluster.addrs());
        let (names, threads) = (world.names.clone(), Arc::clone(&seen));
        let resolver = service_fn(move |address: Address| {
            threads.lock().unwrap().insert(std::thread::current().id());
            tower::Service::call(&mut names.clone(), address)
        });
        let session = world.builder().resolver(resolver).build().await.unwrap();
        settled(&cluster).await;
        cluster.nodes().iter().for_each(messina::testkit::Node::reset_connections);
        settled(&cluster).await;
        assert_eq!(session.topology().nodes().len(), 3);
    });
    assert_eq!(*seen.lock().unwrap(), HashSet::from([own]));
}

/// connect 82: a control node that closes in the middle of its first reads costs that address alone, at a reconnect too.
/// reviewer 57: a reconnect to a contact point goes the way of the first connect.
#[tokio::test(start_paused = true)]
async fn reconnecting_is_as_careful_as_connecting() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    let session = world.session(&cluster).await;
    // Other nodes take over behind the name; the first two do not tell their nodes, the third does.
    let new = world.cluster().nodes(3).start().await.unwrap();
    for (id, node) in (1..).zip(new.nodes()) {
        node.set(|facts| facts.host_id = Some(uuid::Uuid::from_u128(id)));
    }
    new.node(0).fault(Stage::Peers, Fault::Close);
    new.node(1).fault(Stage::Identity, Fault::error(0x1001, "busy"));
    world.lead(new.addrs());
    let started = tokio::time::Instant::now();
    for node in cluster.nodes() {
        node.kill().await;
    }
    new.node(2).wait_for(SOON, |seen| seen.iter().any(|one| one.count(Stage::Peers) > 0)).await.unwrap();
    assert!(started.elapsed() < 3 * SECOND, "{:?}", started.elapsed());
    assert_eq!(new.node(1).count(Stage::Register), 0);
    drop(session);
}

/// connect 1: the connect path alone looks names up: once to connect, and not for settings, comparing, printing,
/// refreshing, composing a plan, events or a new address of a node.
#[tokio::test(start_paused = true)]
async fn names_are_looked_up_to_connect_only() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).user("ada", "pass").start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let builder = world.builder().credentials("ada", "pass");
    let config = builder.check().unwrap();
    assert_eq!(config.contact_points[0], config.contact_points[0].clone());
    assert_eq!(format!("{} {:?}", config.contact_points[0], builder).matches("db.test").count(), 2);
    assert_eq!(world.names.total(), 0);
    let session = builder.build().await.unwrap();
    settled(&cluster).await;
    assert_eq!(world.names.asked("db.test"), 1);
    let before = world.names.total();
    session.refresh_topology().await.unwrap();
    cluster.node(0).push(&messina::testkit::Push::topology("NEW_NODE", cluster.node(1).addr()));
    tokio::time::sleep(3 * SECOND).await;
    let shown = format!("{:?} {} {}", session.topology(), session.explain_plan(), session.state());
    assert!(shown.contains("db.test"));
    assert_eq!(world.names.total(), before);
}

/// reviewer 50: the local data centre is that of the node that let us in, known by its host id, without a lookup more.
#[tokio::test(start_paused = true)]
async fn the_local_data_centre_is_the_control_nodes() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).node(1, |facts| facts.data_center = Some("far".into()));
    let cluster = cluster.start().await.unwrap();
    cluster.prime("SELECT id FROM ks.t", messina::testkit::rows!["id int"; (1,)]);
    // The first record is dead: the second one, in the other data centre, lets us in.
    world.lead([world.network.refused(), cluster.node(1).addr(), cluster.node(0).addr()]);
    let session = world.builder().build().await.unwrap();
    settled(&cluster).await;
    for _ in 0..20 {
        session.execute("SELECT id FROM ks.t", ()).await.unwrap();
    }
    let queries: Vec<_> = cluster.nodes().iter().map(|node| node.count(Stage::Query)).collect();
    assert_eq!(queries, [0, 20, 0]);
    assert_eq!(world.names.asked("db.test"), 1);
}
