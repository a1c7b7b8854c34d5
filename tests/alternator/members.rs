//! Nodes that die, return and join under traffic.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina::{
    alternator::{
        BalanceOptions,
        balance::Repeatable,
        events::Event,
        health::State,
        http::Payload,
        operation,
        scope::{Scope, ScopeChain},
    },
    testkit::http::{HttpCluster, HttpFault, On},
};
use tower::{Layer, ServiceExt, service_fn};

use crate::http_support::{builder, call, eventually, listed, ready};

/// alternator 3.8.1: a seed is killed, two hundred updates: with failover all are done; without, all after one refresh; and
/// in both the dead seed is not dialled for a request after that refresh.
/// alternator 3.8.2: it is dead from the start of the second half.
#[tokio::test]
async fn two_hundred_updates() {
    for failover in [true, false] {
        let cluster = HttpCluster::start(3).await.unwrap();
        // Polls only when told, so that the refresh is known.
        let options = BalanceOptions::default().with_max_attempts(if failover { 10 } else { 1 });
        let pace = Duration::from_secs(60);
        let alternator = ready(builder(&cluster, &[0, 1, 2]).intervals(pace, pace).balance(options)).await;
        let dead = cluster.node(0).addr().to_string();
        let dials = Arc::new(AtomicUsize::new(0));
        let counting = {
            let (dials, http) = (Arc::clone(&dials), alternator.http());
            service_fn(move |request: http::Request<Payload>| {
                if request.uri().authority().unwrap().as_str() == dead {
                    dials.fetch_add(1, Ordering::Relaxed);
                }
                http.clone().oneshot(request)
            })
        };
        let service = alternator.layer().layer(counting);
        let update = || {
            let mut request = operation("UpdateItem", "{}").unwrap();
            // It sets a value: done twice is done once.
            request.extensions_mut().insert(Repeatable(true));
            service.clone().oneshot(request)
        };
        assert_eq!(update().await.unwrap().status(), 200);
        cluster.node(0).stop();
        let (mut done, mut refreshed) = (0, false);
        for i in 0..200 {
            done += usize::from(update().await.is_ok());
            if i == 20 {
                // Gossip still has it: the others go on listing it for a while.
                alternator.poll_now();
                eventually("one refresh", || listed(&alternator, &cluster) == [1, 2]).await;
                refreshed = true;
                dials.store(0, Ordering::Relaxed);
                assert!(if failover { done == 21 } else { done >= 5 }, "{done}");
                done = done.max(21);
            }
        }
        assert!(refreshed);
        assert_eq!((done, dials.load(Ordering::Relaxed)), (200, 0), "failover {failover}");
    }
}

/// alternator A3: with all seeds dead and one known node left there is no error.
/// alternator 3.8.3: when all are dead and one that was known returns, it is found.
#[tokio::test]
async fn known_node_left() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let alternator = ready(builder(&cluster, &[0, 1])).await;
    [0, 1].iter().for_each(|node| cluster.node(*node).stop());
    for _ in 0..20 {
        assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
    }
    cluster.node(2).stop();
    assert!(call(&alternator, "GetItem", "{}").await.is_err());
    cluster.node(2).restart();
    let until = tokio::time::Instant::now() + Duration::from_secs(10);
    while let Err(error) = call(&alternator, "GetItem", "{}").await {
        assert!(tokio::time::Instant::now() < until, "{error}\n{}", alternator.status());
    }
}

/// alternator A7a: with one of three nodes dying, and with one answering 503, workers see no error: with reads in the first
/// case, since a write may be on its way to the node when it dies.
#[tokio::test]
async fn workers_see_no_error() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let alternator = ready(builder(&cluster, &[0, 1, 2])).await;
    for (operation, dies) in [("GetItem", true), ("PutItem", false)] {
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let alternator = alternator.clone();
            workers.spawn(async move {
                for _ in 0..25 {
                    assert_eq!(call(&alternator, operation, "{}").await.unwrap().0, 200);
                }
            });
        }
        if dies {
            cluster.node(0).stop()
        } else {
            cluster.node(0).fault(On::Requests, HttpFault::Status(503))
        }
        while let Some(worker) = workers.join_next().await {
            worker.unwrap();
        }
        cluster.node(0).restart();
        let back = || alternator.status().nodes.iter().filter(|node| node.state == State::Active).count() == 3;
        eventually("it is back", back).await;
    }
}

/// alternator A9: a node that is added takes requests within one poll.
/// alternator A15: events tell of it.
#[tokio::test]
async fn node_added() {
    let cluster = HttpCluster::start(3).await.unwrap();
    cluster.unlist(2);
    let alternator = ready(builder(&cluster, &[0])).await;
    let mut events = alternator.events();
    assert_eq!(listed(&alternator, &cluster), [0, 1]);
    cluster.list(2);
    alternator.poll_now();
    let added = Event::Added(cluster.url(2).parse().unwrap());
    let told = async { while events.next().await.as_ref() != Some(&added) {} };
    tokio::time::timeout(Duration::from_secs(5), told).await.unwrap();
    eventually("it takes requests", || cluster.node(2).polls() > 0).await;
    while cluster.node(2).requests() == 0 {
        call(&alternator, "GetItem", "{}").await.unwrap();
    }
}

/// alternator 8: a node that is listed while it joins, and answers 500 to everything, takes no requests before it
/// answers (S 19694, 19725).
#[tokio::test]
async fn listed_too_early() {
    let cluster = HttpCluster::start(3).await.unwrap();
    cluster.node(2).fault(On::All, HttpFault::Status(500));
    let scope = ScopeChain::only(Scope::data_center("dc1").unwrap());
    let alternator = ready(builder(&cluster, &[0, 1]).scope(scope)).await;
    let healthy =
        || alternator.status().nodes.iter().filter(|node| format!("{:?}", node.state) == "Active").count() == 2;
    eventually("two have proved themselves", healthy).await;
    for _ in 0..50 {
        assert_eq!(call(&alternator, "PutItem", "{}").await.unwrap().0, 200);
    }
    assert_eq!(cluster.node(2).requests(), 0);
}

/// alternator 8: a node is killed under traffic: no request fails that may be sent twice (S 5030, `scylla-operator` 1841).
#[tokio::test]
async fn killed_under_traffic() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let alternator = ready(builder(&cluster, &[0, 1, 2])).await;
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let alternator = alternator.clone();
        workers.spawn(async move {
            for _ in 0..50 {
                assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
            }
        });
    }
    eventually("under way", || cluster.node(1).requests() > 20).await;
    cluster.node(1).stop();
    while let Some(worker) = workers.join_next().await {
        worker.unwrap();
    }
}
