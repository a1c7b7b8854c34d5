//! The reconnection plan: the policy's plan, then the contact points.

use std::{net::SocketAddr, time::Duration};

use messina::testkit::{Fault, NameAnswer, Stage};
use tokio::time::{Instant, sleep};

use crate::support::{Monitor, SECOND, SOON, World, control_nodes, settle, settled, told};
use messina::topology::SessionEvent;

/// Cuts the control connection and lets every node refuse new ones; what is open stays.
fn refuse_all(cluster: &messina::testkit::Cluster) {
    for node in cluster.nodes() {
        node.fault(Stage::Tcp, Fault::Refuse);
    }
}

/// connect 124, 125: the known nodes first, each once; the contact points after them, by default.
/// scenario S19: the contact points come after live nodes.
/// scenario S22: unchanged names, all nodes down: an exhausted round dials each address once.
/// connect 131: appended names that lead to what has just failed cost no dial more; only what is new there does.
/// report 6: the plan is composed, and no reconnect fails for it.
/// report 18: exhausted rounds make no node twice.
/// reviewer 52, 58: the policy's plan is never changed, and what failed is not dialled again.
#[tokio::test(start_paused = true)]
async fn a_round_dials_each_address_once() {
    for cap in [5, 2] {
        let world = World::new();
        let cluster = world.cluster().nodes(3).start().await.unwrap();
        let extra = world.network.refused();
        let lead = || world.lead(cluster.addrs().into_iter().chain([extra]));
        lead();
        let session = world.builder().max_candidate_addresses(cap).build().await.unwrap();
        settled(&cluster).await;
        world.dials.take();
        let lost = Instant::now();
        refuse_all(&cluster);
        cluster.nodes().iter().for_each(messina::testkit::Node::reset_connections);
        sleep(SECOND / 2).await;
        let mut dialled = world.dials.take();
        assert_eq!(dialled.last(), Some(&extra), "only the address that was not tried yet: {dialled:?}");
        dialled.sort_unstable();
        let mut wanted: Vec<_> = cluster.addrs().into_iter().chain([extra]).collect();
        wanted.sort_unstable();
        assert_eq!(dialled, wanted, "in {:?}", lost.elapsed());
        // connect D26: rounds repeat about every second.
        sleep(10 * SECOND).await;
        let dials = world.dials.take().len();
        assert!((8 * 4..=10 * 4).contains(&dials), "{dials} dials in ten seconds");
        assert_eq!(session.topology().nodes().len(), 3);
        cluster.clear_faults();
        cluster.wait_for(SOON, |seen| seen.open() == 4).await.unwrap();
        assert_eq!(control_nodes(&cluster).len(), 1);
    }
}

/// connect 132: the switch is read per plan: without it only the known nodes are tried.
#[tokio::test(start_paused = true)]
async fn without_fallback() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let extra = world.network.refused();
    world.lead([cluster.node(0).addr(), extra]);
    let session = world.builder().fallback_to_contact_points(false).build().await.unwrap();
    settled(&cluster).await;
    let asked = world.names.asked("db.test");
    refuse_all(&cluster);
    cluster.nodes().iter().for_each(messina::testkit::Node::reset_connections);
    sleep(10 * SECOND).await;
    assert_eq!((world.names.asked("db.test"), world.network.dials(extra)), (asked, 0));
    drop(session);
}

/// connect 127: a monitor that finds its nodes again holds the contact points back; asked once per plan.
/// reviewer 60: cheap: one question per plan.
#[tokio::test(start_paused = true)]
async fn held_back() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let monitor = Monitor::default();
    let answers = monitor.answers.clone();
    let session = world.builder().topology_monitor(monitor).build().await.unwrap();
    settled(&cluster).await;
    answers.reresolves.store(true, std::sync::atomic::Ordering::Relaxed);
    let asked = world.names.asked("db.test");
    // The other node lets us in: nobody asks the name.
    cluster.node(0).kill().await;
    cluster.node(1).wait_for(SOON, |seen| seen.iter().any(|one| one.count(Stage::Register) > 0)).await.unwrap();
    assert_eq!(world.names.asked("db.test"), asked);
    assert_eq!(answers.plans.load(std::sync::atomic::Ordering::Relaxed), 1);
    drop(session);
}

/// connect 128: an empty plan ends with the contact points whatever the switch and the monitor say.
/// scenario S21: fallback is offered though nothing is known.
#[tokio::test(start_paused = true)]
async fn an_empty_plan() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let monitor = Monitor::default();
    let answers = monitor.answers.clone();
    // Every node is left out once the first connection is up: the policy knows nobody.
    let bus = messina::topology::EventBus::new();
    let ignoring = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let filter = ignoring.clone();
    let builder = world.builder().topology_monitor(monitor).fallback_to_contact_points(false).event_bus(bus);
    let builder = builder.node_filter(move |_| !filter.load(std::sync::atomic::Ordering::Relaxed));
    let session = builder.build().await.unwrap();
    settled(&cluster).await;
    answers.reresolves.store(true, std::sync::atomic::Ordering::Relaxed);
    ignoring.store(true, std::sync::atomic::Ordering::Relaxed);
    let asked = world.names.asked("db.test");
    session.refresh_topology().await.unwrap();
    cluster.node(0).reset_connections();
    sleep(SECOND / 2).await;
    assert!(world.names.asked("db.test") > asked, "the contact point was tried");
    ignoring.store(false, std::sync::atomic::Ordering::Relaxed);
    sleep(5 * SECOND).await;
    assert_eq!(control_nodes(&cluster).len(), 1, "adopted once it is wanted again");
}

/// connect 126: before the policy knows anybody, each contact point is tried once, in its order.
/// scenario S20: nothing stands twice in the first plan.
/// reviewer 53: and nothing is lost from it.
#[tokio::test(start_paused = true)]
async fn the_first_plan() {
    let world = World::new();
    let (one, two) = (world.network.refused(), world.network.refused());
    let builder = world.builder().contact_addr(one).contact_addr(two);
    let error = builder.build().await.unwrap_err();
    let named: Vec<_> = error.contact_points().iter().map(|failed| failed.name.clone()).collect();
    assert_eq!(named, ["db.test:9042".to_owned(), one.to_string(), two.to_string()]);
    assert_eq!((world.dials.take(), world.names.asked("db.test")), (vec![one, two], 1));
}

/// connect 129: composing a plan looks nothing up: a name that panics is asked only when its turn comes.
#[tokio::test(start_paused = true)]
async fn composing_looks_nothing_up() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let asked = world.names.asked("db.test");
    world.names.answer("db.test", NameAnswer::PanicAtOnce);
    cluster.node(0).kill().await;
    cluster.node(1).wait_for(SOON, |seen| seen.iter().any(|one| one.count(Stage::Register) > 0)).await.unwrap();
    assert_eq!(world.names.asked("db.test"), asked, "a node let us in before");
    // With nobody else left it is asked, and its panic costs that entry alone.
    cluster.node(1).kill().await;
    sleep(3 * SECOND).await;
    assert!(world.names.asked("db.test") > asked);
    cluster.node(1).start();
    cluster.node(1).wait_for(SOON, |seen| seen.iter().any(|one| one.is_open())).await.unwrap();
    drop(session);
}

/// connect 133: a control connect that fails says nothing of a node: its pool goes on, and nobody is told it is down.
/// report 37: working pools are left alone.
#[tokio::test(start_paused = true)]
async fn a_failed_entry_leaves_the_node_alone() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let mut events = session.events();
    // Only the control connection is cut: at its next read of the peers.
    cluster.node(0).fault(Stage::Peers, Fault::Close.times(1));
    refuse_all(&cluster);
    session.refresh_topology().await.unwrap_err();
    sleep(10 * SECOND).await;
    assert_eq!(control_nodes(&cluster), Vec::<SocketAddr>::new());
    assert_eq!(cluster.log().now().open(), 2, "both pools are open");
    let down = told(&mut events);
    assert!(!down.iter().any(|event| matches!(event, SessionEvent::NodeDown { .. })), "{down:?}");
    cluster.clear_faults();
    settled(&cluster).await;
    settle().await;
}

/// reviewer 59: what rounds in vain ask of a node is not counted among its heartbeats, which go on at their own pace.
#[tokio::test(start_paused = true)]
async fn rounds_are_no_heartbeats() {
    let world = World::new();
    let cluster = world.cluster().start().await.unwrap();
    world.lead(cluster.addrs());
    let session = world.builder().heartbeat(10 * SECOND, 2 * SECOND).build().await.unwrap();
    settled(&cluster).await;
    // The pool has its connection, and no control connection comes about any more.
    let node = cluster.node(0);
    node.fault(Stage::Register, Fault::error(0, "not here"));
    node.fault(Stage::Peers, Fault::Close.times(1));
    session.refresh_topology().await.unwrap_err();
    let before = [Stage::Options, Stage::Heartbeat].map(|stage| node.count(stage));
    sleep(60 * SECOND).await;
    let [options, heartbeats] = [Stage::Options, Stage::Heartbeat].map(|stage| node.count(stage));
    assert!(options - before[0] >= 40, "{} rounds", options - before[0]);
    assert!((5..=6).contains(&(heartbeats - before[1])), "{} heartbeats", heartbeats - before[1]);
    assert_eq!(node.connections().iter().filter(|one| one.is_open()).count(), 1);
    drop(session);
}

/// connect D26: back-offs begin anew when the control connection is back: a node that waits for a minute is there soon.
#[tokio::test(start_paused = true)]
async fn back_offs_are_reset() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    let session = world.session(&cluster).await;
    for node in cluster.nodes() {
        node.kill().await;
    }
    // Long enough for waits of a minute.
    sleep(Duration::from_secs(300)).await;
    cluster.nodes().iter().for_each(messina::testkit::Node::start);
    let back = Instant::now();
    settled(&cluster).await;
    assert!(back.elapsed() < 3 * SECOND, "{:?}", back.elapsed());
    drop(session);
}

/// scenario S23: contact points are no nodes: their exhaustion is one event per round, and no event of a node.
/// connect D21: neither before the first connection nor later.
/// reviewer 61: nobody is told that a contact point is down.
#[tokio::test(start_paused = true)]
async fn contact_points_are_no_nodes() {
    let world = World::new();
    let cluster = world.cluster().start().await.unwrap();
    let session = world.session(&cluster).await;
    let mut events = session.events();
    cluster.node(0).kill().await;
    sleep(5 * SECOND + SECOND / 2).await;
    let events = told(&mut events);
    let own = cluster.node(0).host_id().unwrap();
    let mut rounds = 0;
    for event in &events {
        match event {
            SessionEvent::ContactPointFailed { name, attempts, .. } => {
                assert_eq!((&**name, attempts.len()), ("db.test:9042", 1));
                rounds += 1;
            }
            SessionEvent::NodeUp { host_id } | SessionEvent::NodeDown { host_id } => assert_eq!(*host_id, own),
            SessionEvent::ControlLost { host_id } => assert_eq!(*host_id, own),
            other => panic!("{other}"),
        }
    }
    assert!((5..=6).contains(&rounds), "{rounds} rounds in five seconds: {events:?}");
}

/// driver.md 7.12: sessions do not meet at one node: each has an order of its own among equals.
#[tokio::test(start_paused = true)]
async fn sessions_spread() {
    let world = World::new();
    let cluster = world.cluster().nodes(4).start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let mut sessions = Vec::new();
    for _ in 0..40 {
        sessions.push(world.builder().build().await.unwrap());
    }
    cluster.wait_for(SOON, |seen| seen.open() == 40 * 5).await.unwrap();
    cluster.node(0).kill().await;
    sleep(3 * SECOND).await;
    let control = control_nodes(&cluster);
    assert_eq!(control.len(), 40);
    for node in &cluster.nodes()[1..] {
        let here = control.iter().filter(|addr| **addr == node.addr()).count();
        assert!((1..=35).contains(&here), "{here} of 40 at {}", node.addr());
    }
}
