//! Lookups on the way of a session: hung, broken, long, moved.

use std::{
    future::pending,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use messina::{
    Session,
    error::Kind,
    layers::{Address, ConnectError, Order, error::BoxError},
    testkit::{Cluster, Network},
};
use tower::service_fn;

use crate::support::{Mode, attempts, named, timed};

/// scenario H1: a lookup that never ends: an error within its limit that names the host; beside a healthy contact
/// point the session opens.
/// reviewer 9: the limit covers the lookup.
#[tokio::test(start_paused = true)]
async fn a_hung_lookup() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let hangs = service_fn(|address: Address| async move {
        match address.ip() {
            None => pending().await,
            Some(ip) => Ok::<_, BoxError>([SocketAddr::new(ip, address.port())]),
        }
    });
    let builder = named(&network, []).resolver(hangs).resolve_timeout(Duration::from_millis(800));
    let (result, took) = timed(builder.clone()).await;
    let error = result.unwrap_err();
    assert_eq!((error.kind(), took), (Kind::Unreachable, Duration::from_millis(800)));
    let line = error.to_string();
    assert!(line.contains("db.test:9042") && line.contains("no answer within 800ms"), "{line}");

    let (result, took) = timed(builder.contact_point(cluster.node(0).addr().to_string())).await;
    result.unwrap();
    assert_eq!(took, Duration::from_millis(800));
}

/// scenario S4: an empty answer, an error, a panic: each names the host, and the plan continues.
/// reviewer 10: every path ends the attempt with an error.
#[tokio::test(start_paused = true)]
async fn broken_lookups() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let resolver = service_fn(|address: Address| {
        let host = address.host();
        assert!(host != "panics.test", "no such luck");
        async move {
            match &*host {
                "late.test" => panic!("no such luck"),
                "fails.test" => Err(BoxError::from("no such luck")),
                "empty.test" => Ok(vec![]),
                _ => Ok(vec![SocketAddr::new(address.ip().unwrap(), address.port())]),
            }
        }
    });
    let names = ["panics.test", "late.test", "fails.test", "empty.test"];
    let builder = Session::builder().contact_points(names).resolver(resolver).connector(network.connector());
    let error = builder.clone().build().await.unwrap_err();
    for (contact_point, name) in error.contact_points().iter().zip(names) {
        assert!(contact_point.error.to_string().contains(name), "{}", contact_point.error);
        let none = matches!(contact_point.error, ConnectError::NoAddress { .. });
        assert_eq!(none, name == "empty.test");
    }
    assert_eq!(error.to_string().matches("no such luck").count(), 3, "{error}");
    builder.contact_point(cluster.node(0).addr().to_string()).build().await.unwrap();
}

/// reviewer 29: a thousand answers: the cap holds, and each connect samples afresh.
/// connect 28: the cap is the bound on cost.
#[tokio::test(start_paused = true)]
async fn a_thousand_answers() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let many: Vec<_> =
            (0..1000_u32).map(|n| SocketAddr::from(([10, 77, (n / 250) as u8, (n % 250) as u8], 9042))).collect();
        let builder = mode.of(named(&network, many)).candidate_order(Order::Shuffle);
        let mut tried = Vec::new();
        for _ in 0..3 {
            let error = builder.clone().build().await.unwrap_err();
            assert_eq!(attempts(&error).len(), 5);
            tried.extend(attempts(&error).iter().map(|failed| failed.addr));
        }
        tried.sort();
        tried.dedup();
        assert!(tried.len() > 10, "{tried:?}");
    }
}

/// reviewer 2: a name that moved is seen at the next connect: nothing is cached.
#[tokio::test(start_paused = true)]
async fn a_moved_name() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let record = Arc::new(Mutex::new(network.refused()));
    let looked_up = Arc::clone(&record);
    let resolver = service_fn(move |address: Address| {
        let answer = address.ip().map_or_else(|| *looked_up.lock().unwrap(), |ip| (ip, address.port()).into());
        async move { Ok::<_, BoxError>([answer]) }
    });
    let builder = named(&network, []).resolver(resolver);
    builder.clone().build().await.unwrap_err();
    *record.lock().unwrap() = cluster.node(0).addr();
    builder.build().await.unwrap();
}

/// connect 1: only a connect asks the resolver, once: settings, endpoints, plans, states, refreshes and what is printed
/// of them do not.
#[tokio::test(start_paused = true)]
async fn only_connects_look_up() {
    use std::{
        hash::{DefaultHasher, Hash},
        sync::atomic::{AtomicUsize, Ordering},
    };

    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
    let (asked, node) = (Arc::new(AtomicUsize::new(0)), cluster.node(0).addr());
    let count = Arc::clone(&asked);
    let resolver = service_fn(move |address: Address| {
        let name = address.ip().is_none();
        count.fetch_add(usize::from(name), Ordering::Relaxed);
        let answer = address.ip().map_or(node, |ip| (ip, address.port()).into());
        async move { Ok::<_, BoxError>([answer]) }
    });
    let builder = named(&network, []).resolver(resolver);
    let config = builder.check().unwrap();
    let mut hasher = DefaultHasher::new();
    config.contact_points[0].hash(&mut hasher);
    assert_eq!(config.contact_points[0], config.contact_points[0].clone());
    assert!(format!("{config:?}").contains("db.test"));
    assert_eq!(asked.load(Ordering::Relaxed), 0, "before a connect");

    let session = builder.build().await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 1, "one connect");
    session.refresh_topology().await.unwrap();
    let printed = format!("{}{}{:?}", session.state(), session.explain_plan(), session.topology());
    assert!(printed.contains("db.test"), "{printed}");
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(asked.load(Ordering::Relaxed), 1, "a session at rest");
}
