//! The answer to one request, to be awaited.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::error::{Delivery, Reason, ReplyError};
use super::shared::Shared;
use super::slots::Polled;
use crate::protocol::envelope::flags;
use crate::protocol::{Envelope, FrameError};

/// Waits for the answer to one request and gives it as an envelope, its body not compressed.
///
/// The request is queued already. Dropping a reply gives the request up: it may still be sent and executed, and its stream
/// stays in use until the server answers.
#[must_use = "dropping a reply gives the request up"]
pub struct Reply {
    state: State,
}

enum State {
    Waiting {
        shared: Arc<Shared>,
        stream: u16,
        /// A waker was left in the slot.
        registered: bool,
    },
    Failed(ReplyError),
    Over,
}

impl Reply {
    pub(super) fn new(shared: Arc<Shared>, stream: u16) -> Self {
        Self { state: State::Waiting { shared, stream, registered: false } }
    }

    pub(super) fn failed(error: ReplyError) -> Self {
        Self { state: State::Failed(error) }
    }

    /// Whether the request can have reached the server by now.
    ///
    /// A request that is given up while this is [`Delivery::NotSent`] may still be sent afterwards.
    pub fn delivery(&self) -> Delivery {
        match &self.state {
            State::Waiting { shared, stream, .. } => {
                let state = shared.lock();
                match state.slots.end(*stream) {
                    Some(end) if end > shared.written() => Delivery::NotSent,
                    _ => Delivery::Sent,
                }
            }
            State::Failed(error) => error.delivery(),
            State::Over => Delivery::Sent,
        }
    }
}

impl Future for Reply {
    type Output = Result<Envelope, ReplyError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let State::Waiting { shared, stream, registered } = &mut self.state else {
            return match std::mem::replace(&mut self.state, State::Over) {
                State::Failed(error) => Poll::Ready(Err(error)),
                _ => Poll::Pending,
            };
        };
        let mut fresh = (!*registered).then(|| cx.waker().clone());
        *registered = true;
        let result = loop {
            let mut state = shared.lock();
            match state.slots.poll(*stream, cx.waker(), &mut fresh) {
                Polled::Answered(envelope) => {
                    shared.publish(&state);
                    let next = shared.next_in_line(&mut state);
                    drop(state);
                    if let Some(next) = next {
                        next.wake();
                    }
                    break if envelope.header.has(flags::COMPRESSED) { unpack(envelope, shared) } else { Ok(envelope) };
                }
                Polled::Waiting => match state.lost(*stream, shared.written()) {
                    None => return Poll::Pending,
                    Some(error) => {
                        let released = state.slots.forget(*stream);
                        shared.publish(&state);
                        drop(state);
                        drop(released);
                        break Err(error);
                    }
                },
                Polled::Stale => {
                    drop(state);
                    fresh = Some(cx.waker().clone());
                }
            }
        };
        self.state = State::Over;
        Poll::Ready(result)
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        let State::Waiting { shared, stream, .. } = &self.state else {
            return;
        };
        let mut state = shared.lock();
        let released = match state.ended {
            None => state.slots.release(*stream),
            Some(_) => state.slots.forget(*stream),
        };
        shared.publish(&state);
        let mut wakers = Vec::new();
        if released.orphaned() && state.ended.is_none() {
            let orphans = state.slots.orphans();
            if orphans > shared.limits.max_orphans() && state.closing.is_none() {
                tracing::debug!(peer = %shared.peer, orphans, "connection retired");
                wakers = shared.begin_close(&mut state, Reason::TooManyOrphans { orphans }, None);
            } else if state.finished() || shared.metrics().is_some() {
                // To close, or to tell of the orphan.
                wakers.extend(state.wake_driver());
            }
        } else {
            wakers.extend(shared.next_in_line(&mut state));
        }
        drop(state);
        drop(released);
        for waker in wakers {
            waker.wake();
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reply = f.debug_struct("Reply");
        match &self.state {
            State::Waiting { shared, stream, .. } => reply.field("peer", &shared.peer).field("stream", stream),
            State::Failed(error) => reply.field("error", error),
            State::Over => reply.field("over", &true),
        };
        reply.finish()
    }
}

/// Unpacks a compressed body; done by whoever awaits it, so that the driver stays free.
pub(super) fn unpack(mut envelope: Envelope, shared: &Shared) -> Result<Envelope, ReplyError> {
    // From v5 on segments are compressed and the flag has no meaning.
    if !envelope.header.has(flags::COMPRESSED) || !shared.dialect().version.has_body_compression() {
        return Ok(envelope);
    }
    let unpacked = match shared.compression() {
        Some(compression) => compression.decompress(&envelope.body, shared.limits.max_body()),
        None => Err(FrameError::UnexpectedCompression),
    };
    let body = unpacked.map_err(|error| ReplyError::Body(Arc::new(error)))?;
    envelope.header.flags &= !flags::COMPRESSED;
    envelope.header.length = body.len() as u32;
    envelope.body = body;
    Ok(envelope)
}
