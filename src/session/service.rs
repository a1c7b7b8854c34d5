//! The session as a tower service.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tower_service::Service;

use super::run::Boxed;
use super::{Request, ResultSet, Session};
use crate::error::Error;

/// Always ready: a request waits for room inside its future, within its own time.
impl Service<Request> for Session {
    type Response = ResultSet;
    type Error = Error;
    type Future = RequestFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> RequestFuture {
        RequestFuture { inner: self.executing(request) }
    }
}

/// A request that runs; dropping it gives the request up.
pub struct RequestFuture {
    inner: Boxed<'static>,
}

impl Future for RequestFuture {
    type Output = Result<ResultSet, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.inner.as_mut().poll(cx)
    }
}

impl fmt::Debug for RequestFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestFuture").finish_non_exhaustive()
    }
}
