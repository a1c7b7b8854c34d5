//! The driver: owns the stream, writes what is queued, gives answers to who waits.

mod incoming;
mod patience;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Sleep, sleep_until};

pub(crate) use self::patience::PATIENCE;
use self::patience::Patience;

use super::closing::after;
use super::error::{ConnectionError, Reason};
use super::events::EventSink;
use super::reader::Reader;
use super::shared::Shared;
use super::writer::Writer;
use crate::metrics::Traffic;
use crate::protocol::Envelope;

/// Rounds of reading and writing before other tasks get their turn.
const ROUNDS: usize = 16;

/// Drives one connection until it ends, and gives the reason.
///
/// Dropping it drops the stream at once and fails every waiting request.
#[must_use = "a connection does nothing unless its driver is polled"]
pub struct Driver<IO> {
    io: IO,
    shared: Arc<Shared>,
    reader: Reader,
    writer: Writer,
    events: Option<EventSink>,
    /// Before acceptance an ERROR on any stream answers the step that waits.
    opening: bool,
    /// The next batch was held back once, so that other tasks could add to it.
    yielded: bool,
    /// No new requests: it ends when nobody waits any more.
    closing: bool,
    /// The last answer came after a long time without any, or the connection was opened just now.
    resting: bool,
    /// Since when nothing could be written.
    stalled: Option<Instant>,
    /// When a graceful close gives up waiting.
    close_at: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Requests on it count on being woken when they have waited for long.
    counted_on: bool,
    patience: Patience,
    /// Answers of one read, and who waits for them; kept for their room only.
    answers: Vec<Envelope>,
    wakers: Vec<Waker>,
    /// Bytes read so far.
    received: u64,
    told: Traffic,
    over: Option<ConnectionError>,
}

impl<IO> Driver<IO> {
    pub(super) fn new(io: IO, shared: Arc<Shared>) -> Self {
        Self {
            io,
            reader: Reader::new(shared.limits.max_body()),
            writer: Writer::default(),
            shared,
            events: None,
            opening: true,
            yielded: false,
            closing: false,
            resting: false,
            stalled: None,
            close_at: None,
            timer: None,
            counted_on: false,
            patience: Patience::default(),
            answers: Vec::new(),
            wakers: Vec::new(),
            received: 0,
            told: Traffic::default(),
            over: None,
        }
    }

    pub(super) fn accepted(&mut self) {
        self.opening = false;
        self.resting = true;
    }

    pub(super) fn set_events(&mut self, sink: EventSink) {
        self.events = Some(sink);
    }

    fn end(&mut self, reason: Reason) -> ConnectionError {
        let error = self.shared.end(reason);
        self.over = Some(error.clone());
        self.events = None;
        if let Some(metrics) = self.shared.metrics() {
            // Nobody's answer is due any more.
            let now = Traffic { in_flight: 0, orphans: 0, ..self.traffic() };
            metrics.moved(&mut self.told, now);
            metrics.ended();
        }
        error
    }

    fn traffic(&self) -> Traffic {
        let (in_flight, orphans) = (self.shared.due(), self.shared.orphans());
        Traffic { in_flight, orphans, sent: self.writer.sent(), received: self.received }
    }

    /// Tells how the numbers moved; without the lock, since a recorder is code of others.
    fn tell(&mut self) {
        let now = self.traffic();
        if let Some(metrics) = self.shared.metrics() {
            metrics.moved(&mut self.told, now);
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Future for Driver<IO> {
    type Output = ConnectionError;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ConnectionError> {
        let me = &mut *self;
        if let Some(error) = &me.over {
            return Poll::Ready(error.clone());
        }
        let step = me.step(cx);
        me.tell();
        match step {
            Ok(()) => Poll::Pending,
            Err(reason) => Poll::Ready(me.end(reason)),
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Driver<IO> {
    /// Reads and writes until neither goes on; the error is why the connection ends.
    fn step(&mut self, cx: &mut Context<'_>) -> Result<(), Reason> {
        // Each is left alone once it is pending: its waker is in place.
        let (mut reads, mut writes) = (true, true);
        for _ in 0..ROUNDS {
            if reads {
                reads = self.poll_read(cx)?;
                // Answers may have been the last thing a close waited for.
                writes |= reads && self.closing;
            }
            if writes {
                writes = self.poll_write(cx)?;
            }
            if !reads && !writes {
                self.poll_patience(cx);
                return self.poll_deadlines(cx);
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// Writes what is taken, or takes what is queued; gives whether there was anything to do.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<bool, Reason> {
        if !self.writer.is_pending() && !self.take_batch(cx)? {
            return Ok(false);
        }
        let (progress, written) = self.writer.poll_write(&mut self.io, cx);
        self.shared.set_written(self.writer.written());
        match written {
            Poll::Ready(Err(error)) => Err(Reason::Io(error)),
            Poll::Ready(Ok(())) => {
                self.stalled = None;
                Ok(true)
            }
            Poll::Pending => {
                if progress || self.stalled.is_none() {
                    self.stalled = Some(Instant::now());
                }
                Ok(false)
            }
        }
    }

    /// Takes the queue, unless it is empty or worth a moment's wait.
    fn take_batch(&mut self, cx: &mut Context<'_>) -> Result<bool, Reason> {
        // Wakers are code of others: cloned before the lock, dropped after it.
        let waker = cx.waker().clone();
        let mut old = None;
        let mut state = self.shared.lock();
        let queued = state.out.requests();
        self.counted_on |= std::mem::take(&mut state.counted_on);
        let taken = if state.ended.is_some() || (queued == 0 && state.finished()) {
            drop(state);
            // The peer is told, if it listens; nobody waits for that.
            let _ = Pin::new(&mut self.io).poll_shutdown(cx);
            return Err(Reason::Closed);
        } else if queued == 0 {
            old = state.park(waker, true);
            self.close_at = state.close_at();
            false
        } else if !self.yielded && state.slots.used() - state.slots.orphans() > queued {
            // Others are in flight: their tasks may be about to send as well.
            self.yielded = true;
            cx.waker().wake_by_ref();
            false
        } else {
            self.yielded = false;
            self.writer.take(&mut state.out);
            true
        };
        self.shared.all_in_line(&mut state, &mut self.wakers);
        drop(state);
        drop(old);
        if !self.wakers.is_empty() {
            for waker in self.wakers.drain(..) {
                waker.wake();
            }
        }
        Ok(taken)
    }

    /// Wakes those who have waited for long, if any may count on that: what is sent while nothing can be written is not
    /// looked at until then.
    #[inline]
    fn poll_patience(&mut self, cx: &mut Context<'_>) {
        if !self.counted_on && self.stalled.is_none() {
            return;
        }
        if self.shared.due() > 0 {
            self.patience.poll(&self.shared, &mut self.wakers, cx);
        } else if self.patience.is_over() {
            self.counted_on = false;
        }
    }

    /// Holds the write timeout and the limit of a graceful close.
    fn poll_deadlines(&mut self, cx: &mut Context<'_>) -> Result<(), Reason> {
        let mut stalled = None;
        if let Some(since) = self.stalled {
            stalled = Some(after(since, self.shared.limits.write_timeout()));
            let waker = cx.waker().clone();
            let mut state = self.shared.lock();
            let old = state.park(waker, false);
            self.close_at = state.close_at();
            let ended = state.ended.is_some();
            drop(state);
            drop(old);
            if ended {
                return Err(Reason::Closed);
            }
        }
        let Some(deadline) = [stalled, self.close_at].into_iter().flatten().min() else {
            return Ok(());
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        if timer.as_mut().poll(cx).is_pending() {
            Ok(())
        } else if stalled == Some(deadline) {
            Err(Reason::WriteTimeout(self.shared.limits.write_timeout()))
        } else {
            Err(Reason::Closed)
        }
    }
}

impl<IO> Drop for Driver<IO> {
    fn drop(&mut self) {
        if self.over.is_none() {
            self.end(Reason::DriverDropped);
        }
    }
}

impl<IO> fmt::Debug for Driver<IO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("peer", &self.shared.peer).field("over", &self.over).finish_non_exhaustive()
    }
}
