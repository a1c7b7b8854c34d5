//! The three states of a node.

use std::time::Duration;

use messina::alternator::{
    health::{Book, Health, Outcome, State, Thresholds},
    nodes::NodeList,
    plan::Standing,
};
use proptest::prelude::*;
use tokio::time::Instant;

use crate::support::{node, numbered};

const SECOND: Duration = Duration::from_secs(1);

fn small() -> Thresholds {
    Thresholds::default().with_active_failures(3).with_down_recovery(2).with_promotion(3).with_quarantine_failures(3)
}

fn outcome(word: &str) -> Outcome {
    match word {
        "TS" => Outcome::Answered(200),
        "TF" => Outcome::Broken,
        "PS" => Outcome::ProbeAnswered,
        "PF" => Outcome::ProbeFailed,
        other => panic!("{other}"),
    }
}

/// alternator 3.4: every transition vector.
/// alternator A6: the three states with the thresholds and vectors of the specification.
#[test]
fn transition_vectors() {
    use State::{Active, Down, Quarantined};
    let rows = [
        ("A", "TF TF", (Active, 2, 0, 0)),
        ("A", "TF TF TF", (Down, 3, 0, 1)),
        ("A", "TF TS", (Active, 0, 3, 0)),
        ("A", "PF PS", (Active, 0, 3, 0)),
        ("Q", "TS TS", (Quarantined, 0, 2, 0)),
        ("Q", "TS TS TS", (Active, 0, 3, 0)),
        ("Q", "TF TF", (Quarantined, 2, 0, 0)),
        ("Q", "TF TF TF", (Down, 3, 0, 1)),
        ("Q", "TS TF", (Quarantined, 1, 0, 0)),
        ("Q", "PS", (Active, 0, 3, 0)),
        ("Q", "PF", (Quarantined, 0, 0, 0)),
        ("A*", "TF PS", (Down, 1, 1, 1)),
        ("A*", "TF PS PS", (Quarantined, 0, 0, 1)),
        ("A*", "TF PS PF", (Down, 1, 0, 1)),
        ("A*", "TF TS", (Down, 1, 0, 1)),
        ("A*", "TF TF", (Down, 1, 0, 1)),
    ];
    let now = Instant::now();
    for (start, events, expected) in rows {
        let limits = if start == "A*" { small().with_active_failures(1) } else { small() };
        let mut health = if start == "Q" { Health::quarantined(now) } else { Health::active(&limits, now) };
        for event in events.split(' ') {
            let generation = health.generation();
            let before = health.state();
            let left = health.record(outcome(event), generation, &limits, now);
            assert_eq!(left, (before != health.state()).then_some(before));
        }
        let reached = (health.state(), health.failures(), health.successes(), health.generation());
        assert_eq!(reached, expected, "{start}: {events}");
    }
}

/// alternator 3.4: an answer proves life, whatever it says of credentials or the rate; 500, 502, 503 and 504 prove
/// nothing; only a failure before final response headers counts.
/// alternator 2.3: the portable thresholds.
#[test]
fn what_counts() {
    let now = Instant::now();
    let limits = Thresholds::default();
    let after = |start: &Health, outcome: Outcome, times: usize| {
        let mut health = start.clone();
        for _ in 0..times {
            health.record(outcome, health.generation(), &limits, now);
        }
        health
    };
    let active = Health::active(&limits, now);
    let quarantined = Health::quarantined(now);
    for status in [200, 400, 401, 403, 413, 429, 501] {
        assert_eq!(after(&quarantined, Outcome::Answered(status), 9).state(), State::Quarantined);
        assert_eq!(after(&quarantined, Outcome::Answered(status), 10).state(), State::Active, "{status}");
    }
    for status in [500, 502, 503, 504] {
        let health = after(&active, Outcome::Answered(status), 100);
        assert_eq!((health.state(), health.failures(), health.successes()), (State::Active, 0, 10), "{status}");
        assert_eq!(after(&quarantined, Outcome::Answered(status), 100).successes(), 0, "{status}");
    }
    for failure in [Outcome::Refused, Outcome::Silent, Outcome::Broken] {
        assert_eq!(after(&active, failure, 9).state(), State::Active);
        assert_eq!(after(&active, failure, 10).state(), State::Down);
        assert_eq!(after(&quarantined, failure, 2).state(), State::Quarantined);
        assert_eq!(after(&quarantined, failure, 3).state(), State::Down);
    }
    assert_eq!(after(&active, Outcome::Cancelled, 100).failures(), 0);
    let down = after(&active, Outcome::Refused, 10);
    assert_eq!(after(&down, Outcome::ProbeAnswered, 2).state(), State::Down);
    assert_eq!(after(&down, Outcome::ProbeAnswered, 3).state(), State::Quarantined);
}

/// alternator 2.3: a threshold below 1 becomes 1.
#[test]
fn thresholds_of_zero() {
    let zero = Thresholds::default().with_active_failures(0).with_down_recovery(0).with_promotion(0);
    let zero = zero.with_quarantine_failures(0);
    let now = Instant::now();
    let mut health = Health::active(&zero, now);
    let states = ["TF", "PS", "TF", "PS", "TS"].map(|word| {
        health.record(outcome(word), health.generation(), &zero, now);
        health.state()
    });
    assert_eq!(states, [State::Down, State::Quarantined, State::Down, State::Quarantined, State::Active]);
}

/// alternator 3.4: what began before the node went down is dropped.
#[test]
fn stale_results() {
    let now = Instant::now();
    let limits = small().with_active_failures(1).with_down_recovery(1);
    let mut health = Health::active(&limits, now);
    let old = health.generation();
    health.record(Outcome::Broken, old, &limits, now);
    for late in [Outcome::ProbeAnswered, Outcome::Answered(200), Outcome::Broken] {
        let before = health.clone();
        assert_eq!(health.record(late, old, &limits, now), None);
        assert_eq!(health, before);
    }
    health.record(Outcome::ProbeAnswered, health.generation(), &limits, now);
    assert_eq!(health.state(), State::Quarantined);
    health.record(Outcome::ProbeAnswered, old, &limits, now);
    assert_eq!(health.state(), State::Quarantined, "and still is after the recovery");
}

/// alternator A6: a refusal, a 503 or a passed header limit sets a mark of one second, in any state that is picked.
#[test]
fn avoid_mark() {
    let now = Instant::now();
    let limits = Thresholds::default();
    for start in [Health::active(&limits, now), Health::quarantined(now)] {
        let unmarked = start.standing(now);
        for mark in [Outcome::Refused, Outcome::Silent, Outcome::Answered(503)] {
            let mut health = start.clone();
            health.record(mark, 0, &limits, now);
            assert_eq!(health.standing(now), Standing::Avoided, "{mark:?}");
            assert_eq!(health.standing(now + SECOND - Duration::from_millis(1)), Standing::Avoided);
            assert_eq!(health.standing(now + SECOND), unmarked);
            health.record(Outcome::Answered(200), 0, &limits, now);
            assert_eq!(health.standing(now), unmarked, "an answer ends it");
        }
        for none in [Outcome::Broken, Outcome::Answered(500), Outcome::Answered(400), Outcome::Cancelled] {
            let mut health = start.clone();
            health.record(none, 0, &limits, now);
            assert_eq!(health.standing(now), unmarked, "{none:?}");
        }
    }
}

/// alternator 3.4: a new node is quarantined and probed; one that was removed and comes back has its history.
/// alternator A6: a newly listed node is probed in the same cycle.
#[test]
fn book_keeps_history() {
    let now = Instant::now();
    let mut book = Book::new(small());
    let both = numbered(2, 8000);
    assert_eq!(book.listed(&both, now), both.iter().cloned().collect::<Vec<_>>());
    let sick = both[0].clone();
    for _ in 0..3 {
        book.record(&sick, Outcome::Refused, 0, now);
    }
    assert_eq!((book.standing(&sick, now), book.generation(&sick)), (Standing::Down, 1));
    assert!(book.listed(&NodeList::empty(), now).is_empty());
    assert!(book.listed(&both, now).is_empty(), "none of them is new");
    assert_eq!(book.standing(&sick, now), Standing::Down);
    let stranger = node("http://stranger");
    assert_eq!(book.record(&stranger, Outcome::Answered(200), 0, now), None);
    assert_eq!(book.standing(&stranger, now), Standing::Quarantined);
    assert_eq!(Book::disabled().standing(&sick, now), Standing::Active);
}

/// alternator A6: what is told of a transition, and a last resort goes into quarantine unless it is down.
/// alternator A3: seeds that are restored are quarantined.
#[test]
fn book_tells_transitions() {
    let now = Instant::now();
    let mut book = Book::new(small());
    let nodes = numbered(2, 8000);
    book.listed(&nodes, now);
    let moved = book.record(&nodes[0], Outcome::ProbeAnswered, 0, now).unwrap();
    assert_eq!((moved.node, moved.from, moved.to), (nodes[0].clone(), State::Quarantined, State::Active));
    assert_eq!(book.record(&nodes[0], Outcome::ProbeAnswered, 0, now), None, "once");
    for _ in 0..3 {
        book.record(&nodes[1], Outcome::Broken, 0, now);
    }
    book.quarantine(&numbered(3, 8000), now + SECOND);
    let states = numbered(3, 8000).iter().map(|node| book.health(node).unwrap().state()).collect::<Vec<_>>();
    assert_eq!(states, [State::Quarantined, State::Down, State::Quarantined]);
    assert_eq!(book.health(&nodes[0]).unwrap().since(), now + SECOND);
}

proptest! {
    /// alternator 3.4: from any past, three answered probes and one more make a node active; a node goes down only by
    /// as many failures in a row as the threshold says.
    #[test]
    fn always_recovers(events in proptest::collection::vec(0..4_usize, 0..60)) {
        let now = Instant::now();
        let limits = Thresholds::default();
        let mut health = Health::quarantined(now);
        let mut row = 0;
        for event in events {
            let outcome = outcome(["TS", "TF", "PS", "PF"][event]);
            row = if event == 1 { row + 1 } else { 0 };
            let left = health.record(outcome, health.generation(), &limits, now);
            if health.state() == State::Down && left == Some(State::Active) {
                prop_assert!(health.failures() == 10 && event == 1);
            }
            if row > 13 {
                prop_assert_eq!(health.state(), State::Down);
            }
        }
        for _ in 0..4 {
            health.record(Outcome::ProbeAnswered, health.generation(), &limits, now);
        }
        prop_assert_eq!(health.state(), State::Active);
    }
}
