//! Jittered exponential delays between tries.

use std::time::Duration;

use crate::random::Random;

/// Delays that double from `base` up to `max`, each drawn from a share around itself within both ends.
///
/// ```
/// use std::time::Duration;
/// use messina_layers::Backoff;
///
/// let mut delays = Backoff::new(Duration::from_secs(1), Duration::from_secs(60)).without_jitter();
/// assert_eq!(delays.next_delay(), Duration::from_secs(1));
/// assert_eq!(delays.next_delay(), Duration::from_secs(2));
/// delays.reset();
/// assert_eq!(delays.next_delay(), Duration::from_secs(1));
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    base: Duration,
    max: Duration,
    jitter: u32,
    tries: u32,
    random: Random,
}

impl Backoff {
    /// Delays from `base` to `max` (at least `base`), varied by 15 %.
    #[must_use]
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max: max.max(base), jitter: 15, tries: 0, random: Random::from_system() }
    }

    /// The same sequence every time, for tests.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.random = Random::seeded(seed);
        self
    }

    /// Varies each delay by up to `percent` (at most 100) in both directions.
    #[must_use]
    pub fn with_jitter_percent(mut self, percent: u32) -> Self {
        self.jitter = percent.min(100);
        self
    }

    /// Leaves the delays exact.
    #[must_use]
    pub fn without_jitter(self) -> Self {
        self.with_jitter_percent(0)
    }

    /// The delay before the next try.
    pub fn next_delay(&mut self) -> Duration {
        let exact = self.base.saturating_mul(1 << self.tries.min(31)).min(self.max);
        self.tries = self.tries.saturating_add(1);
        if self.jitter == 0 {
            return exact;
        }
        // Both ends are cut before the draw: cut after it, many clients would meet at the longest delay.
        let share = exact / 100 * self.jitter;
        let low = exact.saturating_sub(share).max(self.base);
        let high = exact.saturating_add(share).min(self.max);
        low.saturating_add(high.saturating_sub(low).mul_f64(self.random.next_unit()))
    }

    /// Starts again at `base`.
    pub fn reset(&mut self) {
        self.tries = 0;
    }
}
