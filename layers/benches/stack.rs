//! The whole stack over stubbed leaves against the bare leaf: the goal is at most two microseconds more.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use std::{
    convert::Infallible,
    future::{Ready, ready},
    net::SocketAddr,
    time::Duration,
};

use criterion::{Criterion, criterion_group, criterion_main};
use messina_layers::{
    Address, AttemptLayer, BoxConnect, Candidate, ConnectOptions, HandshakeLayer, MaybeTls, Name, Pinned, TlsLayer,
    Transport, connect_stack,
};
use tokio::io::Empty;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn, util::BoxCloneSyncService};

type Target = Pinned<Address>;
type Dialled<IO> = Ready<Result<IO, Infallible>>;

fn addr(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 9042))
}

fn target() -> Target {
    Pinned::new(Address::Name(Name::new("db.test").unwrap(), 9042))
}

fn connector() -> impl Service<
    Candidate<Target>,
    Response = Transport<Target, Empty>,
    Error = Infallible,
    Future = Dialled<Transport<Target, Empty>>,
> + Clone {
    service_fn(|candidate| ready(Ok(Transport::new(candidate, tokio::io::empty()))))
}

fn handshake<IO>()
-> impl Service<Transport<Target, IO>, Response = SocketAddr, Error = Infallible, Future = Dialled<SocketAddr>> + Clone
{
    service_fn(|transport: Transport<Target, IO>| ready(Ok(transport.peer)))
}

fn stack(delay: Option<Duration>) -> BoxConnect<Target, SocketAddr> {
    let mut options = ConnectOptions::default();
    options.attempt_delay = delay;
    let resolver =
        service_fn(|_: Address| ready(Ok::<_, Infallible>(std::array::from_fn::<_, 5, _>(|n| addr(n as u8 + 1)))));
    let attempt = ServiceBuilder::new()
        .layer(AttemptLayer::new())
        .layer(HandshakeLayer::new(handshake::<MaybeTls<Empty>>()))
        .layer(TlsLayer::new())
        .service(connector());
    BoxCloneSyncService::new(connect_stack(attempt, resolver, options))
}

fn connects(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let target = target();
    let mut group = criterion.benchmark_group("connect");
    group.bench_function("bare leaf", |bencher| {
        bencher.to_async(&runtime).iter(|| async {
            let transport = connector().oneshot(Candidate::new(target.clone(), addr(1))).await.unwrap();
            handshake::<Empty>().oneshot(transport).await.unwrap()
        });
    });
    for (name, delay) in [("stack, sequential", None), ("stack, attempt delay", Some(Duration::from_millis(250)))] {
        let stack = stack(delay);
        group.bench_function(name, |bencher| {
            bencher.to_async(&runtime).iter(|| stack.clone().oneshot(target.clone()));
        });
    }
    group.finish();
}

criterion_group!(benches, connects);
criterion_main!(benches);
