//! The system's resolver, on the blocking pool.

use std::{num::NonZeroUsize, sync::mpsc, time::Duration};

use messina_layers::{Address, Candidate, ConnectOptions, Pinned, SystemResolver, connect_stack};
use tokio::time::timeout;
use tower::{Service, ServiceExt, service_fn};

use crate::support::{LIMIT, literal_is_answered_at_once, name};

/// report 17: localhost is every loopback address it has.
#[tokio::test]
async fn localhost_is_found() {
    let answer = SystemResolver::new().oneshot(name("localhost")).await.unwrap();
    assert!(!answer.is_empty());
    assert!(answer.iter().all(|addr| addr.ip().is_loopback() && addr.port() == 9042), "{answer:?}");
}

/// scenario S5: a literal is answered with itself, without a hop.
#[test]
fn literals_are_answered_at_once() {
    literal_is_answered_at_once(SystemResolver::default());
}

/// A runtime whose one blocking thread is taken until the sender is dropped.
fn blocked_runtime() -> (tokio::runtime::Runtime, mpsc::Sender<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let (release, blocked) = mpsc::channel::<()>();
    runtime.spawn_blocking(move || blocked.recv());
    (runtime, release)
}

/// connect 12: a lookup that blocks holds up nothing else on its thread.
/// reviewer 6: the task that asks does not stall.
/// report 2: a timer keeps ticking.
#[test]
fn a_blocking_lookup_does_not_block_the_caller() {
    let (runtime, release) = blocked_runtime();
    runtime.block_on(async {
        let mut lookup = tokio::spawn(SystemResolver::new().oneshot(name("localhost")));
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        for _ in 0..10 {
            tokio::select! {
                _ = &mut lookup => panic!("its thread is taken"),
                _ = ticks.tick() => {}
            }
        }
        drop(release);
        assert!(!lookup.await.unwrap().unwrap().is_empty());
    });
}

/// A target that needs no lookup is not blocked by one that hangs.
/// scenario S38: dropping the waiter frees it at once.
#[test]
fn a_hung_lookup_blocks_no_literal() {
    let (runtime, release) = blocked_runtime();
    runtime.block_on(async {
        let attempt = service_fn(async |_: Candidate<Pinned<Address>>| Ok::<_, std::io::Error>(()));
        let resolver = SystemResolver::with_concurrency(NonZeroUsize::MIN);
        let stack = connect_stack(attempt, resolver, ConnectOptions::default());
        let mut hung = tokio_test::task::spawn(stack.clone().oneshot(Pinned::new(name("localhost"))));
        assert!(hung.poll().is_pending());
        let literal = Pinned::new("10.0.0.1:1".parse::<Address>().unwrap());
        let pinned = Pinned::at(name("localhost"), std::net::IpAddr::from([10, 0, 0, 2]).into());
        for target in [literal, pinned] {
            let connect = timeout(LIMIT, stack.clone().oneshot(target));
            assert!(connect.await.is_ok(), "neither literals nor pinned targets wait");
        }
        drop(hung);
    });
    drop(release);
}

/// No more lookups than allowed block a thread, also when nobody waits for them any more.
#[test]
fn lookups_are_limited() {
    let (runtime, release) = blocked_runtime();
    runtime.block_on(async {
        let mut resolver = SystemResolver::with_concurrency(NonZeroUsize::MIN);
        let mut first = tokio_test::task::spawn(resolver.call(name("localhost")));
        let mut second = tokio_test::task::spawn(resolver.call(name("localhost")));
        assert!(first.poll().is_pending() && second.poll().is_pending());
        // Its thread is not free because its waiter is gone.
        drop(first);
        assert!(!second.is_woken() && second.poll().is_pending());
        // The one thread is taken again once the first lookup has left it; the second gets there only after that.
        let (release_again, blocked_again) = mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || blocked_again.recv());
        drop(release);
        assert!(timeout(LIMIT, &mut second).await.is_err(), "it had not been let in beside the first");
        drop(release_again);
        assert!(!second.await.unwrap().is_empty());
    });
}
