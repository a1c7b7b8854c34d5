//! Polls over HTTP: what is no list, pace, and the connections they use.

use std::time::Duration;

use messina::{
    alternator::{BalanceOptions, discovery::CycleLimits, http::HttpOptions},
    testkit::http::{HttpCluster, HttpFault, HttpReply, On},
};

use crate::http_support::{builder, call, eventually, listed, ready};

/// alternator 3.8.10: whatever is no list is a failure, within limits, and the list before it stays.
/// alternator A14: a body that is too long, one without an end, a head without an end.
/// alternator 8: a malformed list neither breaks polling nor routing (J 123, 126).
#[tokio::test]
async fn no_lists() {
    let cluster = HttpCluster::start(2).await.unwrap();
    let limits = CycleLimits::default().with_attempt(Duration::from_millis(100));
    let alternator = ready(builder(&cluster, &[0, 1]).poll_limits(limits)).await;
    let reply = |status, body: &str| HttpFault::Reply(HttpReply::new(status, body.to_owned()));
    let faults = [
        HttpFault::Status(503),
        reply(200, "<html>not this</html>"),
        reply(200, "[\"10.0.0.1\", "),
        reply(200, &format!("[{}]", "\"10.0.0.1\",".repeat(1 << 20))),
        reply(302, "[]"),
        HttpFault::Endless(200),
        HttpFault::Endless(503),
        HttpFault::EndlessHead,
        HttpFault::NoBody,
        HttpFault::HalfHead,
        HttpFault::HalfBody,
        HttpFault::Garbage,
        HttpFault::Close,
        HttpFault::Hang,
    ];
    for fault in faults {
        cluster.nodes().iter().for_each(|node| node.fault(On::List, fault.clone()));
        let before = (cluster.node(0).polls(), cluster.node(1).polls());
        alternator.poll_now();
        eventually("both are asked", || cluster.node(0).polls() > before.0 && cluster.node(1).polls() > before.1).await;
        assert_eq!(listed(&alternator, &cluster), [0, 1], "{fault:?}");
        assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200, "{fault:?}");
    }
    cluster.nodes().iter().for_each(|node| node.heal(On::All));
    cluster.unlist(1);
    let polls = cluster.node(0).polls();
    eventually("polls again", || {
        alternator.poll_now();
        cluster.node(0).polls() > polls
    })
    .await;
    eventually("one is left", || listed(&alternator, &cluster) == [0]).await;
}

/// alternator 8: polls use their connection again (C++ 13, ALB 87), after an answer with another status too (J 61, 134, 135,
/// G 133), however many there are.
#[tokio::test]
async fn connections_are_reused() {
    for fault in [None, Some(HttpFault::Status(400)), Some(HttpFault::Status(503))] {
        let cluster = HttpCluster::start(1).await.unwrap();
        if let Some(fault) = fault {
            cluster.node(0).fault(On::List, fault);
        }
        let pace = Duration::from_millis(1);
        let _alternator = builder(&cluster, &[0]).intervals(pace, pace).build().unwrap();
        eventually("100 polls", || cluster.node(0).polls() >= 100).await;
        assert!(cluster.node(0).accepts() <= 3, "{}", cluster.node(0).accepts());
    }
}

/// alternator 8: a hundred requests that are answered 400 share one connection (J 134, 135; R
/// `non_success_connection_reuse`), and so do those that are answered 500.
#[tokio::test]
async fn errors_keep_their_connection() {
    for status in [400, 500] {
        let cluster = HttpCluster::start(1).await.unwrap();
        let alternator =
            ready(builder(&cluster, &[0]).intervals(Duration::from_secs(60), Duration::from_secs(60))).await;
        eventually("the poll and the probe", || cluster.node(0).polls() == 2).await;
        cluster.node(0).fault(On::Requests, HttpFault::Status(status));
        // The first request asks for a poll too.
        assert_eq!(call(&alternator, "PutItem", "{}").await.unwrap().0, status);
        eventually("another poll", || cluster.node(0).polls() == 3).await;
        let before = cluster.node(0).accepts();
        for _ in 0..100 {
            assert_eq!(call(&alternator, "PutItem", "{}").await.unwrap().0, status);
        }
        assert_eq!(cluster.node(0).accepts(), before, "{status}");
    }
}

/// alternator 8: an error whose body never ends does not hold the others back (JS 68).
#[tokio::test]
async fn endless_error() {
    let cluster = HttpCluster::start(2).await.unwrap();
    cluster.node(0).fault(On::List, HttpFault::Endless(503));
    let alternator = builder(&cluster, &[0, 1]).build().unwrap();
    alternator.ready(Duration::from_millis(400)).await.unwrap();
}

/// alternator 3.8.11: idle, a client polls at the idle rate; the first request polls at once; then at the active rate.
/// alternator 8: idle clients do not poll each second (C++ 10, ALB 46, 55-57).
#[tokio::test]
async fn pace() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let polls = || cluster.node(0).polls();
    let alternator =
        builder(&cluster, &[0]).intervals(Duration::from_millis(5), Duration::from_secs(60)).build().unwrap();
    alternator.ready(Duration::from_secs(5)).await.unwrap();
    let after_start = polls();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(polls(), after_start, "idle");
    call(&alternator, "GetItem", "{}").await.unwrap();
    eventually("active", || polls() >= after_start + 5).await;
}

/// alternator 8: clones and their services share one poller (scylla-migrator 185, 286).
#[tokio::test]
async fn one_poller() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let alternator = ready(builder(&cluster, &[0]).intervals(Duration::from_secs(60), Duration::from_secs(60))).await;
    eventually("the poll and the probe", || cluster.node(0).polls() == 2).await;
    for _ in 0..20 {
        call(&alternator.clone(), "GetItem", "{}").await.unwrap();
    }
    assert!(cluster.node(0).polls() <= 3, "{}", cluster.node(0).polls());
}

/// alternator 2.1: no more connections to a node are in use than allowed; who waits for one goes to another node in the end,
/// and nobody is blamed.
#[tokio::test]
async fn capped_connections() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let http = HttpOptions::default().with_max_connections(2);
    let pace = Duration::from_secs(60);
    let alternator = ready(builder(&cluster, &[0]).intervals(pace, pace).http(http)).await;
    eventually("the poll and the probe", || cluster.node(0).polls() == 2).await;
    cluster.node(0).fault(On::Requests, HttpFault::Slow(Duration::from_millis(20)));
    let before = cluster.node(0).open();
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let alternator = alternator.clone();
        workers.spawn(async move {
            assert_eq!(call(&alternator, "PutItem", "{}").await.unwrap().0, 200);
        });
    }
    let mut most = 0;
    while !workers.is_empty() {
        tokio::select! {
            ended = workers.join_next() => ended.unwrap().unwrap(),
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
        most = most.max(cluster.node(0).open());
    }
    assert!(most <= before + 2, "{most} open, {before} before");
    // Both are taken: further ones wait and are never sent.
    cluster.node(0).fault(On::Requests, HttpFault::Hang);
    let limits = |ms| Duration::from_millis(ms);
    let options = BalanceOptions::default()
        .with_timeout(limits(150))
        .with_header_limits(limits(30), limits(30), limits(30))
        .with_max_attempts(1);
    let http = HttpOptions::default().with_max_connections(2);
    let alternator = ready(builder(&cluster, &[0]).intervals(pace, pace).http(http).balance(options)).await;
    let sent = cluster.node(0).requests();
    let put = || call(&alternator, "PutItem", "{}");
    let (one, two, three, four) = tokio::join!(put(), put(), put(), put());
    let errors = [one, two, three, four].map(Result::unwrap_err);
    assert_eq!(errors.iter().filter(|error| error.maybe_done()).count(), 2);
    let waited = errors.iter().filter(|error| error.to_string().contains("became free")).count();
    assert_eq!((waited, cluster.node(0).requests() - sent), (2, 2), "{errors:?}");
    assert_eq!(alternator.status().nodes[0].failures, 2);
}
