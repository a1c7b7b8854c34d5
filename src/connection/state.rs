//! What stands under the one lock of a connection.

use std::task::Waker;

use tokio::time::Instant;

use super::error::{ConnectionError, Delivery, ReplyError};
use super::line::Line;
use super::outgoing::Batch;
use super::slots::Slots;

/// Everything under the one lock; never held over an await, and no user code runs under it.
#[derive(Debug, Default)]
pub(super) struct State {
    /// What the driver has not taken yet.
    pub(super) out: Batch,
    /// All bytes ever queued.
    pub(super) queued: u64,
    pub(super) slots: Slots,
    /// The driver, when it waits.
    driver: Option<Waker>,
    /// It waits for something to write.
    driver_idle: bool,
    /// A request was sent that counts on being woken when it has waited for long.
    pub(super) counted_on: bool,
    /// Permits held by handles.
    pub(super) reserved: usize,
    pub(super) line: Line,
    /// No new requests; the connection ends when nobody waits any more.
    pub(super) closing: Option<Closing>,
    pub(super) ended: Option<Ended>,
}

/// The connection is on its way out.
#[derive(Debug)]
pub(super) struct Closing {
    pub(super) error: ConnectionError,
    /// When the requests in flight are cut.
    pub(super) deadline: Option<Instant>,
}

/// The connection is over.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) error: ConnectionError,
    /// How many requests waited for an answer.
    pub(super) cut: usize,
}

impl State {
    /// Why no new request is taken, if so.
    #[inline]
    pub(super) fn refusal(&self) -> Option<&ConnectionError> {
        match (&self.ended, &self.closing) {
            (Some(ended), _) => Some(&ended.error),
            (None, Some(closing)) => Some(&closing.error),
            (None, None) => None,
        }
    }

    /// Why a waiting stream gets no answer any more, and whether its request can have been sent.
    pub(super) fn lost(&self, stream: u16, written: u64) -> Option<ReplyError> {
        let ended = self.ended.as_ref()?;
        let end = self.slots.end(stream)?;
        let delivery = if end > written { Delivery::NotSent } else { Delivery::Sent };
        Some(ReplyError::Connection { delivery, error: ended.error.clone() })
    }

    /// Leaves the driver's waker; `idle` says that it waits for something to write. Gives the old waker.
    pub(super) fn park(&mut self, waker: Waker, idle: bool) -> Option<Waker> {
        self.driver_idle = idle;
        self.driver.replace(waker)
    }

    /// The driver, if it waits for something to write.
    #[inline]
    pub(super) fn wake_idle_driver(&mut self) -> Option<Waker> {
        if self.driver_idle { self.wake_driver() } else { None }
    }

    /// The driver, whatever it waits for.
    pub(super) fn wake_driver(&mut self) -> Option<Waker> {
        self.driver_idle = false;
        self.driver.take()
    }

    /// When a graceful close gives up waiting.
    pub(super) fn close_at(&self) -> Option<Instant> {
        self.closing.as_ref()?.deadline
    }

    /// Whether nobody waits for this connection any more, and it is to close.
    #[inline]
    pub(super) fn finished(&self) -> bool {
        self.closing.is_some() && self.slots.waiting() == 0
    }
}
