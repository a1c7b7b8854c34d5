//! Write timestamps made by the client.

use std::{
    fmt,
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Makes the write timestamps of requests that name none: microseconds since 1970.
///
/// Asked once per request, so every try of it has the same one: a write that is repeated cannot hide one that came
/// between.
pub trait TimestampGenerator: fmt::Debug + Send + Sync + 'static {
    /// The timestamp of a request that begins now; `None` leaves it to the server.
    fn next(&self) -> Option<i64>;
}

/// Leaves timestamps to the server that coordinates a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerTimestamps;

impl TimestampGenerator for ServerTimestamps {
    fn next(&self) -> Option<i64> {
        None
    }
}

/// The clock of this machine, never the same value twice: the default of a session.
///
/// Where it is asked more than once per microsecond, or the clock was set back, it counts on from its last value. It
/// warns when it is then more than a second ahead of the clock, every ten seconds at most.
#[derive(Debug, Default)]
pub struct MonotonicTimestamps {
    last: AtomicI64,
    warned: AtomicI64,
}

const AHEAD: Duration = Duration::from_secs(1);
const WARN_EVERY: Duration = Duration::from_secs(10);

impl MonotonicTimestamps {
    /// A generator of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next timestamp by a clock that shows this.
    fn at(&self, clock: i64) -> i64 {
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let next = if clock > last { clock } else { last.saturating_add(1) };
            match self.last.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    if next - clock > micros(AHEAD) {
                        self.warn(next - clock, clock);
                    }
                    return next;
                }
                Err(newer) => last = newer,
            }
        }
    }

    #[cold]
    fn warn(&self, ahead: i64, clock: i64) {
        let warned = self.warned.load(Ordering::Relaxed);
        // A clock that was set back far makes the difference negative: warn once more then.
        let due = warned == 0 || (clock - warned).abs() >= micros(WARN_EVERY);
        if due && self.warned.compare_exchange(warned, clock, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let ahead = Duration::from_micros(ahead.unsigned_abs());
            tracing::warn!(?ahead, "write timestamps are ahead of the clock: it was set back, or too many are made");
        }
    }
}

impl TimestampGenerator for MonotonicTimestamps {
    #[inline]
    fn next(&self) -> Option<i64> {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, micros);
        Some(self.at(clock))
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl MonotonicTimestamps {
    /// As [`next`](TimestampGenerator::next), by a clock that shows this; for tests.
    #[doc(hidden)]
    pub fn next_at(&self, clock: i64) -> i64 {
        self.at(clock)
    }
}
