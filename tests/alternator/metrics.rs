//! What a client counts.

use std::collections::BTreeMap;

use messina::{
    alternator::BalanceOptions,
    metrics::{self as names, ALTERNATOR, Naming},
    testkit::http::{HttpCluster, HttpFault, On},
};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

use crate::http_support::{builder, call, eventually, ready};

/// Each series with its value; of histograms how many values there are. Reading one sets it to 0, so they add up.
#[derive(Default)]
struct Seen(BTreeMap<String, f64>);

impl Seen {
    fn look(&mut self, snapshotter: &Snapshotter) {
        for (key, _, _, value) in snapshotter.snapshot().into_vec() {
            let labels = key.key().labels().map(|label| format!("{}={}", label.key(), label.value()));
            let name = format!("{}{{{}}}", key.key().name(), labels.collect::<Vec<_>>().join(","));
            let seen = self.0.entry(name).or_default();
            match value {
                DebugValue::Counter(count) => *seen += count as f64,
                DebugValue::Gauge(value) => *seen += value.0,
                DebugValue::Histogram(values) => *seen += values.len() as f64,
            }
        }
    }

    fn get(&self, name: &str, labels: &str) -> f64 {
        self.0.get(&format!("{name}{{{labels}}}")).copied().unwrap_or(0.0)
    }
}

/// alternator 9: metrics: attempts, failovers, states, polls; no label carries an address, and every series is in the list.
#[tokio::test]
async fn counted() {
    let recorder = DebuggingRecorder::new();
    let (snapshotter, mut seen) = (recorder.snapshotter(), Seen::default());
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let cluster = HttpCluster::start(3).await.unwrap();
    let alternator = ready(builder(&cluster, &[0, 1, 2])).await;
    let mut look = || {
        seen.look(&snapshotter);
        seen.get(names::ALTERNATOR_TRANSITIONS, "from=quarantined,to=active") == 3.0
    };
    eventually("three are active", &mut look).await;
    for _ in 0..10 {
        call(&alternator, "GetItem", "{}").await.unwrap();
    }
    seen.look(&snapshotter);
    assert_eq!(seen.get(names::ALTERNATOR_REQUESTS, ""), 10.0);
    assert_eq!(seen.get(names::ALTERNATOR_REQUEST_DURATION, ""), 10.0);
    assert_eq!(seen.get(names::ALTERNATOR_ATTEMPTS, "outcome=answered"), 10.0);
    assert_eq!(seen.get(names::ALTERNATOR_NODES, ""), 3.0);
    assert!(seen.get(names::ALTERNATOR_REFRESHES, "outcome=nodes") >= 1.0);
    // Two answer 503: there is one answer, after the others were asked at most once each.
    cluster.node(0).fault(On::Requests, HttpFault::Status(503));
    cluster.node(1).fault(On::Requests, HttpFault::Status(503));
    while cluster.node(0).requests() + cluster.node(1).requests() < 12 {
        assert_eq!(call(&alternator, "PutItem", "{}").await.unwrap().0, 200);
    }
    seen.look(&snapshotter);
    let moved = seen.get(names::ALTERNATOR_FAILOVERS, "reason=status");
    assert!(moved >= 1.0, "{:?}", seen.0);
    let requests = seen.get(names::ALTERNATOR_REQUESTS, "");
    assert_eq!(seen.get(names::ALTERNATOR_ATTEMPTS, "outcome=answered"), requests + moved);
    assert_eq!(seen.0.keys().filter(|series| series.starts_with(names::ALTERNATOR_REQUEST_ERRORS)).count(), 0);
    for series in seen.0.keys().filter(|series| series.starts_with("messina_alternator_")) {
        let (name, labels) = series.split_once('{').unwrap();
        let listed = ALTERNATOR.iter().find(|metric| metric.name == name).unwrap();
        let labels = labels.trim_end_matches('}').split(',').filter_map(|label| label.split_once('='));
        assert_eq!(labels.map(|(key, _)| key).collect::<Vec<_>>(), listed.labels);
        assert!(!series.contains("127."), "{series}");
    }
    alternator.close().await;
    drop(alternator);
    seen.look(&snapshotter);
    assert_eq!(seen.get(names::ALTERNATOR_NODES, ""), 0.0);
}

/// alternator 9: how requests and attempts ended, by the words that the list promises; a name of one's own.
#[tokio::test]
async fn counted_by_end() {
    let recorder = DebuggingRecorder::new();
    let (snapshotter, mut seen) = (recorder.snapshotter(), Seen::default());
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let cluster = HttpCluster::start(1).await.unwrap();
    let mut naming = Naming::default();
    naming.session = Some("web".to_owned());
    let ms = std::time::Duration::from_millis;
    let options = BalanceOptions::default().with_max_attempts(2).with_timeout(ms(250)).with_header_limits(
        ms(100),
        ms(100),
        ms(100),
    );
    let alternator = ready(builder(&cluster, &[0]).balance(options).metrics(naming)).await;
    cluster.node(0).fault(On::Requests, HttpFault::Close);
    call(&alternator, "PutItem", "{}").await.unwrap_err();
    cluster.node(0).fault(On::Requests, HttpFault::Hang);
    call(&alternator, "PutItem", "{}").await.unwrap_err();
    // A connection may be left that looks open: then the first attempt is a broken one.
    cluster.node(0).stop();
    call(&alternator, "GetItem", "{}").await.unwrap_err();
    alternator.close().await;
    call(&alternator, "PutItem", "{}").await.unwrap_err();
    seen.look(&snapshotter);
    for (name, label) in [
        (names::ALTERNATOR_REQUEST_ERRORS, "kind=broken"),
        (names::ALTERNATOR_REQUEST_ERRORS, "kind=timeout"),
        (names::ALTERNATOR_REQUEST_ERRORS, "kind=exhausted"),
        (names::ALTERNATOR_REQUEST_ERRORS, "kind=closed"),
    ] {
        assert_eq!(seen.get(name, &format!("session=web,{label}")), 1.0, "{label}: {:?}", seen.0);
    }
    let both = |name, key: &str| {
        ["broken", "refused"].map(|end| seen.get(name, &format!("session=web,{key}={end}"))).iter().sum::<f64>()
    };
    assert_eq!(both(names::ALTERNATOR_ATTEMPTS, "outcome"), 3.0);
    // A slow machine makes more of the latter.
    for outcome in ["refused", "silent"] {
        assert!(seen.get(names::ALTERNATOR_ATTEMPTS, &format!("session=web,outcome={outcome}")) >= 1.0, "{outcome}");
    }
    assert_eq!(both(names::ALTERNATOR_FAILOVERS, "reason"), 1.0);
}
