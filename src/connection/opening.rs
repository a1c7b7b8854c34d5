//! A connection before it is accepted: driven by whoever waits on it, so that dropping it drops the socket.

use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::driver::Driver;
use super::error::{ConnectionError, Delivery, ReplyError};
use super::events::EventSink;
use super::handle::Connection;
use super::limits::Limits;
use super::shared::{Negotiated, Shared};
use crate::protocol::request::Request;
use crate::protocol::{Compression, Dialect, Envelope};

/// A connection that is not accepted yet.
///
/// No task runs for it: [`request`](Self::request) and [`run`](Self::run) drive it beside their own wait, and dropping it
/// closes its socket on the spot. Until it is accepted an ERROR on any stream, in a header of any version, answers the
/// request that waits.
pub struct Opening<IO> {
    handle: Connection,
    driver: Driver<IO>,
}

/// Why a step before acceptance gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpeningError {
    /// No answer within the limit of the step.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The request failed, or the connection ended.
    #[error(transparent)]
    Request(#[from] ReplyError),
}

impl<IO> Opening<IO> {
    /// A connection over a stream to `peer`. Requests are written in `dialect` until another one is negotiated.
    pub fn new(io: IO, peer: SocketAddr, dialect: impl Into<Dialect>, limits: Limits) -> Self {
        let shared = Arc::new(Shared::new(peer, dialect.into(), limits));
        Self { driver: Driver::new(io, Arc::clone(&shared)), handle: Connection::new(shared) }
    }

    /// The handle, for use inside [`run`](Self::run).
    pub fn handle(&self) -> &Connection {
        &self.handle
    }

    /// Settles dialect and compression; to be called once, right before STARTUP is sent. Later calls change nothing.
    ///
    /// What depends on them switches by itself: v3 and v4 compress every body after STARTUP, v5 travels in segments from
    /// the answer to STARTUP on.
    pub fn negotiate(&mut self, dialect: impl Into<Dialect>, compression: Option<Compression>) {
        let dialect = dialect.into();
        let first = self.handle.shared().negotiate(Negotiated { dialect, compression });
        debug_assert!(first, "negotiated once");
    }

    /// Where events go; to be set before REGISTER is sent.
    pub fn set_events(&mut self, sink: EventSink) {
        self.driver.set_events(sink);
    }

    /// Both halves, the driver to be polled by the caller. The connection counts as accepted.
    pub fn into_parts(mut self) -> (Connection, Driver<IO>) {
        self.driver.accepted();
        (self.handle, self.driver)
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Opening<IO> {
    /// Sends one request and waits for its answer, for at most `limit`.
    ///
    /// # Errors
    /// [`OpeningError`]. After a timeout the opening is of no more use.
    pub async fn request<R: Request + ?Sized>(
        &mut self,
        request: &R,
        limit: Duration,
    ) -> Result<Envelope, OpeningError> {
        let reply = self.handle.try_send(request).map_err(ReplyError::from)?;
        match tokio::time::timeout(limit, self.run(reply)).await {
            Err(_) => Err(OpeningError::TimedOut(limit)),
            Ok(Ok(answer)) => Ok(answer?),
            Ok(Err(error)) => Err(OpeningError::Request(ReplyError::Connection { delivery: Delivery::Sent, error })),
        }
    }

    /// Drives the connection until `future` is done; what that does with the [`handle`](Self::handle) gets its answers.
    ///
    /// # Errors
    /// Why the connection ended, if it did and `future` does not end with it.
    pub async fn run<F: Future>(&mut self, future: F) -> Result<F::Output, ConnectionError> {
        let mut future = pin!(future);
        let mut driver = Pin::new(&mut self.driver);
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            let Poll::Ready(error) = driver.as_mut().poll(cx) else {
                return Poll::Pending;
            };
            // Its own account of the end is the better one.
            match future.as_mut().poll(cx) {
                Poll::Ready(output) => Poll::Ready(Ok(output)),
                Poll::Pending => Poll::Ready(Err(error)),
            }
        })
        .await
    }

    /// Accepts the connection: from here on a task drives it.
    ///
    /// To be called within a tokio runtime.
    pub fn accept(self) -> Connection
    where
        IO: Send + 'static,
    {
        let (handle, driver) = self.into_parts();
        tokio::spawn(driver);
        handle
    }
}

impl<IO> fmt::Debug for Opening<IO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("handle", &self.handle).finish_non_exhaustive()
    }
}
