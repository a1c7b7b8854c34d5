//! What a session says of its nodes, and what it tells when that changes.

use messina::{
    protocol::ProtocolVersion,
    session::{Purpose, Standing},
    testkit::{Answer, Fault, Stage, rows},
    topology::{SessionEvent, SessionEvents},
};

use crate::support::{QUERY, SECOND, World, settle};

/// Ups and downs until now, as `+` and `-`, of the node with this place in the cluster.
fn steps(world: &World, events: &mut SessionEvents, index: usize) -> String {
    let this = world.node(index).host_id().unwrap();
    let mut steps = String::new();
    while let Some(event) = events.try_next() {
        match event {
            SessionEvent::NodeUp { host_id } if host_id == this => steps.push('+'),
            SessionEvent::NodeDown { host_id } if host_id == this => steps.push('-'),
            _ => {}
        }
    }
    steps
}

/// driver 2.5: a node is up with its first connection, and down when its last one is lost, or cannot be opened; in between
/// nothing is told.
#[tokio::test(start_paused = true)]
async fn up_and_down() {
    let world = World::of(2).await;
    let bus = messina::topology::EventBus::new();
    let mut events = bus.subscribe();
    world.node(1).fault(Stage::Options, Fault::Silence.times(1));
    let session = world.builder().event_bus(bus).connections_per_node(3, 1).build().await.unwrap();
    world.open_within(20 * SECOND, 7).await;
    settle().await;
    // Its first connect failed; the second succeeded, and two more are no news.
    assert_eq!(steps(&world, &mut events, 1), "-+");
    tokio::time::sleep(2 * SECOND).await;
    world.node(1).fault(Stage::Query, Fault::Close.times(1));
    for _ in 0..2 {
        let _ = session.execute(QUERY, ()).await;
    }
    settle().await;
    assert_eq!(steps(&world, &mut events, 1), "", "two connections were left");
    world.node(1).kill().await;
    tokio::time::sleep(30 * SECOND).await;
    assert_eq!(steps(&world, &mut events, 1), "-");
    assert!(matches!(world.state(&session, 1).standing, Standing::Down));
    world.node(1).start();
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(steps(&world, &mut events, 1), "+");
    assert!(matches!(world.state(&session, 1).standing, Standing::Up));
    drop(session);
}

/// report 55: what each node and each connection is doing can be asked, also while some of it fails.
#[tokio::test(start_paused = true)]
async fn the_state_under_partial_failure() {
    let world = World::of(3).await;
    world.cluster.prime(QUERY, Answer::from(rows!["id int"; (1,)]).delayed(SECOND));
    world.node(2).fault(Stage::Tcp, Fault::Refuse);
    let session = world.builder().connections_per_node(2, 1).build().await.unwrap();
    world.open(5).await;
    let asked: Vec<_> = (0..4)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.execute(QUERY, ()).await.map(drop) })
        })
        .collect();
    tokio::time::sleep(SECOND / 2).await;
    let [good, bad] = [0, 2].map(|index| world.state(&session, index));
    assert_eq!((good.datacenter.as_deref(), good.rack.as_deref()), (Some("datacenter1"), Some("rack1")));
    assert_eq!((good.local, good.scylla, good.shards, good.wanted, good.opening), (true, Some(false), None, 2, 0));
    assert_eq!(good.endpoint.to_string(), world.node(0).addr().to_string());
    assert_eq!(good.connections.len(), 2);
    for connection in &good.connections {
        assert_eq!((connection.peer, connection.purpose), (world.node(0).addr(), Purpose::Serving));
        assert_eq!((connection.version, connection.compression), (ProtocolVersion::V5, None));
        assert!(connection.age >= SECOND / 2 && connection.last_answer >= SECOND / 2);
        assert_eq!(connection.orphans, 0);
    }
    let in_flight: usize = session.nodes().iter().flat_map(|node| &node.connections).map(|one| one.in_flight).sum();
    assert_eq!(in_flight, 4);
    assert!(matches!(bad.standing, Standing::Down) && bad.connections.is_empty());
    let why = bad.last_error.unwrap().to_string();
    assert!(why.contains(&world.node(2).addr().to_string()), "{why}");
    assert!(bad.next_attempt_in.unwrap() <= 2 * SECOND);
    for one in asked {
        one.await.unwrap().unwrap();
    }
    drop(session);
}

/// driver 2.5: a server of another cluster forces its node down, with the reason, and is asked again a minute later.
#[tokio::test(start_paused = true)]
async fn forced_down_with_a_reason() {
    let world = World::of(2).await;
    let session = world.builder().build().await.unwrap();
    world.open(3).await;
    tokio::time::sleep(2 * SECOND).await;
    world.node(1).kill().await;
    world.node(1).set(|facts| facts.cluster_name = "another".into());
    world.node(1).start();
    tokio::time::sleep(10 * SECOND).await;
    let node = world.state(&session, 1);
    let Standing::ForcedDown { reason, .. } = &node.standing else { panic!("{node:?}") };
    assert!(reason.report().to_string().contains("belongs to cluster \"another\""), "{}", reason.report());
    let wait = node.next_attempt_in.unwrap();
    assert!(wait > 40 * SECOND && wait <= 60 * SECOND, "{wait:?}");
    let dials = world.network.dials(world.node(1).addr());
    tokio::time::sleep(wait - SECOND).await;
    assert_eq!(world.network.dials(world.node(1).addr()), dials);
    world.node(1).set(|facts| facts.cluster_name = "testkit".into());
    tokio::time::sleep(3 * SECOND).await;
    assert!(matches!(world.state(&session, 1).standing, Standing::Up));
    drop(session);
}

/// report 37: while the control connection cannot be made, the pools of nodes that serve are left alone.
#[tokio::test(start_paused = true)]
async fn pools_do_not_depend_on_the_control_connection() {
    let world = World::of(2).await;
    let session = world.builder().build().await.unwrap();
    world.open(3).await;
    let mut events = session.events();
    // Every control connection is refused from now on; what serves is untouched.
    world.cluster.fault(Stage::Register, Fault::error(0x0000, "no"));
    world.node(0).fault(Stage::Heartbeat, Fault::Close.times(2));
    tokio::time::sleep(100 * SECOND).await;
    let before = world.node(1).connections().iter().filter(|one| one.count(Stage::Query) > 0).count();
    for _ in 0..60 {
        session.execute(QUERY, ()).await.unwrap();
        tokio::time::sleep(SECOND).await;
    }
    let after = world.node(1).connections().iter().filter(|one| one.count(Stage::Query) > 0).count();
    assert!(before <= 1 && after == 1, "the same connection serves");
    assert_eq!(steps(&world, &mut events, 1), "");
    drop(session);
}
