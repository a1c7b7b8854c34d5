//! Readiness: always ready above the fallback, tower's ordinary rule below it.

use std::{
    future::ready,
    task::{Context, Poll},
};

use messina_layers::{
    Address, Attempt, AttemptLayer, Candidate, Candidates, ConnectError, ConnectOptions, Established, Fallback,
    FallbackLayer, Pinned, connect_stack,
};
use tokio::time::{Instant, timeout};
use tokio_test::{assert_pending, assert_ready, assert_ready_ok, task};
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimit, service_fn};
use tower_test::mock;

use crate::support::{Servers, Step, addr, as_given, candidates, db, millis, refused, secs, stack, table, target};

type Target = Pinned<Address>;
type Mock = mock::Mock<Candidate<Target>, u8>;
type Handle = mock::Handle<Candidate<Target>, u8>;

fn fallback() -> (mock::Spawn<Fallback<Mock>>, Handle) {
    mock::spawn_layer(FallbackLayer::new())
}

/// Pin, resolve and shuffle are ready whatever the state of the resolver and of what is below.
#[tokio::test(start_paused = true)]
async fn a_stack_is_always_ready() {
    let (resolver, mut lookups) = mock::pair::<Address, Vec<std::net::SocketAddr>>();
    let (attempt, mut attempts) = mock::pair::<Candidate<Target>, u8>();
    lookups.allow(0);
    attempts.allow(0);
    let mut stack = mock::Spawn::new(connect_stack(attempt, resolver, as_given()));
    assert_ready_ok!(stack.poll_ready::<Target>());

    // The lookup waits for its capacity inside the future, and so does the attempt.
    let mut connect = task::spawn(stack.call(target()));
    assert_pending!(connect.poll());
    assert_pending!(lookups.poll_request());
    lookups.allow(1);
    assert!(connect.is_woken());
    assert_pending!(connect.poll());
    let (asked, answer) = assert_ready!(lookups.poll_request()).unwrap();
    assert_eq!(asked, db());
    answer.send_response(vec![addr(1)]);
    assert_pending!(connect.poll());
    assert_pending!(attempts.poll_request());
    attempts.allow(1);
    assert_pending!(connect.poll());
    let (candidate, answer) = assert_ready!(attempts.poll_request()).unwrap();
    assert_eq!(candidate.addr(), addr(1));
    answer.send_response(7);
    assert_eq!(assert_ready!(connect.poll()).unwrap().connection, 7);
}

/// A hung lookup holds no capacity below: another target of the same stack connects.
#[tokio::test(start_paused = true)]
async fn a_hung_lookup_blocks_nobody_below() {
    let resolver = service_fn(async |address: Address| match address {
        Address::Name(..) => std::future::pending().await,
        Address::Socket(addr) => Ok::<_, std::io::Error>([addr]),
    });
    let servers = Servers::new([(1, Step::Accept)]);
    let stack = connect_stack(ConcurrencyLimit::new(servers, 1), resolver, as_given());
    let mut hung = task::spawn(stack.clone().oneshot(target()));
    assert_pending!(hung.poll());
    for easy in [Pinned::new(Address::Socket(addr(1))), Pinned::at(db(), addr(1).into())] {
        let established = timeout(secs(1), stack.clone().oneshot(easy)).await.unwrap().unwrap();
        assert_eq!(established.addr, addr(1));
    }
    drop(hung);
}

/// Readiness comes before the candidate is taken: a service without capacity costs no address.
#[tokio::test(start_paused = true)]
async fn a_wait_for_capacity_costs_no_candidate() {
    let (mut service, mut handle) = fallback();
    handle.allow(1);
    assert_ready_ok!(service.poll_ready::<Candidates<Target>>());
    let mut walk = task::spawn(service.call(candidates([1, 2])));
    assert_pending!(walk.poll());
    let (candidate, answer) = assert_ready!(handle.poll_request()).unwrap();
    assert_eq!(candidate.addr(), addr(1));
    answer.send_error("first");
    for _ in 0..3 {
        assert_pending!(walk.poll());
        assert_pending!(handle.poll_request());
    }
    handle.allow(1);
    assert!(walk.is_woken());
    assert_pending!(walk.poll());
    let (candidate, answer) = assert_ready!(handle.poll_request()).unwrap();
    assert_eq!(candidate.addr(), addr(2));
    answer.send_response(2);
    let established: Established<_, _> = assert_ready!(walk.poll()).unwrap();
    assert_eq!((established.connection, established.failed.len()), (2, 1));
}

/// No more is asked of the service below than is used: one call for each readiness.
#[tokio::test(start_paused = true)]
async fn the_service_that_became_ready_is_the_one_called() {
    // A mock panics if a clone is called that was not ready, and a panic would be the attempt's error.
    let (mut service, mut handle) = fallback();
    let mut walk = task::spawn(service.call(candidates([1, 2, 3])));
    for n in 1..=3 {
        assert_pending!(walk.poll());
        let (candidate, answer) = assert_ready!(handle.poll_request()).unwrap();
        assert_eq!(candidate.addr(), addr(n));
        answer.send_error("next");
    }
    let error: ConnectError = assert_ready!(walk.poll()).unwrap_err();
    assert!(error.failed().iter().all(|attempt| attempt.error.cause().to_string() == "next"), "{}", error.report());
}

/// The same holds for an attempt layer between them, whose readiness is that of the service below.
#[tokio::test(start_paused = true)]
async fn an_attempt_layer_passes_readiness_on() {
    let (mut service, mut handle): (mock::Spawn<Attempt<Mock>>, Handle) = mock::spawn_layer(AttemptLayer::new());
    handle.allow(0);
    assert_pending!(service.poll_ready::<Candidate<Target>>());
    handle.allow(1);
    assert_ready_ok!(service.poll_ready::<Candidate<Target>>());
    let mut attempt = task::spawn(service.call(Candidate::new(target(), addr(1))));
    assert_pending!(attempt.poll());
    assert_ready!(handle.poll_request()).unwrap().1.send_response(1);
    assert_eq!(assert_ready!(attempt.poll()).unwrap(), 1);
    handle.send_error("broken");
    let error = assert_ready!(service.poll_ready::<Candidate<Target>>()).unwrap_err();
    assert_eq!(error.cause().to_string(), "broken");
}

/// A fallback over a concurrency limit of one does not deadlock: the failed attempt frees its permit first.
#[tokio::test(start_paused = true)]
async fn a_limit_of_one_below_does_not_deadlock() {
    for delay in [None, Some(millis(250))] {
        let mut options = as_given();
        options.attempt_delay = delay;
        let servers = Servers::new([(1, Step::FailAfter(secs(2), refused())), (3, Step::AcceptAfter(secs(1)))]);
        let stack = connect_stack(ConcurrencyLimit::new(servers.clone(), 1), table(1..=3), options);
        let started = Instant::now();
        let established = timeout(secs(60), stack.oneshot(target())).await.unwrap().unwrap();
        assert_eq!((established.addr, started.elapsed()), (addr(3), secs(3)), "{delay:?}");
        assert_eq!((servers.dialled(), servers.most_open()), (vec![1, 2, 3], 1));
    }
}

/// Two connects share a limit of one and both end.
#[tokio::test(start_paused = true)]
async fn two_connects_share_a_limit_of_one() {
    let servers = Servers::new([(1, Step::FailAfter(secs(1), refused())), (2, Step::AcceptAfter(secs(1)))]);
    let stack = connect_stack(ConcurrencyLimit::new(servers.clone(), 1), table(1..=2), as_given());
    let both = async { tokio::join!(stack.clone().oneshot(target()), stack.clone().oneshot(target())) };
    let (one, other) = timeout(secs(60), both).await.unwrap();
    assert_eq!((one.unwrap().addr, other.unwrap().addr, servers.most_logins()), (addr(2), addr(2), 0));
}

/// Readiness that a future holds is given back when the future is dropped.
#[tokio::test(start_paused = true)]
async fn a_dropped_connect_gives_its_capacity_back() {
    let servers = Servers::new([(1, Step::Silence), (2, Step::Accept)]);
    let limited = ConcurrencyLimit::new(servers, 1);
    let fallback = FallbackLayer::new().layer(limited);
    assert!(timeout(secs(1), fallback.clone().oneshot(candidates([1]))).await.is_err());
    timeout(secs(1), fallback.oneshot(candidates([2]))).await.unwrap().unwrap();
}

/// A service below that breaks ends the walk, and what failed before is kept.
#[tokio::test(start_paused = true)]
async fn a_broken_service_below_ends_the_walk() {
    let (mut service, mut handle) = fallback();
    let mut walk = task::spawn(service.call(candidates([1, 2])));
    assert_pending!(walk.poll());
    assert_ready!(handle.poll_request()).unwrap().1.send_error("refused");
    handle.send_error("the connector is gone");
    let error: ConnectError = assert_ready!(walk.poll()).unwrap_err();
    let ConnectError::NotReady { source, failed, .. } = &error else { panic!("{error:?}") };
    assert_eq!((source.to_string().as_str(), failed.len()), ("the connector is gone", 1));
    assert!(error.report().to_string().contains("10.0.0.1:9042"), "{}", error.report());
}

#[derive(Clone)]
struct PanicsWhenAsked;

impl<T> Service<Candidate<T>> for PanicsWhenAsked {
    type Response = ();
    type Error = std::io::Error;
    type Future = std::future::Ready<std::io::Result<()>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        panic!("ready for nothing");
    }

    fn call(&mut self, _: Candidate<T>) -> Self::Future {
        ready(Ok(()))
    }
}

/// connect 15: a panic while becoming ready ends the connect with an error.
#[tokio::test(start_paused = true)]
async fn a_panic_while_becoming_ready_is_an_error() {
    let error = FallbackLayer::new().layer(PanicsWhenAsked).oneshot(candidates([1])).await.unwrap_err();
    assert!(error.report().to_string().ends_with("panicked: ready for nothing"), "{}", error.report());
}

/// A boxed stack has one type, is `Sync`, and serves the same.
#[tokio::test(start_paused = true)]
async fn a_stack_can_be_boxed() {
    fn sync<T: Send + Sync + Clone + 'static>(value: T) -> T {
        value
    }
    let servers = Servers::new([(2, Step::Accept)]);
    let stack = stack(&servers, 1..=2, ConnectOptions::default());
    let boxed: messina_layers::BoxConnect<Target, _> = tower::util::BoxCloneSyncService::new(stack);
    let established = tokio::spawn(sync(boxed).oneshot(target())).await.unwrap().unwrap();
    assert_eq!(established.addr, addr(2));
}
