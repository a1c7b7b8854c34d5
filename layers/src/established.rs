//! The connection that won.

use std::{
    net::SocketAddr,
    task::{Context, Poll},
};

use tower_service::Service;

use crate::error::FailedAttempt;

/// The connection that won, with its address and the attempts that lost.
///
/// It is a [`Service`] when the connection is one, so a whole connect stack is a tower `MakeService`.
// connect 76-78: what an attempt learned is part of its connection, by value; there is no holder to be mixed up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Established<T, C> {
    /// The target; pinned to the winner where a pin layer stands in the stack.
    pub target: T,
    /// The connection, as the attempt returned it.
    pub connection: C,
    /// The address that won.
    pub addr: SocketAddr,
    /// The attempts that failed before, in dial order.
    pub failed: Vec<FailedAttempt>,
}

impl<T, C> Established<T, C> {
    /// A connection that won at `addr`, with nothing lost before it.
    pub fn new(target: T, connection: C, addr: SocketAddr) -> Self {
        Self { target, connection, addr, failed: Vec::new() }
    }

    /// The same with the attempts that failed before.
    #[must_use]
    pub fn with_failed(mut self, failed: Vec<FailedAttempt>) -> Self {
        self.failed = failed;
        self
    }

    /// Changes the connection, keeps the rest.
    pub fn map<D>(self, change: impl FnOnce(C) -> D) -> Established<T, D> {
        let Self { target, connection, addr, failed } = self;
        Established { target, connection: change(connection), addr, failed }
    }
}

impl<T, C, Request> Service<Request> for Established<T, C>
where
    C: Service<Request>,
{
    type Response = C::Response;
    type Error = C::Error;
    type Future = C::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.connection.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> C::Future {
        self.connection.call(request)
    }
}
