//! A client against HTTP nodes, from the seed to the answer.

use std::time::Duration;

use messina::{
    alternator::{
        Alternator, BalanceOptions, RequestError,
        client::{BuildError, Status},
        health::{State, Thresholds},
        scope::{Scope, ScopeChain},
    },
    testkit::http::{HttpCluster, HttpFault, On},
};

use crate::http_support::{builder, call, eventually, ready, requests};

/// alternator A15: a client that knows one seed is ready once a node told the others, and spreads requests over all.
#[tokio::test]
async fn spreads_over_live_nodes() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let alternator = ready(builder(&cluster, &[0])).await;
    for _ in 0..60 {
        assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap(), (200, "{}".to_owned()));
    }
    let requests = requests(&cluster);
    assert!(requests.iter().all(|count| *count > 5), "{requests:?}");
    eventually("all active", || alternator.status().nodes.iter().all(|node| node.state == State::Active)).await;
    assert_eq!(alternator.nodes().len(), 3);
}

/// alternator A7a: a node that answers 503 is left for the next one at once, whatever the operation.
/// alternator A6: for a second it is picked last.
#[tokio::test]
async fn moves_on_from_503() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let alternator = ready(builder(&cluster, &[0, 1, 2])).await;
    cluster.node(1).fault(On::Requests, HttpFault::Status(503));
    for _ in 0..50 {
        assert_eq!(call(&alternator, "UpdateItem", "{}").await.unwrap().0, 200);
    }
    assert!(cluster.node(1).requests() <= 3, "{}", cluster.node(1).requests());
}

/// alternator A7a: a node that refuses the connection is left for the next one at once, whatever the operation.
/// alternator 3.4: after so many failures it takes no requests any more.
/// alternator 8: a node that is down and still listed by its peers (J 136; S 21538, 21540).
#[tokio::test]
async fn moves_on_from_refusal() {
    let cluster = HttpCluster::start(3).await.unwrap();
    cluster.node(1).stop();
    // In a data centre whoever answers first decides, so the dead node stays listed.
    let scope = ScopeChain::only(Scope::data_center("dc1").unwrap());
    let thresholds = Thresholds::default().with_quarantine_failures(1);
    let alternator = ready(builder(&cluster, &[0]).scope(scope).thresholds(thresholds)).await;
    for _ in 0..50 {
        assert_eq!(call(&alternator, "UpdateItem", "{}").await.unwrap().0, 200);
    }
    let dead = cluster.url(1).parse().unwrap();
    let failures = |status: Status| status.nodes.iter().find(|node| node.node == dead).map_or(0, |node| node.failures);
    assert!(failures(alternator.status()) <= 1);
    cluster.node(1).restart();
    let active = || alternator.status().nodes.iter().filter(|node| node.state == State::Active).count();
    eventually("it is back", || {
        alternator.poll_now();
        alternator.probe_now(&dead);
        active() == 3
    })
    .await;
}

/// alternator A7a: 500, 502 and 504 go to the next node where the operation only reads, and to the caller otherwise.
/// alternator 8: a node that answers 500 while it is isolated does not surface where another can answer (S 5802, 7161).
#[tokio::test]
async fn moves_on_from_500() {
    for status in [500, 502, 504] {
        let cluster = HttpCluster::start(3).await.unwrap();
        let alternator = ready(builder(&cluster, &[0, 1, 2])).await;
        cluster.node(2).fault(On::Requests, HttpFault::Status(status));
        for _ in 0..20 {
            assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
        }
        let mut written = Vec::new();
        while !written.contains(&status) {
            written.push(call(&alternator, "PutItem", "{}").await.unwrap().0);
        }
    }
}

/// alternator A7a: a node that says nothing is left, after a limit, for the next one where the operation only reads.
/// alternator A7a: a write that was sent is waited for, and in the end may have been done.
#[tokio::test]
async fn moves_on_from_silence() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let ms = Duration::from_millis;
    let options = BalanceOptions::default().with_header_limits(ms(50), ms(20), ms(100)).with_timeout(ms(400));
    let alternator = ready(builder(&cluster, &[0, 1, 2]).balance(options)).await;
    cluster.node(0).fault(On::Requests, HttpFault::Hang);
    for _ in 0..20 {
        assert_eq!(call(&alternator, "Query", "{}").await.unwrap().0, 200);
    }
    // Avoided for a second: then each of the others has to be silent too.
    cluster.nodes().iter().for_each(|node| node.fault(On::Requests, HttpFault::Hang));
    let error = call(&alternator, "PutItem", "{}").await.unwrap_err();
    assert!(matches!(error, RequestError::OutOfTime { sent: true, .. }), "{error}");
    assert!(error.maybe_done());
    assert_eq!(error.attempts().len(), 1);
}

/// alternator A7a: slow is not dead: an operation that every node answers slowly has its answer.
#[tokio::test]
async fn slow_is_not_dead() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let ms = Duration::from_millis;
    let options = BalanceOptions::default().with_header_limits(ms(10), ms(10), ms(10));
    let alternator = ready(builder(&cluster, &[0, 1, 2]).balance(options)).await;
    cluster.nodes().iter().for_each(|node| node.fault(On::Requests, HttpFault::Slow(ms(150))));
    assert_eq!(call(&alternator, "Scan", "{}").await.unwrap().0, 200);
}

/// alternator A6: a client that did not run for a while, since its machine was busy, blames no node for that, however many
/// requests were under way.
#[tokio::test]
async fn own_pause_is_no_silence() {
    let cluster = HttpCluster::start(2).await.unwrap();
    let ms = Duration::from_millis;
    let options = BalanceOptions::default().with_header_limits(ms(50), ms(50), ms(50));
    let thresholds = Thresholds::default().with_active_failures(1).with_quarantine_failures(1);
    let alternator = ready(builder(&cluster, &[0, 1]).balance(options).thresholds(thresholds)).await;
    cluster.nodes().iter().for_each(|node| node.fault(On::Requests, HttpFault::Slow(ms(10))));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let alternator = alternator.clone();
        workers.spawn(async move { call(&alternator, "GetItem", "{}").await.unwrap().0 });
    }
    tokio::task::yield_now().await;
    let busy_until = tokio::time::Instant::now() + ms(150);
    while tokio::time::Instant::now() < busy_until {
        std::hint::spin_loop();
    }
    while let Some(status) = workers.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    let status = alternator.status();
    assert!(status.nodes.iter().all(|node| node.failures == 0 && node.state != State::Down), "{status}");
}

/// alternator A6: a node that answers others is not silent, only slow.
#[tokio::test]
async fn answers_others() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let ms = Duration::from_millis;
    let options = BalanceOptions::default().with_header_limits(ms(200), ms(200), ms(200));
    let alternator = ready(builder(&cluster, &[0]).balance(options)).await;
    cluster.node(0).fault(On::Requests, HttpFault::Slow(ms(500)));
    let slow = tokio::spawn({
        let alternator = alternator.clone();
        async move { call(&alternator, "GetItem", "{}").await.unwrap().0 }
    });
    eventually("it is received", || cluster.node(0).requests() == 1).await;
    cluster.node(0).heal(On::Requests);
    assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
    assert_eq!(slow.await.unwrap(), 200);
    assert_eq!(alternator.status().nodes[0].failures, 0);
}

/// alternator A7a: hedging asks another node beside a slow one, of operations that only read, if it is switched on.
#[tokio::test]
async fn hedging() {
    for hedge in [None, Some(Duration::from_millis(5))] {
        let cluster = HttpCluster::start(2).await.unwrap();
        let options = BalanceOptions::default().with_hedge(hedge);
        let alternator = ready(builder(&cluster, &[0, 1]).balance(options)).await;
        cluster.nodes().iter().for_each(|node| node.fault(On::Requests, HttpFault::Slow(Duration::from_millis(50))));
        assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
        let after_read = requests(&cluster).iter().sum::<usize>();
        assert_eq!(after_read, if hedge.is_some() { 2 } else { 1 });
        assert_eq!(call(&alternator, "PutItem", "{}").await.unwrap().0, 200);
        assert_eq!(requests(&cluster).iter().sum::<usize>(), after_read + 1);
    }
}

/// alternator A7a: a connection that breaks after a write was sent is not repeated, unless that is asked for.
#[tokio::test]
async fn broken_write() {
    for repeat in [false, true] {
        let cluster = HttpCluster::start(2).await.unwrap();
        let options = BalanceOptions::default().with_repeat_broken(repeat);
        let alternator = ready(builder(&cluster, &[0, 1]).balance(options)).await;
        cluster.node(0).fault(On::Requests, HttpFault::Close);
        let mut broken = 0;
        for _ in 0..20 {
            match call(&alternator, "PutItem", "{}").await {
                Ok((status, _)) => assert_eq!(status, 200),
                Err(error) => {
                    assert!(matches!(error, RequestError::Broken { .. }) && error.maybe_done(), "{error}");
                    broken += 1;
                }
            }
        }
        assert_eq!(broken > 0, !repeat);
        assert!(cluster.node(0).requests() > 0);
    }
}

/// alternator A15: after `close` requests are refused, polls end, and closing twice is harmless.
/// alternator 3.8.12: that is so in the middle of a poll that hangs.
#[tokio::test]
async fn closed() {
    let cluster = HttpCluster::start(2).await.unwrap();
    cluster.nodes().iter().for_each(|node| node.fault(On::List, HttpFault::Hang));
    let alternator = builder(&cluster, &[0, 1]).build().unwrap();
    eventually("a poll hangs", || cluster.node(0).polls() > 0).await;
    let from = tokio::time::Instant::now();
    alternator.close().await;
    alternator.clone().close().await;
    assert!(from.elapsed() < Duration::from_secs(1));
    assert!(matches!(call(&alternator, "GetItem", "{}").await, Err(RequestError::Closed)));
    assert!(alternator.ready(Duration::from_secs(5)).await.unwrap_err().to_string().contains("closed"));
    drop(alternator);
    eventually("all connections closed", || cluster.nodes().iter().all(|node| node.open() == 0)).await;
}

/// alternator 8: a thousand clients that are built, used and closed or dropped leave no task and no socket (J 75, 122, 149,
/// 150).
#[tokio::test]
async fn built_and_closed() {
    let cluster = HttpCluster::start(2).await.unwrap();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for round in 0..1000 {
        let alternator = ready(builder(&cluster, &[0, 1])).await;
        if round % 3 == 0 {
            call(&alternator, "GetItem", "{}").await.unwrap();
        }
        if round % 2 == 0 {
            alternator.close().await;
        }
        // What the last ones leave behind may still be on its way.
        assert!(tasks() <= before + 100, "round {round}: {} tasks", tasks() - before);
    }
    eventually("no task left", || tasks() <= before).await;
    eventually("no connection left", || cluster.nodes().iter().all(|node| node.open() == 0)).await;
}

/// alternator A7: with every node refusing, the plan begins anew until the attempts are used up; nobody else is asked.
#[tokio::test]
async fn exhausted() {
    let cluster = HttpCluster::start(2).await.unwrap();
    let alternator = ready(builder(&cluster, &[0])).await;
    cluster.nodes().iter().for_each(|node| node.stop());
    let error = call(&alternator, "GetItem", "{}").await.unwrap_err();
    assert!(matches!(error, RequestError::Exhausted { .. }), "{error}");
    assert_eq!(error.attempts().len(), 10);
    let nodes: std::collections::HashSet<_> = error.attempts().iter().map(|attempt| attempt.node.clone()).collect();
    assert_eq!(nodes.len(), 2);
    assert!(!error.maybe_done());
}

/// alternator 8: a bad value is an error when the client is made (JS 37, 44), and so is a missing runtime (R resolver).
#[test]
fn bad_values() {
    let failed = |builder: messina::alternator::client::AlternatorBuilder| builder.build().unwrap_err();
    assert!(matches!(failed(Alternator::builder()), BuildError::NoSeed));
    for port in ["0", "70000"] {
        let seed = format!("http://node:{port}");
        assert!(matches!(failed(Alternator::builder().seed(seed)), BuildError::Seed(_)), "{port}");
    }
    let mixed = Alternator::builder().seed("http://a:8000").seed("http://b:8001");
    assert!(matches!(failed(mixed), BuildError::Mixed(_)));
    assert!(matches!(failed(Alternator::builder().seed("https://a:8043")), BuildError::NoTls(_)));
    let empty = Alternator::builder().seed("http://a").affinity(messina::alternator::affinity::Mode::Rmw);
    assert!(matches!(failed(empty.clone().partition_key("", "pk")), BuildError::Key(_)));
    assert!(matches!(failed(empty.clone().partition_key("t", "")), BuildError::Key(_)));
    let broken = Alternator::builder().seed("http://a").user_agent(Some("a\r\nb".to_owned()));
    assert!(matches!(failed(broken), BuildError::UserAgent(_)));
    assert!(matches!(failed(Alternator::builder().seed("http://a:8000")), BuildError::NoRuntime));
}

/// alternator A15: `ready` tells what is wrong with each seed.
#[tokio::test]
async fn not_ready() {
    let cluster = HttpCluster::start(2).await.unwrap();
    cluster.node(0).stop();
    cluster.node(1).fault(On::List, HttpFault::Status(503));
    let alternator = builder(&cluster, &[0, 1]).build().unwrap();
    let error = alternator.ready(Duration::from_millis(300)).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&cluster.url(0)) && text.contains("refused"), "{text}");
    assert!(text.contains(&cluster.url(1)) && text.contains("503"), "{text}");
}

/// alternator A15: `ready` takes any limit, and is an error once the client is closed, although nodes are known.
#[tokio::test]
async fn ready_for_ever() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let alternator = builder(&cluster, &[0]).build().unwrap();
    alternator.ready(Duration::MAX).await.unwrap();
    alternator.close().await;
    let error = alternator.ready(Duration::MAX).await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}

/// alternator A15: every limit may be for ever.
#[tokio::test]
async fn unlimited() {
    use messina::alternator::{discovery::CycleLimits, health::ProbeOptions};

    let (cluster, max) = (HttpCluster::start(2).await.unwrap(), Duration::MAX);
    let balance = BalanceOptions::default().with_timeout(max).with_header_limits(max, max, max).with_hedge(Some(max));
    let limits = CycleLimits::default().with_attempt(max).with_cycle(max);
    let probes = ProbeOptions::default().with_timeout(max).with_every(max);
    let builder = builder(&cluster, &[0]).balance(balance).poll_limits(limits).probes(probes).intervals(max, max);
    let alternator = ready(builder).await;
    assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
}
