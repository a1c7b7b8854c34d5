//! A reconnect that is asked for: the old connection stays until there is a new one, and there is only one.

use futures_util::future::join_all;
use messina::{
    error::Kind,
    testkit::{ConnectionLog, Fault, Push, Stage},
    topology::SessionEvent,
};
use tokio::time::sleep;

use crate::support::{SECOND, SOON, World, control_nodes, settle, settled, told};

/// reviewer 47: the old connection is forgotten first and closed second, after the new one is up.
/// connect 134: the next one is chosen by the plan.
#[tokio::test(start_paused = true)]
async fn the_old_one_closes_after_the_new_one_is_up() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let mut events = session.events();
    let old = cluster.log().connections().iter().position(|one| one.count(Stage::Register) > 0).unwrap();
    session.reconnect_control().await.unwrap();
    settle().await;
    let connections = cluster.log().connections();
    let new = connections.iter().rposition(|one| one.count(Stage::Register) > 0).unwrap();
    assert_ne!(old, new);
    assert!(!connections[old].is_open() && connections[new].is_open());
    let ended = connections[old].events().last().unwrap().order;
    let read = connections[new].events().iter().filter(|event| event.order < ended).count();
    assert!(read > 4, "it had told its nodes before the old one closed");
    let told: Vec<_> = told(&mut events).iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "one is up, and nothing was lost: {told:?}");
}

/// connect 78: many at once, and during a loss: at most one control connection is ever accepted.
/// reviewer 45: chains that overlap cannot mix whom they lead to.
#[tokio::test(start_paused = true)]
async fn at_most_one_is_accepted() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    let session = world.session(&cluster).await;
    let mut events = session.events();
    for node in cluster.nodes() {
        node.fault(Stage::Options, Fault::Delay(SECOND / 4));
    }
    let asked = join_all((0..8).map(|_| session.reconnect_control()));
    let lost = async {
        sleep(SECOND / 8).await;
        cluster.nodes().iter().for_each(messina::testkit::Node::reset_connections);
    };
    // The old one is closed at the moment at which the new one has told its nodes.
    let accepted = || {
        let open = |one: &&ConnectionLog| one.is_open() && one.count(Stage::Peers) > 0;
        cluster.log().look(|seen| seen.connections().iter().filter(open).count())
    };
    let watched = async {
        let mut most = 0;
        for _ in 0..3000 {
            sleep(SECOND / 1000).await;
            most = accepted().max(most);
        }
        most
    };
    let (answers, (), most) = tokio::join!(asked, lost, watched);
    assert!(answers.iter().any(Result::is_ok));
    assert_eq!(most, 1, "at any time");
    cluster.clear_faults();
    settled(&cluster).await;
    assert_eq!(control_nodes(&cluster).len(), 1);
    // Each accepted one says who it leads to, and that is who told the snapshot of the moment.
    let mut connected = Vec::new();
    for event in told(&mut events) {
        if let SessionEvent::ControlConnected { host_id, addr } = event {
            let node = cluster.nodes().iter().find(|node| node.addr() == addr).unwrap();
            assert_eq!(node.host_id(), Some(host_id));
            connected.push((host_id, addr));
        }
    }
    let told_by = session.topology().told().unwrap();
    assert_eq!(connected.last(), Some(&(told_by.host_id, told_by.addr)));
    assert_eq!(control_nodes(&cluster), [told_by.addr]);
}

/// connect 134: nobody else is there: the old connection stays, and the answer says what was tried.
#[tokio::test(start_paused = true)]
async fn nobody_else_is_there() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let before = control_nodes(&cluster);
    cluster.fault(Stage::Tcp, Fault::Refuse);
    let error = session.reconnect_control().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
    assert_eq!(error.contact_points().len(), 3, "two nodes and the name: {error}");
    settle().await;
    assert_eq!(control_nodes(&cluster), before);
    assert_eq!(cluster.log().now().open(), 3);
    session.refresh_topology().await.unwrap();
}

/// connect 124: a search in vain loses nothing that was heard before it: the read that was due comes.
#[tokio::test(start_paused = true)]
async fn what_was_heard_before_is_not_forgotten() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).node(1, |facts| facts.listed = false).start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    let session = world.builder().build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    cluster.node(1).set(|facts| facts.listed = true);
    cluster.node(0).push(&Push::topology("NEW_NODE", cluster.node(1).addr()));
    settle().await;
    cluster.node(0).fault(Stage::Tcp, Fault::Refuse);
    session.reconnect_control().await.unwrap_err();
    assert_eq!(session.topology().nodes().len(), 1);
    sleep(2 * SECOND).await;
    assert_eq!(session.topology().nodes().len(), 2);
}

/// A closed session answers at once; one without a control connection waits for at most the request timeout.
#[tokio::test(start_paused = true)]
async fn asked_in_vain() {
    let world = World::new();
    let cluster = world.cluster().start().await.unwrap();
    let session = world.session(&cluster).await;
    cluster.node(0).kill().await;
    settle().await;
    let (refreshed, started) = (session.refresh_topology().await, tokio::time::Instant::now());
    assert!(refreshed.unwrap_err().is_timeout());
    assert!(started.elapsed() <= SOON);
    let again = tokio::spawn({
        let session = session.clone();
        async move { session.refresh_topology().await }
    });
    settle().await;
    cluster.node(0).start();
    let snapshot = again.await.unwrap().unwrap();
    assert_eq!(snapshot.nodes().len(), 1);
    session.close().await;
    for asked in [session.refresh_topology().await, session.reconnect_control().await] {
        assert_eq!(asked.unwrap_err().kind(), Kind::Closed);
    }
    assert_eq!(session.await_schema_agreement().await.unwrap_err().kind(), Kind::Closed);
}
