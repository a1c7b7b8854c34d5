//! The budget of a whole connect, looked at between attempts only.

use std::time::Duration;

use messina_layers::{Address, ConnectError, ConnectOptions, connect_stack};
use tokio::time::Instant;
use tower::{ServiceExt, service_fn};

use crate::support::{Servers, Step, addr, as_given, millis, refused, secs, stack, target};

fn with(budget: Duration, delay: Option<Duration>) -> ConnectOptions {
    let mut options = as_given();
    (options.budget, options.attempt_delay, options.cap) = (Some(budget), delay, 6);
    options
}

fn silent(after: u64) -> Step {
    Step::FailAfter(secs(after), refused())
}

/// scenario H9: six silent records: the connect ends by the budget plus one attempt, counting tried and untried.
/// connect D10: an optional budget, looked at between attempts.
/// reviewer 28: a total budget, never cutting a running attempt.
#[tokio::test(start_paused = true)]
async fn the_budget_is_looked_at_between_attempts() {
    let servers = Servers::new((1..=6).map(|n| (n, silent(5))));
    let started = Instant::now();
    let error = stack(&servers, 1..=6, with(secs(12), None)).oneshot(target()).await.unwrap_err();
    assert_eq!(started.elapsed(), secs(15));
    assert!(matches!(error, ConnectError::OutOfTime { untried: 3, budget, .. } if budget == secs(12)), "{error:?}");
    assert_eq!((error.failed().len(), servers.dialled()), (3, vec![1, 2, 3]));
    assert_eq!(error.to_string(), "connecting to db.test:9042 used up its 12s: 3 addresses tried, 3 not tried");
    assert!(error.report().to_string().ends_with("3 more not tried"));
}

/// scenario H9: an attempt in progress at the deadline may finish and win.
#[tokio::test(start_paused = true)]
async fn an_attempt_in_progress_may_win_after_the_deadline() {
    let servers = Servers::new([(1, silent(5)), (2, Step::AcceptAfter(secs(30)))]);
    let established = stack(&servers, 1..=6, with(secs(6), None)).oneshot(target()).await.unwrap();
    assert_eq!((established.addr, established.failed.len()), (addr(2), 1));
}

/// The first attempt is always made, and a budget that nothing is left for is no reason of its own.
#[tokio::test(start_paused = true)]
async fn a_budget_of_zero_tries_one() {
    let servers = Servers::default();
    let error = stack(&servers, 1..=6, with(Duration::ZERO, None)).oneshot(target()).await.unwrap_err();
    assert_eq!((error.failed().len(), error.untried()), (1, 5));
    let servers = Servers::new([(1, Step::Accept)]);
    assert!(stack(&servers, 1..=6, with(Duration::ZERO, None)).oneshot(target()).await.is_ok());
    // All tried in time.
    let error = stack(&Servers::default(), 1..=6, with(secs(1), None)).oneshot(target()).await.unwrap_err();
    assert!(matches!(error, ConnectError::Exhausted { .. }));
}

/// connect D10: the budget is that of the whole connect, its lookup included.
#[tokio::test(start_paused = true)]
async fn a_slow_lookup_counts() {
    let slow = service_fn(async |_: Address| {
        tokio::time::sleep(secs(4)).await;
        Ok::<_, std::io::Error>([addr(1), addr(2), addr(3)])
    });
    let servers = Servers::new((1..=3).map(|n| (n, silent(5))));
    let started = Instant::now();
    let error = connect_stack(servers.clone(), slow, with(secs(8), None)).oneshot(target()).await.unwrap_err();
    assert_eq!((started.elapsed(), error.failed().len(), error.untried()), (secs(9), 1, 2));
}

/// connect D33: with overlapping attempts too, none is started after the deadline and none is cut.
#[tokio::test(start_paused = true)]
async fn a_budget_with_overlapping_attempts() {
    let servers = Servers::new((1..=6).map(|n| (n, silent(5))));
    let started = Instant::now();
    let options = with(millis(600), Some(millis(250)));
    let error = stack(&servers, 1..=6, options).oneshot(target()).await.unwrap_err();
    // Started at 0, 250 and 500 ms.
    assert_eq!((started.elapsed(), servers.dialled()), (millis(5500), vec![1, 2, 3]));
    assert!(matches!(error, ConnectError::OutOfTime { untried: 3, .. }), "{error:?}");

    let accept_late = |n| if n == 2 { Step::AcceptAfter(secs(7)) } else { silent(5) };
    let servers = Servers::new((1..=6).map(|n| (n, accept_late(n))));
    let established = stack(&servers, 1..=6, options).oneshot(target()).await.unwrap();
    assert_eq!((established.addr, established.failed.len()), (addr(2), 2));
}

/// Waiting for readiness is part of the time.
#[tokio::test(start_paused = true)]
async fn a_wait_for_capacity_counts() {
    let servers = Servers::new((1..=6).map(|n| (n, silent(5))));
    let limited = tower::limit::ConcurrencyLimit::new(servers.clone(), 1);
    let stack = connect_stack(limited, crate::support::table(1..=6), with(secs(7), None));
    let (one, other) = tokio::join!(stack.clone().oneshot(target()), stack.oneshot(target()));
    // In turn at 0, 5, 10 s; at 10 s both are out of time, but one had tried nothing before.
    let tried = [one.unwrap_err().failed().len(), other.unwrap_err().failed().len()];
    assert_eq!((tried.iter().sum::<usize>(), servers.dialled().len()), (2, 2), "{tried:?}");
}
