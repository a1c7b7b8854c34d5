//! Discovery over HTTP: seeds by name, faults of all kinds, pace, filters.

use std::{
    collections::HashSet,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina::{
    alternator::{
        Alternator, BalanceOptions, RequestError, RequestOptions,
        affinity::Mode,
        balance::Repeatable,
        client::AlternatorBuilder,
        discovery::CycleLimits,
        events::Event,
        health::State,
        http::{HttpOptions, Payload},
        live_nodes::NoRoute,
        operation,
        scope::{Scope, ScopeChain},
    },
    layers::Address,
    testkit::http::{HttpCluster, HttpFault, HttpReply, On},
};
use tower::{Layer, ServiceExt, service_fn};

use crate::http_support::{builder, call, eventually, ready, requests};

/// Names that are answered from a list that may change; literals are answered with themselves.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<Vec<IpAddr>>>);

impl Names {
    fn set(&self, cluster: &HttpCluster, nodes: &[usize]) {
        *self.0.lock().unwrap() = nodes.iter().map(|node| cluster.node(*node).addr().ip()).collect();
    }

    fn options(&self) -> HttpOptions {
        let names = self.clone();
        let resolver = service_fn(move |address: Address| {
            let answer = address.ip().map_or_else(|| names.0.lock().unwrap().clone(), |ip| vec![ip]);
            async move { if answer.is_empty() { Err(std::io::Error::other("no such name")) } else { Ok(answer) } }
        });
        HttpOptions::default().with_resolver(resolver)
    }
}

fn by_name(cluster: &HttpCluster, names: &Names) -> AlternatorBuilder {
    builder(cluster, &[]).seed(format!("http://db.test:{}", cluster.port())).http(names.options())
}

fn listed(alternator: &Alternator, cluster: &HttpCluster) -> Vec<usize> {
    let nodes = alternator.nodes();
    let has = |node: &usize| nodes.contains(&cluster.url(*node).parse().unwrap());
    (0..cluster.nodes().len()).filter(has).collect()
}

/// alternator A1: a name leads to a dead and a living address: found in the first cycle, and `Host` keeps the name.
/// alternator 3.8.5: so it does for requests before anything is discovered.
/// alternator 8: every address of a name is tried, in every cycle (J 144, ALB 14, 105, 106).
#[tokio::test]
async fn name_with_a_dead_address() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let names = Names::default();
    names.set(&cluster, &[0, 1]);
    cluster.node(0).stop();
    cluster.unlist(0);
    let alternator = by_name(&cluster, &names).build().unwrap();
    assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
    alternator.ready(Duration::from_secs(5)).await.unwrap();
    assert_eq!(listed(&alternator, &cluster), [1, 2]);
    let poll = cluster.node(1).received().into_iter().find(|request| request.path() == "/localnodes").unwrap();
    assert_eq!(poll.header("host"), Some(format!("db.test:{}", cluster.port()).as_str()));
}

/// alternator 3.8.4: when every address changes, the seed's name leads to the new ones.
/// alternator 8: a name that cannot be looked up is asked for again until it can (SCT 14454, 14455).
#[tokio::test]
async fn all_addresses_change() {
    let cluster = HttpCluster::start(4).await.unwrap();
    let names = Names::default();
    let alternator = by_name(&cluster, &names).build().unwrap();
    let error = alternator.ready(Duration::from_millis(100)).await.unwrap_err();
    assert!(error.to_string().contains("looked up"), "{error}");
    names.set(&cluster, &[0, 1]);
    [2, 3].iter().for_each(|node| cluster.unlist(*node));
    alternator.poll_now();
    alternator.ready(Duration::from_secs(5)).await.unwrap();
    assert_eq!(listed(&alternator, &cluster), [0, 1]);
    for node in 0..2 {
        cluster.node(node).stop();
        cluster.unlist(node);
        cluster.list(node + 2);
    }
    names.set(&cluster, &[2, 3]);
    alternator.poll_now();
    eventually("the new ones", || listed(&alternator, &cluster) == [2, 3]).await;
    assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
}

/// alternator 8: a panic of the resolver is one lookup that failed (J 139).
#[tokio::test]
async fn resolver_panics_once() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let (calls, ip) = (Arc::new(AtomicUsize::new(0)), cluster.node(0).addr().ip());
    let resolver = service_fn(move |_: Address| {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        assert!(call > 0, "the first call panics");
        async move { Ok::<_, std::io::Error>([ip]) }
    });
    let seed = format!("http://db.test:{}", cluster.port());
    let builder = Alternator::builder().seed(seed).http(HttpOptions::default().with_resolver(resolver));
    let alternator = builder.intervals(Duration::from_millis(20), Duration::from_millis(20)).build().unwrap();
    alternator.ready(Duration::from_secs(5)).await.unwrap();
}

/// alternator 8: a resolver that leads elsewhere has its say about literals too: lists of internal addresses can be
/// translated (S 18711, 18828, 21882); an IPv6 seed works, in brackets everywhere (JS 39, C# 44).
#[tokio::test]
async fn translated() {
    let cluster = HttpCluster::start(2).await.unwrap();
    let (first, second) = (cluster.node(0).addr().ip(), cluster.node(1).addr().ip());
    cluster.nodes().iter().for_each(|node| {
        node.fault(On::List, HttpFault::Reply(HttpReply::new(200, r#"["2001:db8::1", "10.99.0.2"]"#)));
    });
    let resolver = service_fn(move |address: Address| async move {
        Ok::<_, std::io::Error>([match address.ip() {
            Some(IpAddr::V6(_)) => first,
            Some(ip) if ip.to_string() == "10.99.0.2" => second,
            // Where a seed was found it is asked again.
            Some(ip) => ip,
            None => panic!("{address} is no literal"),
        }])
    });
    let seed = format!("http://[2001:db8::1]:{}", cluster.port());
    let builder = Alternator::builder().seed(seed).http(HttpOptions::default().with_resolver(resolver));
    let alternator = ready(builder).await;
    while requests(&cluster).contains(&0) {
        assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
    }
    let host = format!("[2001:db8::1]:{}", cluster.port());
    assert_eq!(cluster.node(0).last().unwrap().header("host"), Some(host.as_str()));
}

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

/// alternator 8: a node that does not know the filters is found out, and what it lists is not used (JS 57).
/// alternator 4.4: the error says so.
#[tokio::test]
async fn filters_ignored() {
    let cluster =
        HttpCluster::builder().data_center("dc1", "r", 1).data_center("dc2", "r", 1).without_filters().start();
    let cluster = cluster.await.unwrap();
    let scope = ScopeChain::only(Scope::data_center("dc2").unwrap());
    let alternator = builder(&cluster, &[0]).scope(scope).build().unwrap();
    let mut events = alternator.events();
    let error = alternator.ready(Duration::from_millis(300)).await.unwrap_err();
    assert!(error.to_string().contains("does not know the filters"), "{error}");
    assert_eq!(error.no_route(), Some(NoRoute::Undiscovered));
    let told = async { while !matches!(events.next().await, Some(Event::FiltersIgnored(_))) {} };
    tokio::time::timeout(Duration::from_secs(5), told).await.unwrap();
    assert!(matches!(call(&alternator, "GetItem", "{}").await, Err(RequestError::NoRoute(NoRoute::Undiscovered))));
    assert_eq!(requests(&cluster), [0, 0]);
}

/// alternator 4.4: from a rack to its data centre when the rack is without nodes, and back.
/// alternator 8: rack awareness (ALB 36, 39).
#[tokio::test]
async fn rack_and_back() {
    let cluster =
        HttpCluster::builder().data_center("dc1", "a", 1).data_center("dc1", "b", 1).data_center("dc2", "a", 1).start();
    let cluster = cluster.await.unwrap();
    let chain = ScopeChain::only(Scope::rack("dc1", "a").unwrap()).then(Scope::data_center("dc1").unwrap()).unwrap();
    let alternator = ready(builder(&cluster, &[0, 1, 2]).scope(chain)).await;
    assert_eq!(listed(&alternator, &cluster), [0]);
    cluster.unlist(0);
    let look = |wanted: &[usize]| {
        alternator.poll_now();
        listed(&alternator, &cluster) == wanted
    };
    eventually("fallen back", || look(&[1])).await;
    cluster.list(0);
    eventually("returned", || look(&[0])).await;
}

/// alternator 8: every client of every rack sends the writes of one key to one node (S 20915): under a rack's scope affinity
/// is decided in the data centre.
#[tokio::test]
async fn affinity_beyond_the_rack() {
    let cluster = HttpCluster::builder().data_center("dc1", "a", 2).data_center("dc1", "b", 2).start().await.unwrap();
    let mut hit = HashSet::new();
    for rack in ["a", "b"] {
        let chain = ScopeChain::only(Scope::rack("dc1", rack).unwrap());
        let builder = builder(&cluster, &[0, 3]).scope(chain).affinity(Mode::AnyWrite).partition_key("t", "pk");
        let alternator = builder.build().unwrap();
        let mut events = alternator.events();
        let mut active = HashSet::new();
        while active.len() < 4 {
            let event = tokio::time::timeout(Duration::from_secs(5), events.next()).await.unwrap();
            if let Some(Event::Moved { node, to: State::Active, .. }) = event {
                active.insert(node);
            }
        }
        let client = alternator.client(RequestOptions::default());
        let before = requests(&cluster);
        for _ in 0..5 {
            let request = operation("PutItem", r#"{"TableName":"t","Item":{"pk":{"S":"hello"}}}"#).unwrap();
            client.clone().oneshot(request).await.unwrap();
        }
        let after = requests(&cluster);
        hit.extend((0..4).filter(|node| after[*node] > before[*node]));
    }
    assert_eq!(hit.len(), 1, "{hit:?}");
}

/// alternator 6.2: a table's key is asked for once, beside the request, which has no affinity; then there is affinity.
/// alternator 6.4: the writes of a batch vote.
#[tokio::test]
async fn key_is_found_out() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let described = Arc::new(AtomicUsize::new(0));
    for node in cluster.nodes() {
        let described = Arc::clone(&described);
        node.answer(move |request| match request.operation() {
            "DescribeTable" => {
                described.fetch_add(1, Ordering::Relaxed);
                let schema = r#"[{"AttributeName":"s","KeyType":"RANGE"},{"AttributeName":"pk","KeyType":"HASH"}]"#;
                HttpReply::new(200, format!(r#"{{"Table":{{"KeySchema":{schema}}}}}"#))
            }
            _ => HttpReply::new(200, "{}"),
        });
    }
    let alternator = ready(builder(&cluster, &[0]).affinity(Mode::AnyWrite)).await;
    let client = alternator.client(RequestOptions::default());
    let put = |json: &'static str, name: &'static str| client.clone().oneshot(operation(name, json).unwrap());
    let one = r#"{"TableName":"t","Item":{"pk":{"B":"/wCA"},"s":{"S":"x"}}}"#;
    put(one, "PutItem").await.unwrap();
    eventually("described", || described.load(Ordering::Relaxed) == 1).await;
    let active = || alternator.status().nodes.iter().all(|node| format!("{:?}", node.state) == "Active");
    eventually("active", active).await;
    let batch = r#"{"RequestItems":{"t":[{"PutRequest":{"Item":{"pk":{"B":"/wCA"}}}},{"DeleteRequest":{"Key":{"pk":{"B":"/wCA"}}}}]}}"#;
    // The answer may still be on its way to the book.
    for _ in 0..50 {
        put(one, "PutItem").await.unwrap();
    }
    let before = requests(&cluster);
    for _ in 0..10 {
        put(one, "PutItem").await.unwrap();
        put(batch, "BatchWriteItem").await.unwrap();
    }
    let mut counts: Vec<_> = requests(&cluster).iter().zip(before).map(|(after, before)| after - before).collect();
    counts.sort_unstable();
    assert_eq!(counts, [0, 0, 20]);
    assert_eq!(described.load(Ordering::Relaxed), 1);
}

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
