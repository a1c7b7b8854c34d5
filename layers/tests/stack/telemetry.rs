//! What is counted and what is logged.

use std::collections::BTreeMap;

use messina_layers::{Address, AttemptError, AttemptLayer, Pinned, Stage, connect_stack, metrics};
use metrics_util::{
    MetricKind,
    debugging::{DebugValue, DebuggingRecorder},
};
use tower::{Layer, ServiceExt};
use tracing::Level;

use crate::support::{Answer, Capture, Scripted, Servers, Step, addr, as_given, millis, secs, target};

async fn connect(resolver: &Scripted, servers: &Servers, delay: Option<std::time::Duration>) -> bool {
    let mut options = as_given();
    options.attempt_delay = delay;
    let attempt = AttemptLayer::new().layer(servers.clone());
    connect_stack(attempt, resolver.clone(), options).oneshot(target()).await.is_ok()
}

/// Every series: name, labels, value (a count, or how many were recorded).
fn series(recorder: &DebuggingRecorder) -> BTreeMap<(String, String), u64> {
    let snapshot = recorder.snapshotter().snapshot().into_vec();
    let line = |(key, _, _, value): (metrics_util::CompositeKey, _, _, DebugValue)| {
        let labels: Vec<String> = key.key().labels().map(|l| format!("{}={}", l.key(), l.value())).collect();
        let value = match value {
            DebugValue::Counter(n) => n,
            DebugValue::Histogram(values) => values.len() as u64,
            DebugValue::Gauge(_) => panic!("no gauges here"),
        };
        ((key.key().name().to_owned(), labels.join(",")), value)
    };
    snapshot.into_iter().map(line).collect()
}

/// Names and labels of every series; no label holds an address.
#[tokio::test(start_paused = true)]
async fn attempts_and_lookups_are_counted() {
    let recorder = DebuggingRecorder::new();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let resolver = Scripted::addrs((1..=3).map(addr));
    let tls = AttemptError::new(Stage::TLS, "wrong name");
    let servers = Servers::new([(2, Step::Fail(tls)), (3, Step::Accept)]);
    assert!(connect(&resolver, &servers, None).await);

    resolver.set(Answer::Addrs(vec![]));
    assert!(!connect(&resolver, &servers, None).await);
    for broken in [Answer::Error("SERVFAIL"), Answer::PanicLater] {
        resolver.set(broken);
        assert!(!connect(&resolver, &servers, None).await);
    }
    resolver.set(Answer::Silence);
    assert!(!connect(&resolver, &servers, None).await);
    // One that is overtaken, and one that panics at once.
    resolver.set(Answer::Addrs(vec![addr(4), addr(5), addr(3)]));
    let servers = Servers::new([(4, Step::Silence), (5, Step::Panic), (3, Step::Accept)]);
    assert!(connect(&resolver, &servers, Some(millis(250))).await);

    let series = series(&recorder);
    let expected: BTreeMap<_, _> = [
        (metrics::ATTEMPTS, "stage=connected,outcome=ok", 2),
        (metrics::ATTEMPTS, "stage=tcp,outcome=error", 1),
        (metrics::ATTEMPTS, "stage=tls,outcome=error", 1),
        (metrics::ATTEMPTS, "stage=attempt,outcome=error", 1),
        (metrics::ATTEMPTS, "stage=attempt,outcome=dropped", 1),
        (metrics::ATTEMPT_DURATION, "outcome=ok", 2),
        (metrics::ATTEMPT_DURATION, "outcome=error", 3),
        (metrics::ATTEMPT_DURATION, "outcome=dropped", 1),
        (metrics::CANDIDATES, "", 2),
        (metrics::FALLBACKS, "", 2),
        (metrics::LOOKUPS, "outcome=ok", 2),
        (metrics::LOOKUPS, "outcome=empty", 1),
        (metrics::LOOKUPS, "outcome=error", 2),
        (metrics::LOOKUPS, "outcome=timeout", 1),
        (metrics::LOOKUP_DURATION, "", 6),
    ]
    .map(|(name, labels, value)| ((name.to_owned(), labels.to_owned()), value))
    .into();
    assert_eq!(series, expected);
    for (name, labels) in series.keys() {
        assert!(name.starts_with("messina_layers_"), "{name}");
        assert!(!labels.contains("10.0.0") && !labels.contains("db.test"), "an address in {labels}");
    }
}

/// Counters end in `_total`, times in `_seconds`; each is described.
#[test]
fn metrics_are_described() {
    let recorder = DebuggingRecorder::new();
    ::metrics::with_local_recorder(&recorder, || {
        metrics::describe();
        for name in [metrics::ATTEMPTS, metrics::LOOKUPS, metrics::FALLBACKS] {
            assert!(name.ends_with("_total"));
            ::metrics::counter!(name).increment(1);
        }
        for name in [metrics::ATTEMPT_DURATION, metrics::LOOKUP_DURATION, metrics::STAGE_DURATION, metrics::CANDIDATES]
        {
            ::metrics::histogram!(name).record(1.0);
        }
    });
    for (key, unit, text, _) in recorder.snapshotter().snapshot().into_vec() {
        let name = key.key().name().to_owned();
        assert!(text.is_some(), "{name}");
        let seconds = unit == Some(::metrics::Unit::Seconds);
        assert_eq!((key.kind() == MetricKind::Histogram && seconds, name.ends_with("_seconds")), (seconds, seconds));
    }
}

/// connect 41: one info event when failures preceded success, and no warning.
#[tokio::test(start_paused = true)]
async fn a_success_after_failures_is_one_info() {
    let capture = Capture::start();
    let servers = Servers::new([(3, Step::Accept), (4, Step::Accept)]);
    assert!(connect(&Scripted::addrs((1..=3).map(addr)), &servers, None).await);
    let told = capture.at(Level::INFO);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].text, "connected after other addresses failed or gave no answer in time");
    let fields = ["target", "addr", "failed"].map(|name| told[0].fields[name].as_str());
    assert_eq!(fields, ["db.test:9042", "10.0.0.3:9042", "2"]);
    assert!(capture.at(Level::WARN).is_empty());

    let capture = Capture::start();
    assert!(connect(&Scripted::addrs([addr(4)]), &servers, None).await);
    assert!(capture.at(Level::INFO).is_empty(), "nothing failed, nothing is told");
}

/// One warning with the whole table when all failed.
#[tokio::test(start_paused = true)]
async fn a_failed_connect_is_one_warning() {
    let capture = Capture::start();
    assert!(!connect(&Scripted::addrs((1..=3).map(addr)), &Servers::default(), None).await);
    let told = capture.at(Level::WARN);
    assert_eq!((told.len(), capture.at(Level::INFO).len()), (1, 0));
    for part in ["could not connect: ", "db.test:9042", "10.0.0.1:9042", "10.0.0.3:9042", "connection refused"] {
        assert!(told[0].text.contains(part), "{}", told[0].text);
    }
}

/// No warning where the caller wants to tell of it himself: the same at debug.
#[tokio::test(start_paused = true)]
async fn a_failed_connect_is_quiet_where_that_is_wanted() {
    let capture = Capture::start();
    let mut options = as_given();
    options.quiet = true;
    let stack = connect_stack(Servers::default(), Scripted::addrs([addr(1)]), options);
    stack.oneshot(target()).await.unwrap_err();
    assert!(capture.at(Level::WARN).is_empty());
    assert!(capture.at(Level::DEBUG).iter().any(|event| event.text.contains("could not connect: ")));
}

/// The spans of a connect and its attempts.
#[tokio::test(start_paused = true)]
async fn a_connect_has_spans() {
    let capture = Capture::start();
    let servers = Servers::new([(2, Step::AcceptAfter(secs(1)))]);
    assert!(connect(&Scripted::addrs([addr(1), addr(2)]), &servers, None).await);
    let spans: Vec<_> = capture.spans().iter().map(|span| (span.text.clone(), span.fields.clone())).collect();
    let field = |i: usize, name: &str| spans[i].1[name].clone();
    assert_eq!(spans.iter().map(|span| span.0.as_str()).collect::<Vec<_>>(), ["connect", "attempt", "attempt"]);
    assert_eq!((field(0, "target"), field(1, "peer.addr")), ("db.test:9042".into(), "10.0.0.1:9042".into()));
    assert_eq!(field(2, "peer.addr"), "10.0.0.2:9042");
    assert!(capture.spans().iter().all(|span| span.level == Level::DEBUG));
    let resolved = capture.events("resolved");
    assert!(resolved[0].fields["addresses"].contains("10.0.0.2:9042"));
    let _: Pinned<Address> = target();
}
