//! Many requests at once, and nodes that are all down.

use std::time::Duration;

use futures_util::future::join_all;
use messina::{
    alternator::{
        Alternator, RequestError,
        events::Event,
        health::{ProbeOptions, State, Thresholds},
    },
    testkit::http::{HttpCluster, HttpFault, On},
};

use crate::http_support::{builder, call, eventually, ready, requests};

/// alternator A6: a thousand requests at once are all answered, and the delay that they cause themselves takes no node down.
#[tokio::test]
async fn thousand_at_once() {
    for operation in ["PutItem", "GetItem"] {
        let cluster = HttpCluster::start(3).await.unwrap();
        let alternator = ready(builder(&cluster, &[0])).await;
        let mut events = alternator.events();
        cluster.nodes().iter().for_each(|node| node.fault(On::Requests, HttpFault::Slow(Duration::from_millis(50))));
        let answers = join_all((0..1000).map(|_| call(&alternator, operation, "{}"))).await;
        let failed: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        assert!(failed.is_empty(), "{} {operation} failed, such as: {}", failed.len(), failed[0]);
        while let Some(event) = futures_util::FutureExt::now_or_never(events.next()).flatten() {
            let down = matches!(&event, Event::Moved { to: State::Down, .. });
            assert!(!down, "{operation}: {event:?}");
        }
    }
}

/// A client of nodes that are down by one refusal each, and answer again.
async fn down(cluster: &HttpCluster, thresholds: Thresholds) -> Alternator {
    let thresholds = thresholds.with_active_failures(1).with_quarantine_failures(1);
    let probes = ProbeOptions::default().with_every(Duration::ZERO);
    let day = Duration::from_secs(86_400);
    let alternator = ready(builder(cluster, &[0]).thresholds(thresholds).probes(probes).intervals(day, day)).await;
    cluster.nodes().iter().for_each(|node| node.stop());
    let error = call(&alternator, "PutItem", "{}").await.unwrap_err();
    assert!(matches!(error, RequestError::Exhausted { .. }), "{error}");
    assert!(alternator.status().nodes.iter().all(|node| node.state == State::Down), "{}", alternator.status());
    alternator
}

/// alternator A6: where all nodes are down they are asked all the same, and an error names each with its reason.
#[tokio::test]
async fn all_down() {
    let cluster = HttpCluster::start(3).await.unwrap();
    let alternator = down(&cluster, Thresholds::default().with_down_recovery(u32::MAX)).await;
    let error = call(&alternator, "PutItem", "{}").await.unwrap_err().to_string();
    for node in 0..3 {
        assert!(error.contains(&format!("{} could not be connected to", cluster.url(node))), "{error}");
    }
    for node in cluster.nodes() {
        node.restart();
    }
    let before = requests(&cluster).iter().sum::<usize>();
    for _ in 0..20 {
        assert_eq!(call(&alternator, "PutItem", "{}").await.unwrap().0, 200);
    }
    assert_eq!(requests(&cluster).iter().sum::<usize>(), before + 20);
    assert!(alternator.status().nodes.iter().all(|node| node.state == State::Down), "{}", alternator.status());
}

/// alternator A6: an answer of a node that is down has it probed at once, and probes bring it back.
#[tokio::test]
async fn back_by_answers() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let alternator = down(&cluster, Thresholds::default()).await;
    cluster.node(0).restart();
    for probe in 1..=3 {
        let polls = cluster.node(0).polls();
        assert_eq!(call(&alternator, "PutItem", "{}").await.unwrap().0, 200);
        eventually("the probe of an answer", || cluster.node(0).polls() > polls).await;
        if probe == 3 {
            eventually("it is back", || alternator.status().nodes[0].state != State::Down).await;
        }
    }
}
