//! How long a request may take.

use std::time::Duration;

use tokio::time::Instant;

use super::{Inner, options::Options};
use crate::{config::Config, connection::after};

/// When a request began, how long it may take, and its write timestamp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deadline {
    start: Instant,
    limit: Duration,
    timestamp: Option<i64>,
}

impl Deadline {
    pub(super) fn new(options: &Options, config: &Config) -> Self {
        let timestamp = options.timestamp.or_else(|| config.timestamps.next());
        Self { start: Instant::now(), limit: options.timeout(config), timestamp }
    }

    pub(super) fn start(self) -> Instant {
        self.start
    }

    pub(super) fn limit(self) -> Duration {
        self.limit
    }

    /// The write timestamp of every try.
    pub(super) fn timestamp(self) -> Option<i64> {
        self.timestamp
    }

    pub(super) fn at(self) -> Instant {
        after(self.start, self.limit)
    }
}

impl Inner {
    /// How long a request may take that begins now.
    pub(super) fn deadline(&self, options: &Options) -> Deadline {
        Deadline::new(options, &self.config.load())
    }
}
