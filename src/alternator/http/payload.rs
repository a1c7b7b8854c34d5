//! The body of a request: held as a whole, so that it can be sent to another node.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The bytes of a request; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    bytes: Bytes,
    /// Set as soon as an HTTP client takes the body up: before that not a byte of the request was sent.
    taken: Option<Arc<AtomicBool>>,
}

impl Payload {
    /// The bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The same bytes for one attempt, with the flag that tells whether it was begun to be sent.
    pub(in crate::alternator) fn watched(&self) -> (Self, Sent) {
        let flag = Arc::new(AtomicBool::new(false));
        (Self { bytes: self.bytes.clone(), taken: Some(Arc::clone(&flag)) }, Sent(flag))
    }

    fn take_up(&self) {
        if let Some(flag) = &self.taken {
            flag.store(true, Ordering::Release);
        }
    }
}

/// Whether an attempt may have reached the server.
#[derive(Clone, Debug)]
pub(in crate::alternator) struct Sent(Arc<AtomicBool>);

impl Sent {
    /// `false` proves that not a byte was sent.
    pub(in crate::alternator) fn maybe(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl<T: Into<Bytes>> From<T> for Payload {
    fn from(bytes: T) -> Self {
        Self { bytes: bytes.into(), taken: None }
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
