//! Events: hints that cost little, gathered before they cost a read.

use std::time::Duration;

use messina::testkit::{Cluster, Fault, Push, Stage};
use tokio::time::{Instant, sleep};

use crate::support::{SECOND, SOON, World, control_nodes, settle, settled, told};
use messina::topology::SessionEvent;

/// Reads of the peers table until now.
fn reads(cluster: &Cluster) -> usize {
    cluster.log().now().count(Stage::Peers)
}

/// report 30: a status event of a node that is connected costs no query, one of somebody unknown one read when it is
/// up and none when it is down; a topology event costs one read.
#[tokio::test(start_paused = true)]
async fn queries_per_event() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let control = cluster.node(0);
    let (known, unknown) = (cluster.node(1).addr(), std::net::SocketAddr::from(([10, 9, 9, 9], 9042)));
    let schema = Push::schema(["CREATED", "TABLE", "ks", "t"]);
    let cases = [
        (Push::status("UP", known), 0),
        (Push::status("DOWN", known), 0),
        (Push::status("DOWN", unknown), 0),
        (Push::status("UP", unknown), 1),
        (Push::topology("NEW_NODE", known), 1),
        (Push::topology("MOVED_NODE", known), 1),
        (Push::topology("REMOVED_NODE", unknown), 1),
        (schema, 0),
    ];
    for (event, wanted) in cases {
        let before = reads(&cluster);
        assert_eq!(control.push(&event), 1);
        sleep(3 * SECOND).await;
        assert_eq!(reads(&cluster) - before, wanted, "{event:?}");
    }
    assert_eq!((control_nodes(&cluster).len(), cluster.log().now().open()), (1, 3), "nothing was lost");
    drop(session);
}

/// driver.md 2.5: a node that comes back may have changed: one read, beside the hint.
#[tokio::test(start_paused = true)]
async fn a_node_comes_back() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let node = cluster.node(1);
    node.kill().await;
    sleep(300 * SECOND).await;
    let before = reads(&cluster);
    node.start();
    node.set(|facts| facts.rack = Some("moved".into()));
    let started = Instant::now();
    cluster.node(0).push(&Push::status("UP", node.addr()));
    settled(&cluster).await;
    // connect D26: the back-off of a node is reset when it is reported up.
    assert!(started.elapsed() < SECOND / 2, "{:?}", started.elapsed());
    sleep(2 * SECOND).await;
    assert_eq!(reads(&cluster) - before, 1);
    let rack = session.topology().node(node.host_id().unwrap()).unwrap().rack.clone();
    assert_eq!(rack.as_deref(), Some("moved"));
}

/// driver.md 2.5: a DOWN event is worth a heartbeat; a node that answers it stays, and nobody is told it is down.
#[tokio::test(start_paused = true)]
async fn down_is_a_hint() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let mut events = session.events();
    let heartbeats = cluster.node(1).count(Stage::Heartbeat);
    cluster.node(0).push(&Push::status("DOWN", cluster.node(1).addr()));
    sleep(2 * SECOND).await;
    assert_eq!(cluster.node(1).count(Stage::Heartbeat), heartbeats + 1);
    assert!(told(&mut events).is_empty());
    assert_eq!(cluster.log().now().open(), 3);
}

/// connect 124: events are gathered for a second, or until there are twenty: one read for all.
#[tokio::test(start_paused = true)]
async fn gathered() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let event = Push::topology("NEW_NODE", cluster.node(1).addr());
    for (events, wait) in [(1, 1000), (19, 1000), (20, 0), (200, 0), (900, 0)] {
        let before = reads(&cluster);
        let started = Instant::now();
        (0..events).for_each(|_| {
            cluster.node(0).push(&event);
        });
        let read = cluster
            .node(0)
            .wait_for(SOON, |seen| seen.iter().map(|one| one.count(Stage::Peers)).sum::<usize>() > before);
        read.await.unwrap();
        let took = started.elapsed().as_millis();
        assert!((wait..wait + 20).contains(&took), "{events} events: {took} ms");
        sleep(3 * SECOND).await;
        let reads = reads(&cluster) - before;
        assert!((1..=2 + events / 200).contains(&reads), "{events} events: {reads} reads");
    }
    drop(session);
}

/// connect 124: both limits are options.
#[tokio::test(start_paused = true)]
async fn gathered_as_configured() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let builder = world.builder().set("advanced.metadata.topology-event-debouncer.window", "5 s");
    let session = builder.set("advanced.metadata.topology-event-debouncer.max-events", "2").build().await.unwrap();
    settled(&cluster).await;
    let event = Push::topology("NEW_NODE", cluster.node(1).addr());
    let before = reads(&cluster);
    cluster.node(0).push(&event);
    sleep(4 * SECOND).await;
    assert_eq!(reads(&cluster), before);
    cluster.node(0).push(&event);
    settle().await;
    assert_eq!(reads(&cluster), before + 1, "the second one is enough");
    drop(session);
}

/// connect 124: the first event sets the time: others that go on coming do not put the read off.
#[tokio::test(start_paused = true)]
async fn a_trickle_does_not_put_the_read_off() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let event = Push::topology("NEW_NODE", cluster.node(1).addr());
    let before = reads(&cluster);
    for _ in 0..10 {
        cluster.node(0).push(&event);
        sleep(SECOND / 2).await;
    }
    assert!(reads(&cluster) - before >= 3, "{} reads in five seconds", reads(&cluster) - before);
    drop(session);
}

/// scenario S17: an event that comes before the READY of REGISTER counts, and costs one read; one that comes before anybody
/// registered is covered by the read that follows.
#[tokio::test(start_paused = true)]
async fn an_event_before_ready() {
    for (stage, wanted) in [(None, 1), (Some(Stage::Identity), 1), (Some(Stage::Register), 2)] {
        let world = World::new();
        let cluster = world.cluster().nodes(2).start().await.unwrap();
        if let Some(stage) = stage {
            let event = Push::topology("NEW_NODE", cluster.node(1).addr());
            cluster.node(0).fault(stage, Fault::EventFirst(event).times(1));
        }
        let session = world.session(&cluster).await;
        sleep(5 * SECOND).await;
        assert_eq!((reads(&cluster), cluster.log().now().open()), (wanted, 3), "{stage:?}");
        drop(session);
    }
}

/// scenario S17: what happens between login and REGISTER is seen by the first refresh, which follows REGISTER.
/// connect 90: the window costs nothing, because a full read follows.
#[tokio::test(start_paused = true)]
async fn a_change_before_register() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).fault(0, Stage::Identity, Fault::Delay(SECOND));
    let cluster = cluster.node(1, |facts| facts.listed = false).start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let build = tokio::spawn(world.builder().build());
    sleep(SECOND / 2).await;
    // Nobody is registered: the event has no listener.
    assert_eq!(cluster.node(0).push(&Push::topology("NEW_NODE", cluster.node(1).addr())), 0);
    cluster.node(1).set(|facts| facts.listed = true);
    let session = build.await.unwrap().unwrap();
    assert_eq!(session.topology().nodes().len(), 2);
    // So is what changed on the control node itself, at the next read.
    cluster.node(0).set(|facts| facts.rack = Some("moved".into()));
    let seen = session.refresh_topology().await.unwrap();
    assert_eq!(seen.node(cluster.node(0).host_id().unwrap()).unwrap().rack.as_deref(), Some("moved"));
}

/// cql 5: events of types that nobody knows, and such as cannot be read, harm nobody.
#[tokio::test(start_paused = true)]
async fn odd_events() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    // Registered for, but of another form than it should have.
    cluster.node(0).push(&Push::raw("STATUS_CHANGE", vec![0, 9, b'U']));
    cluster.node(0).push(&Push::raw("TOPOLOGY_CHANGE", Vec::new()));
    sleep(3 * SECOND).await;
    assert_eq!(control_nodes(&cluster).len(), 1);
    session.refresh_topology().await.unwrap();
}

/// connect D26: what an event told that was missed, or cannot be read, may have been that a node is up: with the read that
/// follows, a node that waits for a minute is tried at once.
#[tokio::test(start_paused = true)]
async fn a_lost_word_of_a_node_that_is_up() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    let session = world.session(&cluster).await;
    let node = cluster.node(1);
    node.kill().await;
    // Long enough for a wait of a minute.
    sleep(300 * SECOND).await;
    node.start();
    cluster.push(&Push::raw("STATUS_CHANGE", vec![0, 9, b'U']));
    node.wait_for(2 * SECOND, |seen| seen.last().is_some_and(|one| one.is_open())).await.unwrap();
    drop(session);
}

/// connect 133: a listener that is too slow is told how much it missed, and holds nobody up.
#[tokio::test(start_paused = true)]
async fn a_slow_listener() {
    let world = World::new();
    let cluster = world.cluster().start().await.unwrap();
    let session = world.session(&cluster).await;
    let mut slow = session.events();
    cluster.node(0).kill().await;
    // An event per round, and more than fit.
    sleep(Duration::from_secs(600)).await;
    let events = told(&mut slow);
    let SessionEvent::Missed { events: missed } = events[0] else { panic!("{}", events[0]) };
    assert!(missed > 200, "{missed}");
    assert!(events.len() <= 257);
    cluster.node(0).start();
    settled(&cluster).await;
}
