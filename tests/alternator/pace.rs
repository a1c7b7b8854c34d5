//! When to poll.

use std::{collections::BTreeSet, time::Duration};

use messina::alternator::{pace::Pace, plan::Randomness};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

/// The shortest and the longest wait, and how many different ones there are.
fn waits(pace: &Pace, now: Instant) -> (Duration, Duration, usize) {
    let randomness = Randomness::seeded(1);
    let waits: BTreeSet<_> = (0..1000).map(|_| pace.next(now, randomness.draw()) - now).collect();
    (*waits.first().unwrap(), *waits.last().unwrap(), waits.len())
}

/// alternator 3.8.11: often while there are requests, rarely while there are none.
/// alternator A9: with jitter.
#[test]
fn active_and_idle() {
    let now = Instant::now();
    let mut pace = Pace::default();
    let idle = (54 * SECOND, 66 * SECOND, 21);
    assert_eq!(waits(&pace, now), idle, "no request yet");
    pace.request(now);
    let active = (SECOND * 9 / 10, SECOND * 11 / 10, 21);
    assert_eq!(waits(&pace, now), active);
    assert_eq!(waits(&pace, now + 59 * SECOND), active);
    assert_eq!(waits(&pace, now + 60 * SECOND), idle);
}

/// alternator 3.8.11: the first request after a quiet time wakes the poller at once.
/// alternator A9: any request counts.
#[test]
fn wakes() {
    let now = Instant::now();
    let mut pace = Pace::default();
    let wakes = [0, 0, 30, 89, 149, 150].map(|after| pace.request(now + after * SECOND));
    assert_eq!(wakes, [true, false, false, false, true, false]);
}

/// alternator 2.1: the idle interval is at least the active one.
#[test]
fn intervals() {
    let pace = Pace::new(10 * SECOND, SECOND);
    assert_eq!(waits(&pace, Instant::now()).0, 9 * SECOND);
}
