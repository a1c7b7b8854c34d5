//! When to poll: often while there are requests, rarely while there are none.

use std::time::Duration;

use tokio::time::Instant;

/// As good as for ever: 30 years. No clock overflows by it.
const FOR_EVER: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// When a wait that begins at `start` is over; whatever is longer counts as 30 years.
pub(super) fn after(start: Instant, limit: Duration) -> Instant {
    start + limit.min(FOR_EVER)
}

/// The intervals of polling, and when the last request was.
///
/// Each interval is varied by a tenth, so that many clients do not poll in step.
#[derive(Clone, Debug)]
pub struct Pace {
    active: Duration,
    idle: Duration,
    last: Option<Instant>,
}

impl Default for Pace {
    /// One second with requests, one minute without.
    fn default() -> Self {
        Self::new(Duration::from_secs(1), Duration::from_secs(60))
    }
}

impl Pace {
    /// The interval with requests and the one without, which is at least as long.
    #[must_use]
    pub fn new(active: Duration, idle: Duration) -> Self {
        Self { active, idle: idle.max(active), last: None }
    }

    /// A request was made; whether to poll at once, because it is the first one or the first after a quiet time.
    pub fn request(&mut self, now: Instant) -> bool {
        let wakes = self.is_idle(now);
        self.last = Some(now);
        wakes
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now.duration_since(last) >= self.idle)
    }

    /// When to poll next, after a poll that ended at `now`; `draw` is a random number.
    #[must_use]
    pub fn next(&self, now: Instant, draw: u64) -> Instant {
        let interval = if self.is_idle(now) { self.idle } else { self.active };
        let percent = 90 + (draw % 21) as u32;
        after(now, interval.saturating_mul(percent) / 100)
    }
}
