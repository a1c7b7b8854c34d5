//! Which node a request goes to.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use messina::{
    Session, Statement,
    error::Kind,
    testkit::{Answer, ConnectionLog, Fault, Stage, rows},
};
use tokio::time::Instant;

use crate::support::{QUERY, SECOND, World, settle};

/// One request each `every`, for `length`; how long each took.
async fn steadily(session: &Session, every: Duration, length: Duration) -> Vec<Duration> {
    let statement = Statement::new(QUERY).with_idempotence(true);
    let until = Instant::now() + length;
    let mut requests = Vec::new();
    while Instant::now() < until {
        let (session, statement) = (session.clone(), statement.clone());
        requests.push(tokio::spawn(async move {
            let started = Instant::now();
            let _ = session.execute(&statement, ()).await;
            started.elapsed()
        }));
        tokio::time::sleep(every).await;
    }
    let mut took = Vec::new();
    for request in requests {
        took.push(request.await.unwrap());
    }
    took
}

async fn three_nodes(latency: Duration) -> (World, Session) {
    let world = World::of(3).await;
    world.cluster.prime(QUERY, Answer::from(rows!["id int"; (1,)]).delayed(latency));
    let session = world.builder().build().await.unwrap();
    world.open(4).await;
    (world, session)
}

/// driver 7.12: a node that freezes loses its traffic at once: of 4,000 requests in twenty seconds at most two are slow.
#[tokio::test(start_paused = true)]
async fn a_frozen_node_loses_its_traffic() {
    let (world, session) = three_nodes(Duration::from_millis(3)).await;
    steadily(&session, Duration::from_millis(5), SECOND).await;
    world.node(1).freeze();
    let before = world.node(1).count(Stage::Query);
    let took = steadily(&session, Duration::from_millis(5), 20 * SECOND).await;
    let slow = took.iter().filter(|took| **took > SECOND).count();
    assert!(took.len() >= 3_900 && slow <= 2, "{slow} of {} were slow", took.len());
    // It comes back, and gets its share again.
    world.node(1).start();
    tokio::time::sleep(70 * SECOND).await;
    steadily(&session, Duration::from_millis(5), 3 * SECOND).await;
    let share = world.node(1).count(Stage::Query) - before;
    assert!(share > 100, "{share}");
    drop(session);
}

/// driver 7.12: so it does under load, when it has no more requests in flight than others.
#[tokio::test(start_paused = true)]
async fn a_frozen_node_loses_its_traffic_under_load() {
    let (world, session) = three_nodes(Duration::from_millis(20)).await;
    steadily(&session, Duration::from_millis(1), SECOND).await;
    world.node(1).freeze();
    let took = steadily(&session, Duration::from_millis(1), 5 * SECOND).await;
    let slow = took.iter().filter(|took| **took > SECOND).count();
    assert!(took.len() >= 4_900 && slow <= 25, "{slow} of {} were slow", took.len());
    drop(session);
}

/// driver 7.12: so it does while the others stall with what they are asked, since they wait for the frozen one.
#[tokio::test(start_paused = true)]
async fn a_frozen_node_loses_its_traffic_though_others_stall() {
    for (every, stall) in [(2, 20), (2, 150), (1, 60), (1, 450)] {
        let (world, session) = three_nodes(Duration::from_millis(3)).await;
        steadily(&session, Duration::from_millis(5), SECOND).await;
        world.node(1).freeze();
        let seen = AtomicUsize::new(0);
        world.cluster.prime_with(QUERY, move |_| {
            let stalls = seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(every);
            let latency = if stalls { stall } else { 3 };
            Answer::from(rows!["id int"; (1,)]).delayed(Duration::from_millis(latency))
        });
        let took = steadily(&session, Duration::from_millis(5), 2 * SECOND).await;
        let slow = took.iter().filter(|took| **took > SECOND).count();
        assert!(took.len() >= 390 && slow <= 2, "{slow} of {} were slow, one of {every} for {stall} ms", took.len());
        drop(session);
    }
}

/// driver 7.12: the only node there is is asked whether it lives as well, long before its next heartbeat.
#[tokio::test(start_paused = true)]
async fn the_only_node_is_asked() {
    let world = World::of(1).await;
    world.cluster.prime(QUERY, rows!["id int"; (1,)]);
    let session = world.builder().build().await.unwrap();
    world.node(0).freeze();
    let hanging = tokio::spawn({
        let session = session.clone();
        async move { session.execute(QUERY, ()).await.map(drop) }
    });
    tokio::time::sleep(SECOND).await;
    let begun = Instant::now();
    let second = session.execute(&Statement::new(QUERY).with_timeout(60 * SECOND), ()).await;
    assert!(begun.elapsed() < 6 * SECOND, "{:?} {second:?}", begun.elapsed());
    assert!(matches!(hanging.await.unwrap().unwrap_err().kind(), Kind::Connection));
}

/// driver 7.12: a node that is merely slower than the others gets less, not nothing.
#[tokio::test(start_paused = true)]
async fn a_slow_node_gets_less() {
    let (world, session) = three_nodes(Duration::from_millis(2)).await;
    world.cluster.prime_with(QUERY, |request| {
        let latency = if request.node == 1 { 20 } else { 2 };
        Answer::from(rows!["id int"; (1,)]).delayed(Duration::from_millis(latency))
    });
    steadily(&session, Duration::from_millis(1), 5 * SECOND).await;
    let counts = [0, 1, 2].map(|index| world.node(index).count(Stage::Query));
    assert!(counts[1] > 50 && counts[1] < counts[0].min(counts[2]) / 2, "{counts:?}");
    drop(session);
}

/// driver 7.12: how long a node has been silent weighs, long before it is asked whether it lives: one that has a single
/// request in flight and has not answered for fifteen milliseconds gets none of a few more, though it has the fewest.
#[tokio::test(start_paused = true)]
async fn silence_weighs() {
    let world = World::of(2).await;
    world.cluster.prime(QUERY, Answer::from(rows!["id int"; (1,)]).delayed(10 * SECOND));
    let session = world.builder().build().await.unwrap();
    world.open(3).await;
    let ask = || {
        let session = session.clone();
        tokio::spawn(
            async move { session.execute(&Statement::new(QUERY).with_timeout(60 * SECOND), ()).await.map(drop) },
        )
    };
    let asked = |index: usize| world.node(index).count(Stage::Query);
    let mut requests = vec![ask()];
    settle().await;
    let silent = (0..2).find(|index| asked(*index) == 1).unwrap();
    tokio::time::sleep(Duration::from_millis(14)).await;
    requests.extend((0..5).map(|_| ask()));
    settle().await;
    assert_eq!((asked(silent), asked(1 - silent)), (1, 5));
    // It answers: what is in flight counts again.
    for request in requests {
        request.await.unwrap().unwrap();
    }
    requests = (0..50).map(|_| ask()).collect();
    settle().await;
    let share = asked(silent) - 1;
    assert!((20..=30).contains(&share), "{share} of 50");
    for request in requests {
        request.await.unwrap().unwrap();
    }
    drop(session);
}

/// surface 1: idle nodes share requests evenly.
#[tokio::test(start_paused = true)]
async fn idle_nodes_share() {
    let (world, session) = three_nodes(Duration::ZERO).await;
    for _ in 0..300 {
        session.execute(QUERY, ()).await.unwrap();
    }
    settle().await;
    let counts = [0, 1, 2].map(|index| world.node(index).count(Stage::Query));
    assert!(counts.iter().all(|count| (90..=110).contains(count)), "{counts:?}");
    drop(session);
}

/// driver 7.12: a node that is silent because all that it has to do is long answers when it is asked, and gets its share;
/// one that does not answer loses its connections, and what was on them is answered elsewhere.
#[tokio::test(start_paused = true)]
async fn a_silent_node_is_asked() {
    let (world, session) = three_nodes(Duration::from_millis(20)).await;
    let long = "SELECT long FROM ks.t";
    world.cluster.prime(long, Answer::from(rows!["id int"; (1,)]).delayed(30 * SECOND));
    let asked = tokio::spawn({
        let session = session.clone();
        async move { session.execute(&Statement::new(long).with_timeout(60 * SECOND), ()).await.map(drop) }
    });
    settle().await;
    let busy = (0..3).find(|index| world.node(*index).count(Stage::Query) == 1).unwrap();
    // Nothing comes there while others have nothing to do; by then it has been silent for long.
    steadily(&session, Duration::from_millis(100), 5 * SECOND).await;
    let before = world.node(busy).count(Stage::Query);
    steadily(&session, Duration::from_millis(1), 3 * SECOND).await;
    let share = world.node(busy).count(Stage::Query) - before;
    assert!(share > 500, "{share} of 3000");
    asked.await.unwrap().unwrap();

    world.node(1).freeze();
    let took = steadily(&session, Duration::from_millis(5), 20 * SECOND).await;
    let longest = took.iter().max().unwrap();
    assert!(*longest < 7 * SECOND, "{longest:?}");
    drop(session);
}

/// So many requests at once; how many of them each node got.
async fn at_once(world: &World, session: &Session, requests: usize) -> [usize; 3] {
    let before = [0, 1, 2].map(|index| world.node(index).count(Stage::Query));
    let requests: Vec<_> = (0..requests)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.execute(QUERY, ()).await.map(drop) })
        })
        .collect();
    for request in requests {
        request.await.unwrap().unwrap();
    }
    [0, 1, 2].map(|index| world.node(index).count(Stage::Query) - before[index])
}

/// driver 7.12: a node that had nothing to do was not silent: what is sent to it beside requests, the next page of a
/// result, or a heartbeat, waits from then on, and takes it no requests away.
#[tokio::test(start_paused = true)]
async fn idle_is_not_silent() {
    let (world, session) = three_nodes(Duration::from_millis(3)).await;
    let even = |counts: [usize; 3]| assert!(counts.iter().all(|count| (8..=12).contains(count)), "{counts:?}");
    // All nodes are told of a statement that one has prepared.
    let idle = async || tokio::time::sleep(5 * SECOND).await;
    idle().await;
    world.cluster.fault(Stage::Prepare, Fault::Delay(Duration::from_millis(10)));
    session.prepare(QUERY).await.unwrap();
    even(at_once(&world, &session, 30).await);

    let pages = "SELECT many FROM ks.t";
    world.cluster.prime(pages, rows!["id int"; (1,), (2,), (3,)]);
    let result = session.execute(&Statement::new(pages).with_page_size(1), ()).await.unwrap();
    idle().await;
    let mut next = Box::pin(result.next_page());
    assert!(futures_util::poll!(next.as_mut()).is_pending());
    even(at_once(&world, &session, 30).await);
    assert!(next.await.unwrap().is_some());

    world.node(1).fault(Stage::Heartbeat, Fault::Delay(Duration::from_millis(10)));
    let heartbeats = world.node(1).count(Stage::Heartbeat);
    tokio::time::sleep(30 * SECOND - Duration::from_millis(100)).await;
    let sent = |log: &[&ConnectionLog]| log.iter().map(|one| one.count(Stage::Heartbeat)).sum::<usize>() > heartbeats;
    world.node(1).wait_for(SECOND, sent).await.unwrap();
    even(at_once(&world, &session, 30).await);
}

/// driver 7.12: an answer that has come, and that nobody takes, is no silence either.
#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_takes() {
    let (world, session) = three_nodes(Duration::from_millis(3)).await;
    let mut kept = Box::pin(session.execute(QUERY, ()));
    assert!(futures_util::poll!(kept.as_mut()).is_pending());
    tokio::time::sleep(5 * SECOND).await;
    let asked = [0, 1, 2].map(|index| world.node(index).count(Stage::Heartbeat));
    let counts = at_once(&world, &session, 30).await;
    assert!(counts.iter().all(|count| (8..=12).contains(count)), "{counts:?}");
    assert_eq!(
        [0, 1, 2].map(|index| world.node(index).count(Stage::Heartbeat)),
        asked,
        "nobody was asked whether it lives"
    );
    kept.await.unwrap();
}
