//! The driver's reading side: from one read to answers in their slots.

use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::Driver;
use crate::connection::error::Reason;
use crate::connection::reply;
use crate::connection::slots::Unasked;
use crate::protocol::envelope::EVENT_STREAM;
use crate::protocol::{Compression, Envelope, FrameError, Opcode};

/// Answers further apart than this are not worth a buffer that waits for the next one.
const RARE: Duration = Duration::from_secs(1);

impl<IO: AsyncRead + AsyncWrite + Unpin> Driver<IO> {
    /// One read; gives whether there was anything.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Result<bool, Reason> {
        match self.reader.poll_fill(&mut self.io, cx) {
            Poll::Pending => {
                if std::mem::take(&mut self.resting) {
                    self.reader.rest();
                }
                return Ok(false);
            }
            Poll::Ready(Err(error)) => return Err(Reason::Io(error)),
            Poll::Ready(Ok(0)) => {
                let unfinished = !self.reader.is_idle();
                return Err(Reason::ClosedByPeer { unfinished });
            }
            Poll::Ready(Ok(n)) => self.received += n as u64,
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
        // Heartbeats are answered like this: no answer for long before, and none soon after.
        self.resting = self.shared.answered_now() >= RARE;
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
}
