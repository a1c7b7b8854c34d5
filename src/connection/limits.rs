//! What one connection may hold at most.

use std::time::Duration;

use crate::protocol::DEFAULT_MAX_BODY;

/// The bounds of a connection; an invalid one cannot be built.
///
/// Defaults: 1024 requests at a time, 256 orphans, 1 MiB queued, answers up to 256 MiB, 10 s without being able to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    max_requests: usize,
    max_orphans: usize,
    max_queued: usize,
    max_body: u32,
    write_timeout: Duration,
}

/// A bound that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidLimit {
    /// The number of requests is outside what stream ids allow.
    #[error("{0} requests per connection: between 1 and {max} are allowed", max = Limits::STREAMS)]
    Requests(usize),
    /// So many orphans would leave no room for requests.
    #[error("{orphans} orphans per connection: fewer than its {requests} requests are allowed")]
    Orphans {
        /// The orphans asked for.
        orphans: usize,
        /// The requests allowed.
        requests: usize,
    },
    /// An answer may not be longer than the protocol allows.
    #[error("answers of {0} bytes: at most {DEFAULT_MAX_BODY} are allowed")]
    Body(u32),
    /// Nothing could ever be written.
    #[error("a write timeout of zero")]
    WriteTimeout,
}

impl Limits {
    /// Streams that the protocol has.
    pub const STREAMS: usize = 32_768;

    /// At most `requests` at a time, of which up to `orphans` may have been given up before the connection is retired.
    ///
    /// # Errors
    /// [`InvalidLimit::Requests`] outside 1 to 32768; [`InvalidLimit::Orphans`] unless orphans are fewer than requests.
    pub fn with_requests(mut self, requests: usize, orphans: usize) -> Result<Self, InvalidLimit> {
        if !(1..=Self::STREAMS).contains(&requests) {
            return Err(InvalidLimit::Requests(requests));
        }
        if orphans >= requests {
            return Err(InvalidLimit::Orphans { orphans, requests });
        }
        self.max_requests = requests;
        self.max_orphans = orphans;
        Ok(self)
    }

    /// No new request while more than this many bytes wait to be written.
    #[must_use]
    pub fn with_queued(mut self, bytes: usize) -> Self {
        self.max_queued = bytes;
        self
    }

    /// No answer longer than this; a longer one ends the connection.
    ///
    /// # Errors
    /// [`InvalidLimit::Body`] above 256 MiB.
    pub fn with_body(mut self, bytes: u32) -> Result<Self, InvalidLimit> {
        if bytes > DEFAULT_MAX_BODY {
            return Err(InvalidLimit::Body(bytes));
        }
        self.max_body = bytes;
        Ok(self)
    }

    /// The connection ends when nothing could be written for this long while bytes were waiting.
    ///
    /// # Errors
    /// [`InvalidLimit::WriteTimeout`] for zero.
    pub fn with_write_timeout(mut self, timeout: Duration) -> Result<Self, InvalidLimit> {
        if timeout.is_zero() {
            return Err(InvalidLimit::WriteTimeout);
        }
        self.write_timeout = timeout;
        Ok(self)
    }

    /// Requests at a time, orphans included.
    #[must_use]
    pub fn max_requests(&self) -> usize {
        self.max_requests
    }

    /// Orphans above which the connection is retired.
    #[must_use]
    pub fn max_orphans(&self) -> usize {
        self.max_orphans
    }

    /// Queued bytes above which no new request is taken.
    #[must_use]
    pub fn max_queued(&self) -> usize {
        self.max_queued
    }

    /// The longest answer.
    #[must_use]
    pub fn max_body(&self) -> u32 {
        self.max_body
    }

    /// How long nothing may be writable.
    #[must_use]
    pub fn write_timeout(&self) -> Duration {
        self.write_timeout
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_requests: 1024,
            max_orphans: 256,
            max_queued: 1024 * 1024,
            max_body: DEFAULT_MAX_BODY,
            write_timeout: Duration::from_secs(10),
        }
    }
}
