//! One sending of a request to one node.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use tokio::time::Instant;

use super::FailedAttempt;
use crate::{
    alternator::{health::Outcome, http::Sent, mark::Mark},
    metrics::{AlternatorMetrics, AttemptEnd},
};

/// Under way; dropping it gives it up, and counts it.
pub(super) struct Attempt<'a, F> {
    pub(super) future: Pin<Box<F>>,
    pub(super) mark: Arc<Mark>,
    pub(super) generation: u64,
    pub(super) sent: Sent,
    pub(super) started: Instant,
    /// How long it may be silent once it is on a connection.
    pub(super) patience: Duration,
    /// When another node is asked beside it, without blame.
    pub(super) hedge: Option<Instant>,
    /// When it counts as silent.
    pub(super) limit: Option<Instant>,
    pub(super) end: AttemptEnd,
    pub(super) metrics: &'a AlternatorMetrics,
}

impl<F: Future> Attempt<'_, F> {
    /// What is told of it where it failed.
    pub(super) fn failed(&self, outcome: Outcome) -> FailedAttempt {
        FailedAttempt { node: self.mark.node.clone(), outcome, elapsed: self.started.elapsed(), error: None }
    }
}

impl<F> Drop for Attempt<'_, F> {
    fn drop(&mut self) {
        self.mark.out.fetch_sub(1, Relaxed);
        self.metrics.attempt_ended(self.end);
    }
}

/// The word of the metrics for how an attempt ended.
pub(super) const fn end_of(outcome: Outcome) -> AttemptEnd {
    match outcome {
        Outcome::Answered(_) => AttemptEnd::Answered,
        Outcome::Refused => AttemptEnd::Refused,
        Outcome::Silent => AttemptEnd::Silent,
        Outcome::Broken => AttemptEnd::Broken,
        _ => AttemptEnd::Dropped,
    }
}
