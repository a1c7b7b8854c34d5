//! Resolvers of hyper's convention.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use messina_layers::{HyperResolver, Resolved};
use tower::{Service, ServiceExt, limit::ConcurrencyLimit, service_fn};

use crate::support::{literal_is_answered_at_once, name};

fn answering(
    asked: Arc<AtomicUsize>,
) -> impl Service<Name, Response = std::vec::IntoIter<SocketAddr>, Error = io::Error, Future: Send> + Clone {
    service_fn(move |name: Name| {
        asked.fetch_add(1, Ordering::Relaxed);
        std::future::ready(match name.as_str() {
            "db.test" => Ok(vec!["10.0.0.1:0".parse().unwrap(), "10.0.0.2:1".parse().unwrap()].into_iter()),
            other => Err(io::Error::other(format!("unknown: {other}"))),
        })
    })
}

/// connect 13: another's resolver can be installed.
#[tokio::test]
async fn a_resolver_of_hyper_resolves() {
    let asked = Arc::<AtomicUsize>::default();
    let resolver = HyperResolver::new(answering(Arc::clone(&asked)));
    let answer = resolver.clone().oneshot(name("db.test")).await.unwrap();
    let dialled: Vec<String> = answer.into_iter().map(|item: Resolved| item.socket(9042).to_string()).collect();
    // hyper's convention: port 0 is the one wanted.
    assert_eq!(dialled, ["10.0.0.1:9042", "10.0.0.2:1"]);
    let error = resolver.oneshot(name("other.test")).await.unwrap_err();
    assert_eq!(error.to_string(), "unknown: other.test");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

/// scenario S5: a literal is answered with itself; the inner resolver takes names only.
#[test]
fn literals_are_answered_at_once() {
    let asked = Arc::<AtomicUsize>::default();
    literal_is_answered_at_once(HyperResolver::new(answering(Arc::clone(&asked))));
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

/// Readiness of the inner resolver is waited for in the future: a clone that is not ready is not called.
#[tokio::test]
async fn a_limited_resolver_is_driven_to_readiness() {
    let resolver = HyperResolver::new(ConcurrencyLimit::new(answering(Arc::default()), 1));
    let lookups = (0..5).map(|_| tokio::spawn(resolver.clone().oneshot(name("db.test"))));
    for lookup in lookups.collect::<Vec<_>>() {
        assert_eq!(lookup.await.unwrap().unwrap().len(), 2);
    }
}

/// hyper's own.
#[tokio::test]
async fn the_resolver_of_hyper_itself() {
    let answer = HyperResolver::new(GaiResolver::new()).oneshot(name("localhost")).await.unwrap();
    assert!(answer.iter().all(|item| item.socket(1).ip().is_loopback()) && !answer.is_empty());
}
