//! What a connect allocates, and that names leave nothing behind. One test binary of its own, since the counting
//! allocator counts the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::{
    alloc::System,
    convert::Infallible,
    future::{Future, Ready, ready},
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use messina_layers::{
    Address, AttemptLayer, Candidate, ConnectOptions, Established, HandshakeLayer, MaybeTls, Name, Pinned, TlsLayer,
    Transport, connect_stack,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tower::{Service, ServiceExt, service_fn};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

type Target = Pinned<Address>;
type Dialled<IO> = Ready<Result<IO, Infallible>>;

/// One test at a time: each counts what all threads allocate.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn addr(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 9042))
}

fn target() -> Target {
    Pinned::new(Address::Name(Name::new("db.test").unwrap(), 9042))
}

/// Bytes that are never looked at.
type Io = tokio::io::Empty;

/// The leaf: a transport without a socket.
fn connector() -> impl Service<
    Candidate<Target>,
    Response = Transport<Target, Io>,
    Error = Infallible,
    Future = Dialled<Transport<Target, Io>>,
> + Clone {
    service_fn(|candidate| ready(Ok(Transport::new(candidate, tokio::io::empty()))))
}

/// The leaf: a protocol without a handshake.
fn handshake<IO>()
-> impl Service<Transport<Target, IO>, Response = SocketAddr, Error = Infallible, Future = Dialled<SocketAddr>> + Clone
{
    service_fn(|transport: Transport<Target, IO>| ready(Ok(transport.peer)))
}

/// The leaf: an answer that takes no memory itself.
fn resolver<const N: usize>()
-> impl Service<Address, Response = [SocketAddr; N], Error = Infallible, Future = Dialled<[SocketAddr; N]>> + Clone {
    service_fn(|_| ready(Ok(std::array::from_fn(|n| addr(n as u8 + 1)))))
}

fn stack<const N: usize>(
    options: ConnectOptions,
) -> impl Service<Target, Response = Established<Target, SocketAddr>, Error: std::fmt::Debug, Future: Send>
+ Clone
+ Send
+ Sync {
    let attempt = tower::ServiceBuilder::new()
        .layer(AttemptLayer::new())
        .layer(HandshakeLayer::new(handshake::<MaybeTls<Io>>()))
        .layer(TlsLayer::new())
        .service(connector());
    connect_stack(attempt, resolver::<N>(), options)
}

/// The fewest allocations of one run of a future, of several runs: other threads of the test may add some.
fn allocations<F: Future>(run: impl Fn() -> F) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let count = |_| {
        runtime.block_on(async {
            let connect = run();
            let region = Region::new(ALLOCATOR);
            let connected = connect.await;
            let count = region.change().allocations;
            drop(connected);
            count
        })
    };
    (0..20).map(count).min().unwrap()
}

fn options(delay: Option<Duration>) -> ConnectOptions {
    let mut options = ConnectOptions::default();
    options.attempt_delay = delay;
    options
}

/// The whole stack costs at most four allocations more than its leaves.
#[test]
fn a_connect_allocates_little() {
    let _alone = alone();
    let target = target();
    let bare = allocations(|| {
        let candidate = Candidate::new(target.clone(), addr(1));
        async move {
            let transport = connector().oneshot(candidate).await.unwrap();
            handshake::<Io>().oneshot(transport).await.unwrap()
        }
    });
    let mut seen = Vec::new();
    for delay in [None, Some(Duration::from_millis(250))] {
        let one = stack::<1>(options(delay));
        let five = stack::<5>(options(delay));
        let boxed = tower::util::BoxCloneSyncService::new(stack::<5>(options(delay)));
        seen.push(allocations(|| one.clone().oneshot(target.clone())));
        seen.push(allocations(|| five.clone().oneshot(target.clone())));
        seen.push(allocations(|| boxed.clone().oneshot(target.clone())));
    }
    println!("bare leaf: {bare}; one, five and boxed, sequential and with an attempt delay: {seen:?}");
    assert!(seen.iter().all(|count| *count <= bare + 4), "bare {bare}, stack {seen:?}");
}

/// connect 27: 100,000 distinct names leave no state.
/// reviewer 17: memory does not grow with the names seen.
/// scenario S37: 10,000 distinct names do not grow it.
#[test]
fn names_leave_nothing_behind() {
    let _alone = alone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stack = stack::<2>(options(None));
    let connect = |n: u32| {
        let target = Pinned::new(Address::new(&format!("node-{n}.routes.test"), 9042).unwrap());
        runtime.block_on(stack.clone().oneshot(target)).unwrap();
    };
    (0..100).for_each(connect);
    let region = Region::new(ALLOCATOR);
    (100..100_100).for_each(connect);
    let change = region.change();
    let kept = change.bytes_allocated as i64 - change.bytes_deallocated as i64;
    // A few bytes for the test's own threads, against several megabytes if a name were kept.
    assert!(kept.abs() < 64 * 1024, "{kept} bytes kept");
}
