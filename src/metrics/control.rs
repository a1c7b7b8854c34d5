//! What the control connection counts.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use metrics::{Counter, Gauge};

use super::{Naming, names};

/// The counters of a session's control connection; dropping them sets its gauges to 0.
pub(crate) struct ControlMetrics {
    since: Gauge,
    switches: Counter,
    fallbacks: Counter,
    exhausted: Counter,
    delay: Gauge,
    was_connected: bool,
}

impl ControlMetrics {
    pub(super) fn new(naming: &Naming) -> Self {
        let metrics = Self {
            since: naming.gauge(names::CONTROL_CONNECTED_SINCE, &[]),
            switches: naming.counter(names::CONTROL_SWITCHES, &[]),
            fallbacks: naming.counter(names::CONTROL_FALLBACK_ROUNDS, &[]),
            exhausted: naming.counter(names::CONTROL_EXHAUSTED_ROUNDS, &[]),
            delay: naming.gauge(names::CONTROL_RECONNECT_DELAY, &[]),
            was_connected: false,
        };
        metrics.since.set(0.0);
        metrics.delay.set(0.0);
        metrics
    }

    /// A control connection was accepted.
    pub(crate) fn connected(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.since.set(now.as_secs_f64());
        self.delay.set(0.0);
        if std::mem::replace(&mut self.was_connected, true) {
            self.switches.increment(1);
        }
    }

    /// The control connection was lost.
    pub(crate) fn lost(&self) {
        self.since.set(0.0);
    }

    /// A round came as far as the original contact points.
    pub(crate) fn fell_back(&self) {
        self.fallbacks.increment(1);
    }

    /// A round found no control connection; the next one begins after `delay`.
    pub(crate) fn exhausted(&self, delay: Duration) {
        self.exhausted.increment(1);
        self.delay.set(delay.as_secs_f64());
    }
}

impl Drop for ControlMetrics {
    fn drop(&mut self) {
        self.since.set(0.0);
        self.delay.set(0.0);
    }
}

impl fmt::Debug for ControlMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlMetrics").finish_non_exhaustive()
    }
}
