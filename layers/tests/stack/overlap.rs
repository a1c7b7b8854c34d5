//! The attempt delay: attempts that overlap, one winner.

use std::time::Duration;

use messina_layers::{AttemptError, ConnectError, ConnectOptions, FallbackLayer, GivenUp, Scope, Stage};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

use crate::support::{
    Capture, Event::*, Servers, Step, addr, as_given, candidates, millis, number, refused, secs, stack, target,
};

const DELAY: Duration = millis(250);

fn overlapping() -> ConnectOptions {
    let mut options = as_given();
    options.attempt_delay = Some(DELAY);
    options
}

/// connect D33: the next starts beside one that has not answered within the delay, not before.
#[tokio::test(start_paused = true)]
async fn the_next_starts_after_the_delay() {
    let servers = Servers::new([(1, Step::Silence), (2, Step::Silence), (3, Step::AcceptAfter(millis(30)))]);
    let started = Instant::now();
    let established = stack(&servers, 1..=4, overlapping()).oneshot(target()).await.unwrap();
    assert_eq!((established.addr, started.elapsed()), (addr(3), millis(530)));
    assert_eq!((servers.dialled(), servers.most_open()), (vec![1, 2, 3], 3));
    assert_eq!(servers.open(), 1, "the others are dropped");
}

/// connect 33: an answer within the delay keeps later candidates undialled.
#[tokio::test(start_paused = true)]
async fn nothing_overlaps_within_the_delay() {
    let servers = Servers::new([(1, Step::AcceptAfter(millis(249)))]);
    stack(&servers, 1..=4, overlapping()).oneshot(target()).await.unwrap();
    assert_eq!(servers.log(), [Dialled(1), Closed(1)]);
}

/// connect D33: the first success wins, also if it started later or earlier than others in flight.
#[tokio::test(start_paused = true)]
async fn the_first_success_wins_and_the_others_are_dropped() {
    for (first, second, winner) in [(400, 100, 2), (300, 100, 1)] {
        let accept = |after| Step::AcceptAfter(millis(after));
        let servers = Servers::new([(1, accept(first)), (2, accept(second))]);
        let established = stack(&servers, 1..=3, overlapping()).oneshot(target()).await.unwrap();
        assert_eq!((established.addr, servers.dialled(), servers.open()), (addr(winner), vec![1, 2], 1));
        // The one that was overtaken is told, with the time it had.
        let lost = &established.failed[..];
        assert_eq!((lost.len(), lost[0].addr), (1, addr(3 - winner)));
        assert!(lost[0].error.find::<GivenUp>().is_some() && lost[0].elapsed > Duration::ZERO);
    }
}

/// connect D33: a failure starts the next at once.
#[tokio::test(start_paused = true)]
async fn a_failure_starts_the_next_at_once() {
    let servers = Servers::new([(1, Step::FailAfter(millis(10), refused())), (3, Step::AcceptAfter(millis(5)))]);
    let started = Instant::now();
    stack(&servers, 1..=3, overlapping()).oneshot(target()).await.unwrap();
    assert_eq!((started.elapsed(), servers.dialled(), servers.most_open()), (millis(15), vec![1, 2, 3], 1));

    // Also while another is in flight, and the delay counts anew from there.
    let servers = Servers::new([
        (1, Step::Silence),
        (2, Step::FailAfter(millis(10), refused())),
        (3, Step::Silence),
        (4, Step::Accept),
    ]);
    let started = Instant::now();
    stack(&servers, 1..=4, overlapping()).oneshot(target()).await.unwrap();
    assert_eq!(started.elapsed(), millis(250 + 10 + 250));
}

/// connect 36: failures stand in dial order although they ended in another.
#[tokio::test(start_paused = true)]
async fn failures_stand_in_dial_order() {
    let fail = |after| Step::FailAfter(millis(after), refused());
    let servers = Servers::new([(1, fail(900)), (2, fail(500)), (3, fail(10))]);
    let error = stack(&servers, 1..=3, overlapping()).oneshot(target()).await.unwrap_err();
    assert!(matches!(error, ConnectError::Exhausted { .. }));
    assert_eq!(error.failed().iter().map(|a| number(a.addr)).collect::<Vec<_>>(), [1, 2, 3]);
    let elapsed: Vec<Duration> = error.failed().iter().map(|a| a.elapsed).collect();
    assert_eq!(elapsed, [millis(900), millis(500), millis(10)]);
}

/// connect 55: a failure that holds for every address ends those in flight too, each with a line of its own.
#[tokio::test(start_paused = true)]
async fn a_failure_of_the_endpoint_ends_all() {
    let terminal = AttemptError::new(Stage::new("options"), "no common version").with_scope(Scope::Endpoint);
    let servers = Servers::new([(1, Step::Silence), (2, Step::FailAfter(millis(300), terminal)), (3, Step::Silence)]);
    let error = stack(&servers, 1..=5, overlapping()).oneshot(target()).await.unwrap_err();
    assert!(matches!(error, ConnectError::Rejected { untried: 2, .. }), "{error:?}");
    assert_eq!((servers.dialled(), servers.open()), (vec![1, 2, 3], 0));
    let told: Vec<_> = error.failed().iter().map(|a| (number(a.addr), a.error.find::<GivenUp>().is_some())).collect();
    assert_eq!(told, [(1, true), (2, false), (3, true)]);
    assert_eq!(number(error.surfaced().unwrap().addr), 2);
}

/// connect 41: the event comes with each start after the first, and names the address that was passed over.
#[tokio::test(start_paused = true)]
async fn each_start_is_told() {
    let capture = Capture::start();
    let servers = Servers::new([
        (1, Step::FailAfter(millis(300), refused())),
        (2, Step::Silence),
        (3, Step::FailAfter(millis(10), refused())),
        (4, Step::Accept),
    ]);
    stack(&servers, 1..=4, overlapping()).oneshot(target()).await.unwrap();
    let told = capture.events("trying next address");
    let fields: Vec<[&str; 3]> =
        told.iter().map(|line| ["failed", "cause", "next"].map(|name| line.fields[name].as_str())).collect();
    assert_eq!(
        fields,
        [
            ["10.0.0.1:9042", "no answer within 250ms", "10.0.0.2:9042"],
            // The first one's failure starts the third, though the second was dialled last.
            ["10.0.0.1:9042", "connection refused", "10.0.0.3:9042"],
            ["10.0.0.3:9042", "connection refused", "10.0.0.4:9042"],
        ]
    );
}

/// A delay of zero would dial everything at once; it is the sequential walk.
#[tokio::test(start_paused = true)]
async fn no_delay_is_sequential() {
    let servers = Servers::new([(1, Step::FailAfter(secs(5), refused())), (2, Step::Accept)]);
    let fallback = FallbackLayer::new().with_attempt_delay(Duration::ZERO).layer(servers.clone());
    fallback.oneshot(candidates(1..=2)).await.unwrap();
    assert_eq!((servers.most_open(), servers.log()[1]), (1, Closed(1)));
}

/// A target with one address does not differ.
#[tokio::test(start_paused = true)]
async fn one_address_waits_for_its_own_limit() {
    let servers = Servers::new([(1, Step::AcceptAfter(secs(9)))]);
    let established = stack(&servers, [1], overlapping()).oneshot(target()).await.unwrap();
    assert_eq!((established.failed.len(), servers.dialled()), (0, vec![1]));
}

/// connect 45: dropping the connect drops every attempt in flight.
#[tokio::test(start_paused = true)]
async fn dropping_the_connect_drops_all_attempts() {
    let servers = Servers::new((1..=5).map(|n| (n, Step::Silence)));
    let connect = stack(&servers, 1..=5, overlapping()).oneshot(target());
    assert!(tokio::time::timeout(millis(900), connect).await.is_err());
    assert_eq!((servers.most_open(), servers.open()), (4, 0));
}

/// A panic of one attempt leaves those beside it running.
#[tokio::test(start_paused = true)]
async fn a_panic_beside_a_running_attempt() {
    let servers = Servers::new([(1, Step::AcceptAfter(millis(400))), (2, Step::Panic), (3, Step::Silence)]);
    let established = stack(&servers, 1..=3, overlapping()).oneshot(target()).await.unwrap();
    assert_eq!((established.addr, established.failed.len()), (addr(1), 2));
}
