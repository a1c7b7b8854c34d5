//! The driver: owns the stream, writes what is queued, gives answers to who waits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Compression;
use super::error::{ConnectionError, Reason};
use super::events::EventSink;
use super::reader::Reader;
use super::reply;
use super::shared::Shared;
use super::slots::Unasked;
use super::writer::Writer;
use crate::protocol::envelope::EVENT_STREAM;
use crate::protocol::{Envelope, FrameError, Opcode};

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
    /// Since when nothing could be written.
    stalled: Option<Instant>,
    /// When a graceful close gives up waiting.
    close_at: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Answers of one read, and who waits for them; kept for their room only.
    answers: Vec<Envelope>,
    wakers: Vec<Waker>,
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
            stalled: None,
            close_at: None,
            timer: None,
            answers: Vec::new(),
            wakers: Vec::new(),
            over: None,
        }
    }

    pub(super) fn accepted(&mut self) {
        self.opening = false;
    }

    pub(super) fn set_events(&mut self, sink: EventSink) {
        self.events = Some(sink);
    }

    fn end(&mut self, reason: Reason) -> ConnectionError {
        let error = self.shared.end(reason);
        self.over = Some(error.clone());
        self.events = None;
        error
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Future for Driver<IO> {
    type Output = ConnectionError;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ConnectionError> {
        let me = &mut *self;
        if let Some(error) = &me.over {
            return Poll::Ready(error.clone());
        }
        match me.step(cx) {
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
                return self.poll_deadlines(cx);
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// One read; gives whether there was anything.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Result<bool, Reason> {
        match self.reader.poll_fill(&mut self.io, cx) {
            Poll::Pending => return Ok(false),
            Poll::Ready(Err(error)) => return Err(Reason::Io(error)),
            Poll::Ready(Ok(0)) => {
                let unfinished = !self.reader.is_idle();
                return Err(Reason::ClosedByPeer { unfinished });
            }
            Poll::Ready(Ok(_)) => {}
        }
        // What came whole before the damage is still an answer.
        let cut = self.cut_answers();
        let given = self.give_answers();
        given.and(cut)?;
        Ok(true)
    }

    /// Cuts the read buffer into answers.
    fn cut_answers(&mut self) -> Result<(), Reason> {
        while let Some(envelope) = self.reader.next().map_err(Reason::Damaged)? {
            let header = envelope.header;
            if !header.response {
                let first_byte = header.version;
                return Err(Reason::Damaged(FrameError::NotAResponse { first_byte }));
            }
            let expected = self.shared.dialect().version.as_u8();
            let excused = self.opening && header.opcode() == Some(Opcode::Error);
            if header.version != expected && !excused {
                return Err(Reason::Version { expected, found: header.version });
            }
            if header.stream == EVENT_STREAM && !excused {
                self.give_event(envelope);
                continue;
            }
            if !self.reader.in_segments() && matches!(header.opcode(), Some(Opcode::Ready | Opcode::Authenticate)) {
                self.started();
            }
            self.answers.push(envelope);
        }
        Ok(())
    }

    /// STARTUP was answered: from v5 on everything else travels in segments.
    fn started(&mut self) {
        let Some(both) = self.shared.negotiated() else {
            return;
        };
        if both.dialect.version.has_segments() {
            let lz4 = both.compression == Some(Compression::Lz4);
            self.reader.start_segments(lz4);
            self.writer.start_segments(lz4);
        }
    }

    fn give_event(&mut self, envelope: Envelope) {
        let Some(sink) = &self.events else {
            tracing::debug!(peer = %self.shared.peer, "event without an owner dropped");
            return;
        };
        match reply::unpack(envelope, &self.shared) {
            Ok(event) => sink.send(event),
            Err(error) => {
                tracing::debug!(peer = %self.shared.peer, %error, "event dropped");
                sink.miss();
            }
        }
    }

    /// Puts the answers of one read into their slots under one lock, and wakes after it.
    fn give_answers(&mut self) -> Result<(), Reason> {
        if self.answers.is_empty() {
            return Ok(());
        }
        self.shared.answered_now();
        let mut result = Ok(());
        let mut state = self.shared.lock();
        let orphans = state.slots.orphans();
        for answer in self.answers.drain(..) {
            let mut stream = answer.header.stream;
            if self.opening && answer.header.opcode() == Some(Opcode::Error) && !state.slots.is_waiting(stream) {
                // Servers answer some mistakes on stream 0 or in a version of their own.
                stream = state.slots.any_waiting().unwrap_or(stream);
            }
            match state.slots.answer(stream, answer) {
                Ok(waker) => self.wakers.extend(waker),
                Err(Unasked) => {
                    result = Err(Reason::Unasked { stream });
                    break;
                }
            }
        }
        if state.slots.orphans() != orphans {
            // Answers of orphans free their streams.
            self.shared.all_in_line(&mut state, &mut self.wakers);
        }
        self.closing = state.closing.is_some();
        self.shared.publish(&state);
        drop(state);
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
        result
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

    /// Holds the write timeout and the limit of a graceful close.
    fn poll_deadlines(&mut self, cx: &mut Context<'_>) -> Result<(), Reason> {
        let mut stalled = None;
        if let Some(since) = self.stalled {
            stalled = Some(since + self.shared.limits.write_timeout());
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
