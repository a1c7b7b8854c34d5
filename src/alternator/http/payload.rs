//! The body of a request: held as a whole, so that it can be sent to another node.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

/// An HTTP client has it.
const BEGUN: u8 = 0;
/// It waits for a connection that is free.
const QUEUED: u8 = 1;
/// The body was taken up: before that not a byte of the request was sent.
const TAKEN: u8 = 2;

/// How far an attempt is, and since when it is on a connection.
#[derive(Debug, Default)]
struct Way {
    step: AtomicU8,
    since: OnceLock<Instant>,
}

/// The bytes of a request; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    bytes: Bytes,
    /// How far it is on its way.
    way: Option<Arc<Way>>,
}

impl Payload {
    /// The bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The same bytes for one attempt, with what tells since when it is being sent.
    pub(in crate::alternator) fn watched(&self) -> (Self, Sent) {
        let way = Arc::new(Way::default());
        (Self { bytes: self.bytes.clone(), way: Some(Arc::clone(&way)) }, Sent(way))
    }

    /// It waits for a connection that is free, or does so no longer.
    pub(super) fn queue(&self, waits: bool) {
        self.is_now(if waits { QUEUED } else { BEGUN });
    }

    fn take_up(&self) {
        if let Some(way) = &self.way {
            way.since.get_or_init(Instant::now);
        }
        self.is_now(TAKEN);
    }

    fn is_now(&self, step: u8) {
        if let Some(way) = &self.way {
            way.step.store(step, Ordering::Release);
        }
    }
}

/// Whether an attempt may have reached the server.
#[derive(Clone, Debug)]
pub(in crate::alternator) struct Sent(Arc<Way>);

impl Sent {
    /// `false` proves that not a byte was sent.
    pub(in crate::alternator) fn maybe(&self) -> bool {
        self.0.step.load(Ordering::Acquire) == TAKEN
    }

    /// Whether it waits behind other requests of this client: that says nothing of the node.
    pub(in crate::alternator) fn is_queued(&self) -> bool {
        self.0.step.load(Ordering::Acquire) == QUEUED
    }

    /// Since when it is on a connection.
    pub(in crate::alternator) fn since(&self) -> Option<Instant> {
        self.0.since.get().copied()
    }
}

impl<T: Into<Bytes>> From<T> for Payload {
    fn from(bytes: T) -> Self {
        Self { bytes: bytes.into(), way: None }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.take_up();
        let bytes = std::mem::take(&mut self.bytes);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        if self.bytes.is_empty() {
            // A client that sends no body asks only this.
            self.take_up();
        }
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
