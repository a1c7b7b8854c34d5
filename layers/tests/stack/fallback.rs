//! The strictly sequential walk.

use messina_layers::{AttemptError, ConnectError, FallbackLayer, Scope, Stage};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt};

use crate::support::{
    Capture, Event::*, Servers, Step, addr, as_given, candidates, number, refused, secs, stack, target,
};

fn slow_refusal() -> Step {
    Step::FailAfter(secs(1), refused())
}

/// connect 32: one after the other, at most one attempt in flight.
/// connect 35: a failed candidate's socket is closed before the next starts.
/// connect D33: the layer is strictly sequential unless given an attempt delay.
#[tokio::test(start_paused = true)]
async fn one_after_the_other_and_closed_before_the_next() {
    let servers = Servers::new([(1, slow_refusal()), (2, slow_refusal()), (3, Step::AcceptAfter(secs(30)))]);
    let started = Instant::now();
    let established = FallbackLayer::new().layer(servers.clone()).oneshot(candidates(1..=4)).await.unwrap();
    assert_eq!((established.addr, started.elapsed(), servers.most_open()), (addr(3), secs(32), 1));
    assert_eq!(servers.log(), [Dialled(1), Closed(1), Dialled(2), Closed(2), Dialled(3)]);
    assert_eq!(servers.open(), 1, "the winner's");
    drop(established);
    assert_eq!(servers.open(), 0);
}

/// connect 33: the first success ends the loop; later candidates are not dialled.
/// scenario S1: the dead first record is among those that lost.
/// report 9: [dead, live] connects.
/// reviewer 1: the other addresses are tried.
#[tokio::test(start_paused = true)]
async fn the_first_success_wins() {
    let servers = Servers::new([(2, Step::Accept), (3, Step::Accept)]);
    let established = stack(&servers, 1..=3, as_given()).oneshot(target()).await.unwrap();
    assert_eq!((established.connection.n, servers.dialled()), (2, vec![1, 2]));
    let lost = &established.failed[..];
    assert_eq!((lost.len(), lost[0].addr, lost[0].error.stage()), (1, addr(1), Stage::TCP));
}

/// connect 36: one error, owning every failure.
/// connect 52: no failure of an ordinary attempt ends the walk.
/// scenario S2: one entry per distinct address, with stage and cause, in dial order.
/// report 23: the message lists every cause.
#[tokio::test(start_paused = true)]
async fn when_all_fail_the_error_owns_every_attempt() {
    let silent = AttemptError::new(Stage::HANDSHAKE, messina_layers::TimedOut::new(secs(10)));
    let certificate = AttemptError::new(Stage::TLS, "certificate is for other.test");
    let servers = Servers::new([(2, Step::FailAfter(secs(10), silent)), (3, Step::Fail(certificate))]);
    let error = stack(&servers, [1, 2, 3, 2, 1], as_given()).oneshot(target()).await.unwrap_err();
    assert!(matches!(error, ConnectError::Exhausted { .. }));
    assert_eq!(error.failed().iter().map(|a| number(a.addr)).collect::<Vec<_>>(), [1, 2, 3]);
    let report = error.report().to_string();
    let lines: Vec<&str> = report.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            "connecting to db.test:9042 failed at all of 3 addresses",
            "  10.0.0.1:9042  tcp             0.0ns  connection refused",
            "  10.0.0.2:9042  handshake       10.0s  no answer within 10s",
            "  10.0.0.3:9042  tls             0.0ns  certificate is for other.test",
        ]
    );
}

/// connect 38: with one candidate the error is that failure, with nothing attached.
#[tokio::test(start_paused = true)]
async fn a_single_failure_stands_alone() {
    let error = stack(&Servers::default(), [1], as_given()).oneshot(target()).await.unwrap_err();
    assert_eq!(error.to_string(), "connecting to db.test:9042 failed at its only address");
    assert_eq!(error.failed().len(), 1);
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "10.0.0.1:9042 failed at the tcp step after 0.0ns");
    assert_eq!(source.source().unwrap().to_string(), "connection refused");
}

/// connect 41: the debug event names target, failed address and cause.
#[tokio::test(start_paused = true)]
async fn each_advance_is_told() {
    let capture = Capture::start();
    let handshake = AttemptError::new(Stage::HANDSHAKE, "foreign cluster");
    let servers = Servers::new([(2, Step::FailAfter(secs(1), handshake)), (3, Step::Accept)]);
    stack(&servers, 1..=4, as_given()).oneshot(target()).await.unwrap();
    let told = capture.events("trying next address");
    let fields = |i: usize, name: &str| told[i].fields[name].clone();
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|line| line.level == tracing::Level::DEBUG && line.fields["target"] == "db.test:9042"));
    assert_eq!((fields(0, "failed"), fields(0, "next")), ("10.0.0.1:9042".into(), "10.0.0.2:9042".into()));
    assert_eq!((fields(0, "cause"), fields(0, "stage")), ("connection refused".into(), "tcp".into()));
    assert_eq!((fields(1, "failed"), fields(1, "next")), ("10.0.0.2:9042".into(), "10.0.0.3:9042".into()));
    assert_eq!((fields(1, "cause"), fields(1, "stage")), ("foreign cluster".into(), "handshake".into()));
}

/// connect 55: a terminal failure still carries the earlier causes.
#[tokio::test(start_paused = true)]
async fn a_failure_of_the_endpoint_ends_the_walk() {
    let terminal = AttemptError::new(Stage::new("options"), "no common version").with_scope(Scope::Endpoint);
    let servers = Servers::new([(2, Step::Fail(terminal))]);
    let error = stack(&servers, 1..=5, as_given()).oneshot(target()).await.unwrap_err();
    assert!(matches!(error, ConnectError::Rejected { untried: 3, .. }), "{error:?}");
    assert_eq!((servers.dialled(), error.failed().len(), error.untried()), (vec![1, 2], 2, 3));
    let report = error.report().to_string();
    assert!(report.contains("holds for every address (3 not tried)"), "{report}");
    assert!(report.contains("10.0.0.1:9042") && report.contains("no common version"), "{report}");
}

fn bad_credentials() -> Step {
    Step::Fail(AttemptError::new(Stage::new("auth"), "bad credentials").with_scope(Scope::Suspect))
}

/// connect D14: refused logins are not terminal, unless a limit is set.
/// connect 28: with wrong credentials the cap bounds the refused logins.
/// reviewer 31: a small limit of their own.
#[tokio::test(start_paused = true)]
async fn refused_logins_go_on_up_to_their_limit() {
    let script = || (1..=12).filter(|n| n % 2 == 1).map(|n| (n, bad_credentials())).collect::<Vec<_>>();
    for (limit, dialled, tail) in [
        (None, 5, ""),
        (Some(0), 1, "the limit on refused logins is reached (4 not tried)"),
        (Some(1), 1, "the limit on refused logins is reached (4 not tried)"),
        (Some(2), 3, "the limit on refused logins is reached (2 not tried)"),
        (Some(9), 5, ""),
    ] {
        let servers = Servers::new(script());
        let mut options = as_given();
        options.max_auth_failures = limit;
        let error = stack(&servers, 1..=12, options).oneshot(target()).await.unwrap_err();
        assert_eq!(servers.dialled().len(), dialled, "{limit:?}");
        assert!(error.to_string().ends_with(tail), "{error}");
        assert_eq!(error.class(), messina_layers::Class::Auth);
    }
    // An ordinary failure is no refused login, whatever the limit.
    let mut options = as_given();
    options.max_auth_failures = Some(0);
    let servers = Servers::new([(2, Step::Accept)]);
    assert!(stack(&servers, 1..=2, options).oneshot(target()).await.is_ok());
}

/// connect 15: a panic costs its candidate.
#[tokio::test(start_paused = true)]
async fn a_panic_costs_one_candidate() {
    let servers = Servers::new([(1, Step::Panic), (2, Step::Accept)]);
    let established = stack(&servers, 1..=2, as_given()).oneshot(target()).await.unwrap();
    let lost = &established.failed[0];
    assert_eq!(lost.error.cause().to_string(), "panicked: server 10.0.0.1:9042 broke the client");
    assert_eq!(servers.log()[..2], [Dialled(1), Closed(1)]);
}

/// reviewer 33: an error is owned by its connect and is never added to later.
#[tokio::test(start_paused = true)]
async fn errors_of_two_connects_share_nothing() {
    let servers = Servers::default();
    let stack = stack(&servers, 1..=2, as_given());
    let first = stack.clone().oneshot(target()).await.unwrap_err();
    for _ in 0..3 {
        assert_eq!(stack.clone().oneshot(target()).await.unwrap_err().failed().len(), 2);
    }
    assert_eq!(first.failed().len(), 2);
}

/// An established connection serves what the connection serves: a stack is a tower `MakeService`.
#[tokio::test(start_paused = true)]
async fn an_established_connection_is_a_service() {
    let echo = tower::service_fn(async |n: u32| Ok::<_, std::convert::Infallible>(n + 1));
    let connection = move |_| async move { Ok::<_, std::convert::Infallible>(echo) };
    let mut make = FallbackLayer::new().layer(tower::service_fn(connection));
    let mut connection = make.ready().await.unwrap().call(candidates([1])).await.unwrap();
    assert_eq!(connection.ready().await.unwrap().call(1).await.unwrap(), 2);
    let mapped = connection.map(|_| "mapped");
    assert_eq!((mapped.connection, mapped.addr), ("mapped", addr(1)));
}
