//! A connector of the application's, held to the connect limit.

use std::{
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use messina_layers::{
    Candidate, Stage, TimedOut, Transport,
    error::{AttemptError, BoxError},
};
use tokio::time::timeout;
use tower::Service;

use super::{
    Open,
    seams::{BoxConnector, BoxIo},
};

/// Ends a dial that takes too long, as our own connector would: with an error of the tcp step.
#[derive(Clone, Debug)]
pub(super) struct Limited {
    inner: BoxConnector,
    limit: Duration,
}

impl Limited {
    pub(super) fn new(inner: BoxConnector, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

impl Service<Candidate<Open>> for Limited {
    type Response = Transport<Open, BoxIo>;
    type Error = AttemptError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, AttemptError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        self.inner.poll_ready(cx).map_err(|error| AttemptError::from_box(error, Stage::TCP))
    }

    fn call(&mut self, candidate: Candidate<Open>) -> Self::Future {
        // The ready one is called, its clone waits for the next dial.
        let clone = self.inner.clone();
        let mut ready = mem::replace(&mut self.inner, clone);
        let limit = self.limit;
        Box::pin(async move {
            let dialled = timeout(limit, ready.call(candidate)).await;
            let dialled = dialled.unwrap_or_else(|_elapsed| Err(BoxError::from(TimedOut::new(limit))));
            dialled.map_err(|error| AttemptError::from_box(error, Stage::TCP))
        })
    }
}
