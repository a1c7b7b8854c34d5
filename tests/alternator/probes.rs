//! Which node is probed, and when.

use std::time::Duration;

use messina::alternator::{
    health::{Book, Outcome, ProbeOptions, ProbePriority, Probes, Thresholds},
    node::Node,
    nodes::NodeList,
};
use tokio::time::Instant;

use crate::support::{number, numbered};

const EVERY: Duration = Duration::from_secs(30);

/// The first `down` of the nodes are down, the last of them active, the others quarantined.
fn book(nodes: &NodeList, down: usize, now: Instant) -> Book {
    let mut book = Book::new(Thresholds::default());
    book.listed(nodes, now);
    for node in nodes.iter().take(down) {
        for _ in 0..3 {
            book.record(node, Outcome::Refused, 0, now);
        }
    }
    book.record(&nodes[nodes.len() - 1], Outcome::ProbeAnswered, 0, now);
    book
}

fn start_all(probes: &mut Probes, book: &Book, now: Instant) -> Vec<Node> {
    std::iter::from_fn(|| probes.start(book, now).map(|probe| probe.node)).collect()
}

/// alternator 3.4: those asked for go before those that are down, and these before the quarantined; an active one is not
/// probed; one probe runs per node.
#[test]
fn priorities() {
    let now = Instant::now();
    let nodes = numbered(4, 8000);
    let book = book(&nodes, 1, now);
    let mut probes = Probes::new(ProbeOptions::default().with_concurrency(1));
    probes.schedule(&nodes, &book, now);
    probes.schedule(&nodes, &book, now);
    probes.request(&nodes[2]);
    probes.request(&nodes[3]);
    let mut order = Vec::new();
    while let Some(probe) = probes.start(&book, now) {
        assert_eq!(probes.start(&book, now), None, "one at a time");
        assert_eq!(probe.deadline, now + Duration::from_secs(5));
        assert_eq!(probe.generation, book.generation(&probe.node));
        order.push(number(&probe.node));
        probes.finished(&probe.node);
    }
    assert_eq!(order, [3, 4, 1, 2], "each once");
}

/// alternator 3.4: at most one probe of a node is under way, another waits for it.
#[test]
fn one_in_flight_per_node() {
    let now = Instant::now();
    let nodes = numbered(2, 8000);
    let book = book(&nodes, 0, now);
    let mut probes = Probes::new(ProbeOptions::default());
    probes.request(&nodes[0]);
    assert_eq!(start_all(&mut probes, &book, now).len(), 1);
    probes.request(&nodes[0]);
    probes.request(&nodes[1]);
    assert_eq!(start_all(&mut probes, &book, now), [nodes[1].clone()]);
    assert_eq!((probes.running(), probes.waiting(ProbePriority::Explicit)), (2, 1));
    probes.finished(&nodes[0]);
    assert_eq!(start_all(&mut probes, &book, now), [nodes[0].clone()]);
}

/// alternator 2.3: four probes at a time by default, from 1 to 64; background probes every 30 seconds.
#[test]
fn limits() {
    let now = Instant::now();
    let nodes = numbered(100, 8000);
    let book = book(&nodes, 0, now);
    for (asked, run) in [(None, 4), (Some(0), 1), (Some(64), 64), (Some(1000), 64)] {
        let options = ProbeOptions::default();
        let options = asked.map_or(options, |asked| options.with_concurrency(asked));
        let mut probes = Probes::new(options);
        nodes.iter().for_each(|node| probes.request(node));
        assert_eq!(start_all(&mut probes, &book, now).len(), run);
    }
    let few = numbered(3, 8000);
    let book = self::book(&few, 0, now);
    let mut probes = Probes::new(ProbeOptions::default());
    for (at, started) in [(now, 2), (now + EVERY / 2, 0), (now + EVERY, 2)] {
        probes.schedule(&few, &book, at);
        let probed = start_all(&mut probes, &book, at);
        assert_eq!(probed.len(), started, "not the active one, none before it is due");
        probed.iter().for_each(|node| probes.finished(node));
    }
    let mut probes = Probes::new(ProbeOptions::default().with_every(Duration::ZERO));
    probes.schedule(&nodes, &book, now);
    assert_eq!(start_all(&mut probes, &book, now), []);
}

/// alternator 3.4: an answered request cancels the background probe that waits for its node, not one asked for.
#[test]
fn answered_request_cancels() {
    let now = Instant::now();
    let nodes = numbered(3, 8000);
    let book = book(&nodes, 1, now);
    let mut probes = Probes::new(ProbeOptions::default());
    probes.schedule(&nodes, &book, now);
    probes.request(&nodes[2]);
    nodes.iter().for_each(|node| probes.answered(node));
    assert_eq!(start_all(&mut probes, &book, now), [nodes[2].clone()]);
}

/// alternator 3.4: what waits in the background is bounded, and neither state takes the other's room.
#[test]
fn bounded_background() {
    let now = Instant::now();
    let nodes = numbered(1000, 8000);
    let book = book(&nodes, 500, now);
    let mut probes = Probes::new(ProbeOptions::default());
    for _ in 0..3 {
        probes.schedule(&nodes, &book, now);
    }
    let waiting = [ProbePriority::Down, ProbePriority::Quarantined].map(|priority| probes.waiting(priority));
    assert_eq!(waiting, [34, 34]);
}
