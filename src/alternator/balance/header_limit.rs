//! How long a node may say nothing, by how long answers took of late.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use super::operation::Class;

/// The mean of how long answers took, and how far they stray from it, both in nanoseconds.
#[derive(Debug, Default)]
struct Estimate {
    mean: AtomicU64,
    stray: AtomicU64,
}

/// The limits, one for each class of operations.
///
/// Writers do not wait for one another: a sample that is lost changes nothing that matters.
#[derive(Debug)]
pub(in crate::alternator) struct HeaderLimits {
    first: Duration,
    shortest: Duration,
    longest: Duration,
    estimates: [Estimate; 3],
    /// How late a timer fired of late, and when, both in nanoseconds.
    late: AtomicU64,
    late_at: AtomicU64,
}

/// A timer that fires later is no longer on time.
const LATE: Duration = Duration::from_millis(10);

/// How long it is remembered that a timer fired late.
const REMEMBERED: Duration = Duration::from_secs(1);

impl HeaderLimits {
    pub(in crate::alternator) fn new(first: Duration, shortest: Duration, longest: Duration) -> Self {
        Self {
            first,
            shortest,
            longest: longest.max(shortest),
            estimates: Default::default(),
            late: AtomicU64::new(0),
            late_at: AtomicU64::new(0),
        }
    }

    /// An answer's head took so long.
    pub(in crate::alternator) fn sample(&self, class: Class, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).clamp(1, 1 << 40);
        let estimate = &self.estimates[class as usize];
        let mean = estimate.mean.load(Relaxed);
        if mean == 0 {
            estimate.mean.store(took, Relaxed);
            estimate.stray.store(took / 2, Relaxed);
            return;
        }
        let stray = estimate.stray.load(Relaxed);
        estimate.mean.store((mean * 7 + took) / 8, Relaxed);
        estimate.stray.store((stray * 3 + mean.abs_diff(took)) / 4, Relaxed);
    }

    /// How long to wait for the head of an answer: the mean and eight times the strayings.
    pub(in crate::alternator) fn limit(&self, class: Class) -> Duration {
        let estimate = &self.estimates[class as usize];
        match estimate.mean.load(Relaxed) {
            0 => self.first,
            mean => {
                let limit = mean.saturating_add(estimate.stray.load(Relaxed).saturating_mul(8));
                Duration::from_nanos(limit).clamp(self.shortest, self.longest)
            }
        }
    }

    /// Takes in how late a timer fired, `at` nanoseconds after a start; gives how late timers fire of late at most.
    pub(in crate::alternator) fn lateness(&self, late: Duration, at: u64) -> Duration {
        let late = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        let fresh = u128::from(at.saturating_sub(self.late_at.load(Relaxed))) < REMEMBERED.as_nanos();
        let before = if fresh { self.late.load(Relaxed) } else { 0 };
        if late >= before {
            self.late.store(late, Relaxed);
            self.late_at.store(at, Relaxed);
        }
        Duration::from_nanos(late.max(before))
    }

    /// Whether timers fire late at this moment: what is told of many attempts may then be one delay of one's own.
    pub(in crate::alternator) fn is_busy(&self, at: u64) -> bool {
        self.lateness(Duration::ZERO, at) > LATE
    }
}
