//! Lookups, threads and executors that are not ours.

use std::{net::SocketAddr, time::Duration};

use messina::{
    Session,
    layers::{Address, HickoryResolver, error::BoxError},
    testkit::{BareAddress, Cluster, DnsAnswer, DnsKind, DnsServer, rows},
};
use tower::service_fn;

use crate::scene::QUERY;

const SOON: Duration = Duration::from_secs(5);

/// How many threads this process has.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// reviewer 8: a lookup has no threads of its own that could outlive it, and a resolver may wait for whatever it likes on
/// the runtime that asks it.
#[tokio::test]
async fn no_threads_of_our_own() {
    let cluster = Cluster::builder().start().await.unwrap();
    let addr = cluster.node(0).addr();
    let dns = DnsServer::start().await.unwrap();
    dns.set("db.test", [addr.ip()]);
    let before = threads();
    let builder = Session::builder().contact_point(format!("db.test:{}", addr.port()));
    let session = builder.clone().resolver(HickoryResolver::with_server(dns.addr())).build().await.unwrap();
    // Other tests run beside this one: they have a thread each, and a few of tokio's for files.
    assert!(threads() <= before + 8, "{} threads, {before} before", threads());
    drop(session);

    let waits = service_fn(move |address: Address| async move {
        let port = address.port();
        // On the one thread that there is, this only works if nothing blocks it.
        let ip = tokio::spawn(async move {
            tokio::task::yield_now().await;
            tokio::task::spawn_blocking(move || addr.ip()).await
        });
        Ok::<_, BoxError>([SocketAddr::new(ip.await??, port)])
    });
    drop(tokio::time::timeout(SOON, builder.resolver(waits).build()).await.unwrap().unwrap());
}

/// reviewer 11: the executor of a lookup shuts down in flight: the connect fails, and says why.
#[tokio::test]
async fn the_executor_of_a_lookup_ends() {
    let elsewhere = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let handle = elsewhere.handle().clone();
    let (asked, mut was_asked) = tokio::sync::mpsc::unbounded_channel();
    let resolver = service_fn(move |_: Address| {
        let lookup = handle.spawn(std::future::pending::<SocketAddr>());
        asked.send(()).unwrap();
        async move { Ok::<_, BoxError>([lookup.await?]) }
    });
    let building = tokio::spawn(Session::builder().contact_point("db.test").resolver(resolver).build());
    was_asked.recv().await.unwrap();
    elsewhere.shutdown_background();
    let error = tokio::time::timeout(SOON, building).await.unwrap().unwrap().unwrap_err();
    let line = error.to_string();
    assert!(line.contains("db.test:9042") && line.contains("cancelled"), "{line}");
}

/// reviewer 25: no name is made of an address: no query but for addresses, whether the contact point is a name or a
/// literal, works or not.
/// reviewer 76: and the DNS server's own change is followed, end to end.
/// connect 21: no reverse lookup.
#[tokio::test]
async fn a_change_in_dns_and_no_reverse_lookup() {
    let cluster = Cluster::builder().nodes(2).own_addresses().start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    cluster.node(1).set(|facts| facts.listed = false);
    let (first, second) = (cluster.node(0).addr(), cluster.node(1).addr());
    let dead = BareAddress::refused().unwrap().on_port(first.port()).unwrap();
    let dns = DnsServer::start().await.unwrap();
    dns.set("db.test", [dead.addr().ip(), first.ip()]);
    let builder = Session::builder().resolver(HickoryResolver::with_server(dns.addr()));
    let named = builder.clone().contact_point(format!("db.test:{}", first.port()));
    let session = named.build().await.unwrap();
    session.execute(QUERY, ()).await.unwrap();

    // Everything that is known dies, and the name leads to a node that nobody told of.
    dns.set("db.test", [dead.addr().ip(), second.ip()]);
    cluster.node(0).kill().await;
    let moved = tokio::time::Instant::now();
    while session.execute(QUERY, ()).await.is_err() {
        assert!(moved.elapsed() < SOON, "still not served");
        tokio::task::yield_now().await;
    }
    drop(session);

    for addr in [second, dead.addr()] {
        drop(builder.clone().contact_addr(addr).build().await);
    }
    dns.answer("db.test", DnsAnswer::NxDomain);
    builder.contact_point("db.test").build().await.unwrap_err();
    let others = dns.total_queries() - dns.queries("db.test", DnsKind::A) - dns.queries("db.test", DnsKind::Aaaa);
    assert_eq!(others, 0, "only A and AAAA of the name that was configured");
}

/// reviewer 76: a name with three records: connects spread over all of them.
#[tokio::test]
async fn records_share_the_load() {
    let cluster = Cluster::builder().nodes(3).own_addresses().start().await.unwrap();
    let dns = DnsServer::start().await.unwrap();
    dns.set("db.test", cluster.addrs().iter().map(SocketAddr::ip));
    let port = cluster.node(0).addr().port();
    let mut first = [0; 3];
    for _ in 0..30 {
        let builder = Session::builder().contact_point(format!("db.test:{port}"));
        let session = builder.resolver(HickoryResolver::with_server(dns.addr())).build().await.unwrap();
        let connections = cluster.log().connections();
        let control = connections.iter().rfind(|one| one.count(messina::testkit::Stage::Register) > 0).unwrap();
        first[cluster.addrs().iter().position(|addr| *addr == control.server()).unwrap()] += 1;
        drop(session);
    }
    // By chance alone, one of them is left out once in a hundred thousand runs.
    assert!(first.iter().all(|count| *count > 0), "{first:?}");
}
