//! Nothing waits for ever: timeouts, saturation, requests that are given up.

use std::time::Duration;

use futures_util::FutureExt;
use messina::error::Kind;
use messina::testkit::{Answer, Fault, Prime, Stage, rows};
use messina::{Session, Statement};
use tokio::time::Instant;

use crate::support::{Nodes, SECOND, error, settle, start, start_with};

const SELECT: &str = "SELECT id FROM ks.t";

async fn one_row(nodes: usize) -> (Nodes, Session) {
    let (cluster, session) = start(nodes).await;
    cluster.prime(SELECT, rows!["id int"; (1,)]);
    (cluster, session)
}

/// A session of at most `requests` requests on its one connection.
async fn narrow(requests: usize) -> (Nodes, Session) {
    let (cluster, session) =
        start_with(|cluster| cluster, |session| session.requests_per_connection(requests, 0)).await;
    cluster.prime(SELECT, Answer::from(rows!["id int"; (1,)]).delayed(SECOND));
    (cluster, session)
}

/// surface 1: without an answer a request ends after 10 s, or what session or statement say, and tells where it was.
#[tokio::test(start_paused = true)]
async fn a_timeout() {
    let (cluster, session) = one_row(1).await;
    cluster.fault(Stage::Query, Fault::Silence);
    for (statement, limit) in
        [(Statement::new(SELECT), SECOND * 10), (Statement::new(SELECT).with_timeout(SECOND / 4), SECOND / 4)]
    {
        let start = Instant::now();
        let late = error(session.execute(statement, ()).await);
        assert_eq!(start.elapsed(), limit);
        assert!(late.is_timeout());
        let [tried] = late.tries() else { panic!("{late}") };
        assert_eq!((tried.addr, tried.elapsed), (cluster.node(0).addr(), limit));
        assert!(late.to_string().starts_with(&format!("no answer within {limit:?} (")), "{late}");
    }
}

/// surface 1: a timeout of zero is named as what it is.
#[tokio::test(start_paused = true)]
async fn a_timeout_of_zero() {
    let (_cluster, session) = one_row(1).await;
    let late = error(session.execute(Statement::new(SELECT).with_timeout(Duration::ZERO), ()).await);
    assert_eq!(late.kind(), Kind::Timeout);
    assert!(late.to_string().starts_with("the timeout is zero, within which nothing is answered"), "{late}");
}

/// surface 1: the limit is over all tries together.
#[tokio::test(start_paused = true)]
async fn one_limit_for_all_tries() {
    let (cluster, session) = one_row(3).await;
    cluster.prime(SELECT, Answer::error(0x1002, "joining").delayed(SECOND * 2));
    let start = Instant::now();
    let late = error(session.execute(Statement::new(SELECT).with_timeout(SECOND * 5), ()).await);
    assert_eq!(start.elapsed(), SECOND * 5);
    assert_eq!((late.kind(), late.tries().len()), (Kind::Timeout, 3));
    assert_eq!(late.tries()[2].elapsed, SECOND);
}

/// surface 1: preparing and executing have one limit together.
#[tokio::test(start_paused = true)]
async fn one_limit_with_preparing() {
    let (cluster, session) = start(1).await;
    let text = "SELECT id FROM ks.t WHERE id = ?";
    cluster.prime(Prime::new(text).params("id int"), Answer::from(rows!["id int"; (1,)]).delayed(SECOND * 4));
    cluster.fault(Stage::Prepare, Fault::Delay(SECOND * 4));
    let start = Instant::now();
    let late = error(session.execute(Statement::new(text).with_timeout(SECOND * 5), (1,)).await);
    assert_eq!((start.elapsed(), late.kind()), (SECOND * 5, Kind::Timeout));
}

/// surface 1: a limit beyond every clock is no limit.
#[tokio::test(start_paused = true)]
async fn a_limit_beyond_every_clock() {
    let (_cluster, session) = one_row(1).await;
    session.execute(Statement::new(SELECT).with_timeout(Duration::MAX), ()).await.unwrap();
}

/// design 4.1: when every connection is saturated a request waits for room, first come first served.
#[tokio::test(start_paused = true)]
async fn saturated_waits_in_order() {
    let (_cluster, session) = narrow(2).await;
    let start = Instant::now();
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move {
                session.execute(SELECT, ()).await.unwrap();
                start.elapsed()
            })
        })
        .collect();
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(task.await.unwrap().as_secs());
    }
    assert_eq!(ended, [1, 1, 2, 2, 3, 3]);
}

/// design 4.1: waiting for room ends with the request's time, and says so.
#[tokio::test(start_paused = true)]
async fn saturated_until_the_time_is_up() {
    let (cluster, session) = narrow(1).await;
    cluster.fault(Stage::Query, Fault::Silence);
    let first = session.execute(Statement::new(SELECT).with_timeout(SECOND * 20), ());
    let mut first = Box::pin(first);
    assert!(first.as_mut().now_or_never().is_none());
    let start = Instant::now();
    let late = error(session.execute(Statement::new(SELECT).with_timeout(SECOND), ()).await);
    assert_eq!((start.elapsed(), late.kind()), (SECOND, Kind::Timeout));
    assert!(late.to_string().starts_with("no connection had room for the request within 1s"), "{late}");
    assert_eq!(late.tries().len(), 1);
}

/// design 4.1: a saturated node is passed over while another has room.
#[tokio::test(start_paused = true)]
async fn a_saturated_node_is_passed_over() {
    let (cluster, session) =
        start_with(|cluster| cluster.nodes(2), |session| session.requests_per_connection(1, 0)).await;
    cluster.prime_with(SELECT, |request| {
        let answer = Answer::from(rows!["id int"; (1,)]);
        if request.node == 0 { answer.delayed(SECOND * 5) } else { answer }
    });
    // One of the first two is held up by the slow node.
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut request = Box::pin(session.execute(SELECT, ()));
        if tokio::time::timeout(SECOND, &mut request).await.is_err() {
            held.push(request);
        }
    }
    assert_eq!(held.len(), 1);
    for _ in 0..4 {
        let start = Instant::now();
        session.execute(SELECT, ()).await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}

/// design 4.1: whoever waits for room is told when the last connection ends.
#[tokio::test(start_paused = true)]
async fn the_connection_ends_while_one_waits_for_room() {
    let (cluster, session) = narrow(1).await;
    cluster.fault(Stage::Query, Fault::Silence);
    let mut first = Box::pin(session.execute(SELECT, ()));
    assert!(first.as_mut().now_or_never().is_none());
    let waiting = tokio::spawn({
        let session = session.clone();
        async move { session.execute(SELECT, ()).await }
    });
    settle().await;
    cluster.node(0).kill().await;
    let wrong = error(waiting.await.unwrap());
    assert_eq!(wrong.kind(), Kind::NoConnection);
}

/// surface 1: a request that is dropped is given up; its room is free again once the server has answered.
#[tokio::test(start_paused = true)]
async fn a_dropped_request() {
    let (cluster, session) = start_with(|cluster| cluster, |session| session.requests_per_connection(2, 1)).await;
    cluster.prime(SELECT, Answer::from(rows!["id int"; (1,)]).delayed(SECOND));
    let mut first = Box::pin(session.execute(SELECT, ()));
    assert!(first.as_mut().now_or_never().is_none());
    drop(first);
    let start = Instant::now();
    let run = async || {
        session.execute(SELECT, ()).await.unwrap();
        start.elapsed()
    };
    assert_eq!(tokio::join!(run(), run()), (SECOND, SECOND * 2));
    assert_eq!(cluster.node(0).count(Stage::Query), 3);
}

/// surface 1: nothing is sent before the request is polled.
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_before_it_is_awaited() {
    let (cluster, session) = one_row(1).await;
    let request = session.execute(SELECT, ());
    settle().await;
    assert_eq!(cluster.node(0).count(Stage::Query), 0);
    drop(request);
}
