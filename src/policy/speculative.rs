//! Whether a request that has not been answered yet is also sent to another node.

use std::{
    fmt,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// Decides when a request is sent to one more node while no answer has come.
///
/// Only requests that may be executed twice are ever sent to several nodes at once; the first answer counts, and the
/// other tries are given up.
pub trait SpeculativePolicy: fmt::Debug + Send + Sync + 'static {
    /// How long after the try before it the next one starts, when `started` tries have been started; `None` starts no
    /// more.
    fn delay(&self, started: u32) -> Option<Duration>;

    /// Is told how long an answer took; a policy may learn from it.
    fn answered(&self, latency: Duration) {
        let _ = latency;
    }
}

/// Starts one more try each time this much time has passed.
#[derive(Clone, Copy, Debug)]
pub struct ConstantSpeculation {
    delay: Duration,
    more: u32,
}

impl ConstantSpeculation {
    /// At most `more` tries beside the first, each `delay` after the one before it.
    #[must_use]
    pub const fn new(more: u32, delay: Duration) -> Self {
        Self { delay, more }
    }
}

impl SpeculativePolicy for ConstantSpeculation {
    fn delay(&self, started: u32) -> Option<Duration> {
        (started <= self.more).then_some(self.delay)
    }
}

/// Starts one more try when an answer is slower than this share of those before it.
///
/// Counts the latencies of the requests it is asked about in steps of a fifth; older ones weigh less. Until a hundred
/// answers have come it waits for `until_known`.
pub struct PercentileSpeculation {
    more: u32,
    share: f64,
    until_known: Duration,
    counts: Box<[AtomicU32]>,
    total: AtomicU32,
}

/// From a microsecond to more than an hour.
const STEPS: usize = 128;
const RATIO: f64 = 1.2;
const ENOUGH: u32 = 100;
const HALVED_AT: u32 = 10_000;

impl PercentileSpeculation {
    /// At most `more` tries beside the first; `percentile` is above 0 and below 100.
    ///
    /// # Panics
    /// If it is not.
    #[must_use]
    pub fn new(more: u32, percentile: f64, until_known: Duration) -> Self {
        assert!(percentile > 0.0 && percentile < 100.0, "the percentile {percentile} is not between 0 and 100");
        let counts = (0..STEPS).map(|_| AtomicU32::new(0)).collect();
        Self { more, share: percentile / 100.0, until_known, counts, total: AtomicU32::new(0) }
    }

    /// The latency that this share of the answers stays below, if enough are known.
    #[must_use]
    pub fn threshold(&self) -> Option<Duration> {
        let counts: Vec<u32> = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let total: u32 = counts.iter().sum();
        if total < ENOUGH {
            return None;
        }
        let wanted = f64::from(total) * self.share;
        let mut seen = 0.0;
        let step = counts.iter().position(|count| {
            seen += f64::from(*count);
            seen >= wanted
        })?;
        // The upper end of the step.
        let exponent = i32::try_from(step + 1).ok()?;
        Some(Duration::from_secs_f64(RATIO.powi(exponent) / 1e6))
    }
}

impl SpeculativePolicy for PercentileSpeculation {
    fn delay(&self, started: u32) -> Option<Duration> {
        (started <= self.more).then(|| self.threshold().unwrap_or(self.until_known))
    }

    fn answered(&self, latency: Duration) {
        let micros = latency.as_secs_f64() * 1e6;
        let step = (1..STEPS).find(|step| i32::try_from(*step).is_ok_and(|step| RATIO.powi(step) > micros));
        let step = step.map_or(STEPS - 1, |step| step - 1);
        self.counts[step].fetch_add(1, Ordering::Relaxed);
        if self.total.fetch_add(1, Ordering::Relaxed) + 1 == HALVED_AT {
            self.total.store(HALVED_AT / 2, Ordering::Relaxed);
            for count in &self.counts {
                // A count lost to a race is one of thousands.
                count.store(count.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
            }
        }
    }
}

impl fmt::Debug for PercentileSpeculation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threshold = self.threshold();
        f.debug_struct("PercentileSpeculation")
            .field("more", &self.more)
            .field("share", &self.share)
            .field("threshold", &threshold)
            .finish_non_exhaustive()
    }
}
