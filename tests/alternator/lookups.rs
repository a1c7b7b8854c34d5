//! Seeds that are names, and resolvers with a will of their own.

use std::{
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina::{
    alternator::{Alternator, client::AlternatorBuilder, http::HttpOptions},
    layers::Address,
    testkit::http::{HttpCluster, HttpFault, HttpReply, On},
};
use tower::service_fn;

use crate::http_support::{builder, call, eventually, listed, ready, requests};

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
