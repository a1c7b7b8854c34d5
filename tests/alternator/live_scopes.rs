//! Scopes and key affinity over HTTP.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina::{
    alternator::{
        RequestError, RequestOptions,
        affinity::Mode,
        events::Event,
        health::State,
        live_nodes::NoRoute,
        operation,
        scope::{Scope, ScopeChain},
    },
    testkit::http::{HttpCluster, HttpReply},
};
use tower::ServiceExt;

use crate::http_support::{builder, call, eventually, listed, ready, requests};

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
