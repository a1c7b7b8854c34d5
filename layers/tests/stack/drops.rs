//! Dropping a connect, at any stage, leaves nothing behind.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use messina_layers::{
    Address, AttemptLayer, Candidate, FallbackLayer, FixedResolver, HandshakeLayer, Transport, connect_stack,
};
use tokio::{io::AsyncReadExt, time::timeout};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{Servers, Step, addr, as_given, candidates, millis, secs, stack, table, target};

/// Counts what is alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicUsize>);

struct Token(Alive);

impl Alive {
    fn token(&self) -> Token {
        self.0.fetch_add(1, Ordering::Relaxed);
        Token(self.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// connect 45: dropping the connect aborts the lookup.
/// scenario H2: closed during the lookup: nothing is dialled.
/// reviewer 38: closing aborts the round.
#[tokio::test(start_paused = true)]
async fn dropped_during_the_lookup() {
    let (lookups, servers) = (Alive::default(), Servers::new([(1, Step::Accept)]));
    let counted = lookups.clone();
    let resolver = service_fn(move |_: Address| {
        let token = counted.token();
        async move {
            let _token = token;
            pending::<std::io::Result<[std::net::SocketAddr; 0]>>().await
        }
    });
    let connect = connect_stack(servers.clone(), resolver, as_given()).oneshot(target());
    let mut connect = tokio_test::task::spawn(connect);
    assert!(connect.poll().is_pending());
    assert_eq!(lookups.count(), 1);
    drop(connect);
    tokio::time::sleep(secs(60)).await;
    assert_eq!((lookups.count(), servers.dialled().len()), (0, 0));
}

/// connect 45: dropping the connect aborts the attempt and closes its socket.
/// scenario H2: closed during the first handshake: the good second address is never dialled.
#[tokio::test(start_paused = true)]
async fn dropped_during_an_attempt() {
    let servers = Servers::new([(1, Step::Silence), (2, Step::Accept)]);
    let connect = stack(&servers, 1..=2, as_given()).oneshot(target());
    assert!(timeout(secs(1), connect).await.is_err());
    tokio::time::sleep(secs(60)).await;
    assert_eq!((servers.dialled(), servers.open()), (vec![1], 0));
}

/// connect 45: also while it waits for the login of another attempt.
#[tokio::test(start_paused = true)]
async fn dropped_while_waiting_for_the_turn() {
    let login = || Step::Login(millis(1), secs(100));
    let servers = Servers::new([(1, login()), (2, login()), (3, Step::Silence)]);
    let mut options = as_given();
    options.attempt_delay = Some(millis(250));
    assert!(timeout(secs(1), stack(&servers, 1..=3, options).oneshot(target())).await.is_err());
    assert_eq!((servers.most_open(), servers.open()), (3, 0));
}

/// connect 45: drop at each stage of an attempt; the peer sees its end of the bytes closed.
#[tokio::test(start_paused = true)]
async fn dropped_at_each_stage_of_an_attempt() {
    for stage in ["tcp", "handshake"] {
        let (near, mut far) = tokio::io::duplex(64);
        let near = Arc::new(std::sync::Mutex::new(Some(near)));
        let connector = service_fn(move |candidate: Candidate<_>| {
            let near = near.lock().unwrap().take().unwrap();
            async move {
                if stage == "tcp" {
                    let _near = near;
                    return pending().await;
                }
                Ok::<_, std::io::Error>(Transport::new(candidate, near))
            }
        });
        let handshake = service_fn(|transport: Transport<_, tokio::io::DuplexStream>| async move {
            let _transport = transport;
            pending::<std::io::Result<()>>().await
        });
        let attempt = ServiceBuilder::new()
            .layer(FallbackLayer::new())
            .layer(AttemptLayer::new())
            .layer(HandshakeLayer::new(handshake).without_timeout())
            .service(connector);
        let mut connect = tokio_test::task::spawn(attempt.oneshot(candidates([1])));
        assert!(connect.poll().is_pending());
        let mut byte = [0];
        assert!(timeout(secs(1), far.read(&mut byte)).await.is_err(), "{stage}: still open");
        drop(connect);
        assert_eq!(far.read(&mut byte).await.unwrap(), 0, "{stage}: closed");
    }
}

/// scenario S38: a runtime that ends with a lookup in flight: the waiter fails and nothing hangs.
#[test]
fn a_runtime_may_end_during_a_lookup() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let resolver = service_fn(|_: Address| pending::<std::io::Result<[std::net::SocketAddr; 0]>>());
    let connect = runtime.spawn(connect_stack(Servers::default(), resolver, as_given()).oneshot(target()));
    drop(runtime);
    let ended = tokio_test::block_on(connect);
    assert!(ended.unwrap_err().is_cancelled());
}

/// A walk that ended holds nothing of the attempts that lost.
#[tokio::test(start_paused = true)]
async fn an_error_holds_no_socket() {
    let servers = Servers::default();
    let _error = stack(&servers, 1..=5, as_given()).oneshot(target()).await.unwrap_err();
    assert_eq!(servers.open(), 0);
    let _error = FallbackLayer::new().layer(servers.clone()).oneshot(candidates([9])).await.unwrap_err();
    let _: FixedResolver = table([addr(1).port() as u8]);
    assert_eq!(servers.open(), 0);
}
