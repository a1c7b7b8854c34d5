//! Whether a node is being asked if it lives.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::Instant;

/// A node that has answered is left alone for so long, however silent: what it is asked costs it little, but not nothing.
const TRUST: Duration = Duration::from_millis(100);
/// No moment comes after this one.
const ASKED: u64 = u64::MAX;

/// Since when nobody has to ask. Takes no lock.
#[derive(Debug)]
pub(super) struct Doubt {
    begun: Instant,
    /// In nanoseconds after `begun`.
    trusted_until: AtomicU64,
}

impl Default for Doubt {
    fn default() -> Self {
        Self { begun: Instant::now(), trusted_until: AtomicU64::new(0) }
    }
}

impl Doubt {
    /// Whether its answer is due.
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.trusted_until.load(Ordering::Relaxed) == ASKED
    }

    /// Whether it is to be asked now; true once until it has answered.
    #[cold]
    pub(super) fn ask(&self, now: Instant) -> bool {
        let until = self.trusted_until.load(Ordering::Relaxed);
        until <= self.nanos(now)
            && self.trusted_until.compare_exchange(until, ASKED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// It has answered, or has no connection any more.
    pub(super) fn settle(&self) {
        self.trusted_until.store(self.nanos(Instant::now() + TRUST), Ordering::Relaxed);
    }

    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.begun).as_nanos()).unwrap_or(ASKED - 1)
    }
}
