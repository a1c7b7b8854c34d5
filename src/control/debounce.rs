//! Events come in swarms: what comes shortly after one another is answered by one refresh.

use std::{future::pending, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{config::Debounce, connection::after};

/// A refresh that is due, or none.
#[derive(Debug, Default)]
pub(super) struct Debouncer {
    due: Option<Instant>,
    events: usize,
}

impl Debouncer {
    /// One more event: a refresh is due at the end of its window at the latest, or now if there are many.
    pub(super) fn note(&mut self, options: Debounce) {
        self.events += 1;
        let now = Instant::now();
        let due = after(now, options.window);
        let due = if self.events >= options.max_events { now } else { due };
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    /// Another look after so long, if none comes earlier.
    pub(super) fn again_after(&mut self, delay: Duration) {
        let due = after(Instant::now(), delay);
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    /// Everything that was noted is answered by the refresh that begins now.
    pub(super) fn begin(&mut self) {
        *self = Self::default();
    }

    /// Waits until a refresh is due. Cancel safe.
    pub(super) async fn due(&self) {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => pending().await,
        }
    }

    /// Whether so many events wait that the rest of them may not be waited for.
    pub(super) fn is_full(&self, options: Debounce) -> bool {
        self.events >= options.max_events.saturating_mul(64)
    }
}
