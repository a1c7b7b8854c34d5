//! What an Alternator client counts.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use metrics::{Counter, Gauge, Histogram};

use super::{Naming, names};

/// How an attempt ended, or why another one was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptEnd {
    /// It was answered; as a reason: in a way that leaves it to another node.
    Answered,
    /// It could not be connected.
    Refused,
    /// Nothing came in time.
    Silent,
    /// The connection broke.
    Broken,
    /// It was given up while it was under way; as a reason: it was slow.
    Dropped,
}

const OUTCOMES: [&str; 5] = ["answered", "refused", "silent", "broken", "dropped"];
const REASONS: [&str; 5] = ["status", "refused", "silent", "broken", "hedge"];

/// The counters of a client, made once.
pub(crate) struct AlternatorMetrics {
    naming: Naming,
    requests: Counter,
    duration: Histogram,
    attempts: [Counter; 5],
    failovers: [Counter; 5],
    nodes: Gauge,
    nodes_now: AtomicU64,
}

impl AlternatorMetrics {
    /// Describes every metric, and makes the handles, with the recorder in force.
    pub(crate) fn new(naming: Naming) -> Self {
        naming.describe(names::ALTERNATOR);
        messina_layers::metrics::describe();
        let metrics = Self {
            requests: naming.counter(names::ALTERNATOR_REQUESTS, &[]),
            duration: naming.histogram(names::ALTERNATOR_REQUEST_DURATION, &[]),
            attempts: OUTCOMES.map(|outcome| naming.counter(names::ALTERNATOR_ATTEMPTS, &[("outcome", outcome)])),
            failovers: REASONS.map(|reason| naming.counter(names::ALTERNATOR_FAILOVERS, &[("reason", reason)])),
            nodes: naming.gauge(names::ALTERNATOR_NODES, &[]),
            nodes_now: AtomicU64::new(0),
            naming,
        };
        // A gauge that was never moved is not shown by every recorder.
        metrics.nodes.increment(0.0);
        metrics
    }

    /// A request begins.
    #[inline]
    pub(crate) fn request_begun(&self) {
        self.requests.increment(1);
    }

    /// A request ended, either way.
    #[inline]
    pub(crate) fn request_ended(&self, elapsed: Duration) {
        self.duration.record(elapsed);
    }

    /// A request ended without an answer; beside [`request_ended`](Self::request_ended).
    #[cold]
    pub(crate) fn request_failed(&self, kind: &'static str) {
        self.naming.counter(names::ALTERNATOR_REQUEST_ERRORS, &[("kind", kind)]).increment(1);
    }

    /// An attempt ended.
    #[inline]
    pub(crate) fn attempt_ended(&self, end: AttemptEnd) {
        self.attempts[end as usize].increment(1);
    }

    /// Another node is asked because the one before ended like this.
    pub(crate) fn failed_over(&self, reason: AttemptEnd) {
        self.failovers[reason as usize].increment(1);
    }

    /// A node changed its state.
    #[cold]
    pub(crate) fn moved(&self, from: &'static str, to: &'static str) {
        self.naming.counter(names::ALTERNATOR_TRANSITIONS, &[("from", from), ("to", to)]).increment(1);
    }

    /// A poll ended.
    pub(crate) fn refreshed(&self, outcome: &'static str) {
        self.naming.counter(names::ALTERNATOR_REFRESHES, &[("outcome", outcome)]).increment(1);
    }

    /// So many nodes may be sent requests now.
    pub(crate) fn nodes(&self, count: usize) {
        let before = self.nodes_now.swap(count as u64, Ordering::Relaxed);
        self.nodes.increment(count as f64 - before as f64);
    }
}

impl Drop for AlternatorMetrics {
    fn drop(&mut self) {
        self.nodes.decrement(*self.nodes_now.get_mut() as f64);
    }
}

impl fmt::Debug for AlternatorMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlternatorMetrics").field("naming", &self.naming).finish_non_exhaustive()
    }
}
