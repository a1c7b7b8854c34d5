//! What becomes of requests in flight when their connection is not wanted any more.

use std::time::Duration;

use messina::{
    Session, Statement,
    error::Kind,
    testkit::{Answer, Fault, Push, Stage, rows},
};
use tokio::{task::JoinHandle, time::Instant};

use crate::support::{QUERY, SECOND, SOON, World, settle};

type Outcome = JoinHandle<(Result<(), messina::Error>, Duration)>;

/// A request that runs by itself.
fn ask(session: &Session, limit: Duration) -> Outcome {
    let session = session.clone();
    tokio::spawn(async move {
        let started = Instant::now();
        let statement = Statement::new(QUERY).with_timeout(limit);
        let result = session.execute(&statement, ()).await;
        (result.map(drop), started.elapsed())
    })
}

/// Two nodes, of which the second answers late, and one request on each.
async fn late(latency: Duration, limit: Duration) -> (World, Session, Vec<Outcome>) {
    let world = World::of(2).await;
    world.cluster.prime_with(QUERY, move |request| {
        let answer = Answer::from(rows!["id int"; (1,)]);
        if request.node == 1 { answer.delayed(latency) } else { answer.delayed(SECOND / 2) }
    });
    let session = world.builder().build().await.unwrap();
    world.open(3).await;
    let requests = (0..2).map(|_| ask(&session, limit)).collect();
    settle().await;
    assert_eq!(world.node(1).count(Stage::Query), 1);
    (world, session, requests)
}

async fn remove(world: &World, index: usize) {
    world.node(index).set(|facts| facts.listed = false);
    world.node(0).push(&Push::topology("REMOVED_NODE", world.node(index).addr()));
}

/// driver 7.20: a node is removed: what is in flight on it is answered, nothing more is sent there, then its connections
/// are closed.
#[tokio::test(start_paused = true)]
async fn a_removed_node_finishes() {
    let (world, session, requests) = late(5 * SECOND, 10 * SECOND).await;
    remove(&world, 1).await;
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(session.nodes().len(), 1);
    for _ in 0..10 {
        session.execute(QUERY, ()).await.unwrap();
    }
    assert_eq!(world.node(1).count(Stage::Query), 1);
    for request in requests {
        request.await.unwrap().0.unwrap();
    }
    settle().await;
    assert!(world.node(1).connections().iter().all(|one| !one.is_open()));
    drop(session);
}

/// driver 7.20: draining has a limit, that of a request; what is still in flight then is cut.
#[tokio::test(start_paused = true)]
async fn a_removed_node_does_not_drain_for_ever() {
    let (world, session, requests) = late(100 * SECOND, 60 * SECOND).await;
    remove(&world, 1).await;
    let mut longest = Duration::ZERO;
    for request in requests {
        let (result, took) = request.await.unwrap();
        longest = longest.max(took);
        if took > SECOND {
            assert_eq!(result.unwrap_err().kind(), Kind::Connection);
        }
    }
    assert!(longest > 10 * SECOND && longest < 13 * SECOND, "{longest:?}");
    assert!(world.node(1).connections().iter().all(|one| !one.is_open()));
    drop(session);
}

/// report 22: a removed node is not connected to any more, even if that was about to happen.
#[tokio::test(start_paused = true)]
async fn a_removed_node_is_left_alone() {
    let world = World::of(2).await;
    let session = world.builder().build().await.unwrap();
    world.open(3).await;
    world.node(1).kill().await;
    tokio::time::sleep(20 * SECOND).await;
    remove(&world, 1).await;
    tokio::time::sleep(3 * SECOND).await;
    let dials = world.network.dials(world.node(1).addr());
    world.node(1).start();
    tokio::time::sleep(120 * SECOND).await;
    assert_eq!(world.network.dials(world.node(1).addr()), dials);
    drop(session);
}

/// driver 7.20: a session that closes lets requests finish within the limit, and tells how many it cut; those are told that
/// the session was closed. Connections of a removed node count too.
#[tokio::test(start_paused = true)]
async fn close_tells_what_was_cut() {
    let (world, session, requests) = late(100 * SECOND, 60 * SECOND).await;
    remove(&world, 1).await;
    tokio::time::sleep(2 * SECOND).await;
    world.cluster.prime(QUERY, Answer::from(rows!["id int"; (1,)]).delayed(2 * SECOND));
    let quick = ask(&session, 60 * SECOND);
    settle().await;
    world.cluster.fault(Stage::Query, Fault::Silence);
    settle().await;
    let never = ask(&session, 60 * SECOND);
    settle().await;
    let started = Instant::now();
    let closed = session.close_within(5 * SECOND).await;
    assert_eq!((closed.cut, started.elapsed()), (2, 5 * SECOND), "one on each node");
    assert!(session.nodes().is_empty() && session.is_closed());
    quick.await.unwrap().0.unwrap();
    let mut cut = vec![never];
    cut.extend(requests);
    let mut kinds = Vec::new();
    for request in cut {
        if let (Err(error), _) = request.await.unwrap() {
            kinds.push(error.kind());
        }
    }
    assert_eq!(kinds, [Kind::Closed, Kind::Closed]);
    world.all_closed().await;
}

/// driver 7.20: an idle session closes at once, and opens nothing more.
#[tokio::test(start_paused = true)]
async fn close_while_a_connect_is_under_way() {
    let world = World::of(2).await;
    let session = world.builder().connections_per_node(2, 1).build().await.unwrap();
    world.open(5).await;
    world.node(1).kill().await;
    world.node(1).fault(Stage::Options, Fault::Silence);
    world.node(1).start();
    tokio::time::sleep(3 * SECOND).await;
    let started = Instant::now();
    let closed = session.close().await;
    assert_eq!((closed.connections, closed.cut, started.elapsed()), (2, 0, Duration::ZERO));
    world.all_closed().await;
    let dials = world.network.dialled().len();
    tokio::time::sleep(120 * SECOND).await;
    assert_eq!(world.network.dialled().len(), dials);
    let error = session.execute(QUERY, ()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Closed);
}

/// surface 1: a request that waits for a connection is told at once that the session was closed.
#[tokio::test(start_paused = true)]
async fn close_while_a_request_waits_for_a_connection() {
    let world = World::of(1).await;
    let session = world.builder().build().await.unwrap();
    world.open(2).await;
    tokio::time::sleep(2 * SECOND).await;
    world.node(0).fault(Stage::Options, Fault::Silence);
    world.node(0).fault(Stage::Query, Fault::Close.times(1));
    session.execute(QUERY, ()).await.unwrap_err();
    let waiting = ask(&session, 60 * SECOND);
    settle().await;
    assert!(!waiting.is_finished());
    session.close().await;
    let (result, took) = tokio::time::timeout(SOON, waiting).await.unwrap().unwrap();
    assert_eq!(result.unwrap_err().kind(), Kind::Closed);
    assert!(took < SECOND, "{took:?}");
}

/// driver 7.20: dropping a session leaves what is in flight to finish, and closes everything then.
#[tokio::test(start_paused = true)]
async fn dropped_with_requests_in_flight() {
    let (world, session, requests) = late(3 * SECOND, 10 * SECOND).await;
    drop(session);
    for request in requests {
        request.await.unwrap().0.unwrap();
    }
    world.all_closed().await;
}

/// report 56: one node that does not answer PREPARE holds up no more than the time of the request.
#[tokio::test(start_paused = true)]
async fn a_node_that_does_not_prepare() {
    let world = World::of(3).await;
    let text = "SELECT id FROM ks.t WHERE id = ?";
    world.cluster.prime(messina::testkit::Prime::new(text).params("id int"), rows!["id int"; (1,)]);
    let session = world.builder().build().await.unwrap();
    world.open(4).await;
    world.node(1).fault(Stage::Prepare, Fault::Silence);
    let started = Instant::now();
    let statement = Statement::new(text).with_timeout(2 * SECOND);
    let mut late = 0;
    for key in 0..9 {
        late += usize::from(session.execute(statement.clone(), (key,)).await.is_err());
    }
    assert!(late <= 1 && started.elapsed() <= 2 * SECOND * 2, "{late}, {:?}", started.elapsed());
    drop(session);
}
