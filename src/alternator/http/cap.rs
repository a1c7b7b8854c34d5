//! How many requests a node is sent at a time.

use std::{
    collections::HashMap,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Uri, uri::Authority};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many authorities are remembered before those that are unused are forgotten.
const REMEMBERED: usize = 1_000;

/// A permit for each connection that a node may have in use.
#[derive(Clone, Debug)]
pub(super) struct Caps {
    most: usize,
    nodes: Arc<Mutex<HashMap<Authority, Arc<Semaphore>>>>,
}

impl Caps {
    pub(super) fn new(most: usize) -> Self {
        Self { most, nodes: Arc::default() }
    }

    /// The permits of the node that an URI names.
    pub(super) fn of(&self, uri: &Uri) -> Option<Arc<Semaphore>> {
        let authority = uri.authority()?;
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(node) = nodes.get(authority) {
            return Some(Arc::clone(node));
        }
        if nodes.len() >= REMEMBERED {
            nodes.retain(|_, node| Arc::strong_count(node) > 1);
        }
        let node = Arc::new(Semaphore::new(self.most));
        nodes.insert(authority.clone(), Arc::clone(&node));
        Some(node)
    }
}

/// The body of an answer. Where connections are capped it keeps its own until it is read to its end or dropped.
pub struct HttpBody {
    inner: Incoming,
    permit: Option<OwnedSemaphorePermit>,
}

impl HttpBody {
    pub(super) const fn new(inner: Incoming, permit: Option<OwnedSemaphorePermit>) -> Self {
        Self { inner, permit }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBody").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        if let Poll::Ready(None | Some(Err(_))) = frame {
            self.permit = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
