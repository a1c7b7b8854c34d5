//! The handle of a connection: what requests are sent with.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;
use tower_service::Service;

use super::error::{ConnectionError, Delivery, Reason, ReplyError, TrySendError};
use super::limits::Limits;
use super::reply::Reply;
use super::shared::Shared;
use crate::metrics::ConnectionMetrics;
use crate::protocol::request::Request;
use crate::protocol::{Compression, Dialect};

/// A handle of a live connection; cheap to clone.
///
/// As a [`Service`] it follows tower's `ConcurrencyLimit`: being ready holds room for one request, and a clone starts
/// without. [`try_send`](Self::try_send) needs no readiness and takes room only if there is some that nobody waits for.
///
/// The connection ends gracefully when its last handle is dropped and nobody waits for an answer.
pub struct Connection {
    owner: Arc<Owner>,
    permit: Permit,
}

/// Shared by the handles of a connection, so that the last one closes it.
#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
}

/// A handle's claim to room for one request.
#[derive(Debug)]
enum Permit {
    None,
    /// Stands in line with this ticket.
    Waiting(u64),
    Held,
}

impl Connection {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { owner: Arc::new(Owner { shared }), permit: Permit::None }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.owner.shared
    }

    /// Sends a request if there is room, without waiting.
    ///
    /// # Errors
    /// [`TrySendError`]; the request was not sent.
    pub fn try_send<R: Request + ?Sized>(&self, request: &R) -> Result<Reply, TrySendError> {
        let stream = self.shared().send(request, false, None)?;
        Ok(Reply::new(Arc::clone(self.shared()), stream))
    }

    /// The same by who knows what time it is, and counts on being woken when it has waited for [`PATIENCE`](super::PATIENCE),
    /// once, if the connection [runs here](Self::runs_here).
    #[inline]
    pub(crate) fn try_send_at<R: Request + ?Sized>(&self, request: &R, now: Instant) -> Result<Reply, TrySendError> {
        let stream = self.shared().send(request, false, Some(now))?;
        Ok(Reply::new(Arc::clone(self.shared()), stream))
    }

    /// Waits until there is room for one request, which this handle then holds.
    ///
    /// # Errors
    /// Why the connection takes no new requests.
    pub fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let shared = Arc::clone(self.shared());
        let waker = cx.waker().clone();
        let mut old = None;
        let mut state = shared.lock();
        let result = match (state.refusal(), &self.permit) {
            (Some(error), _) => Poll::Ready(Err(error.clone())),
            (None, Permit::Held) => Poll::Ready(Ok(())),
            (None, permit) => {
                let ticket = match permit {
                    Permit::Waiting(ticket) => Some(*ticket),
                    _ => None,
                };
                let place = ticket.and_then(|ticket| state.line.place(ticket));
                if place.unwrap_or(state.line.len()) < shared.room(&state) {
                    old = place.and_then(|place| state.line.leave(place));
                    state.reserved += 1;
                    self.permit = Permit::Held;
                    Poll::Ready(Ok(()))
                } else {
                    match place {
                        Some(place) => old = state.line.renew(place, waker),
                        None => self.permit = Permit::Waiting(state.line.join(waker)),
                    }
                    Poll::Pending
                }
            }
        };
        drop(state);
        drop(old);
        result
    }

    /// Why the connection takes no new requests; `None` while it does.
    pub fn error(&self) -> Option<ConnectionError> {
        self.shared().lock().refusal().cloned()
    }

    /// Whether it takes new requests. Takes no lock.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.shared().is_open()
    }

    /// How long, at `now`, nothing has been answered while something waited; zero if nothing waits. Takes no lock.
    #[inline]
    pub fn silent_for(&self, now: Instant) -> Duration {
        Duration::from_nanos(self.silent_nanos(now))
    }

    /// The same in nanoseconds, which are quicker to reckon with.
    #[inline]
    pub(crate) fn silent_nanos(&self, now: Instant) -> u64 {
        self.shared().silent_nanos(now)
    }

    /// Has its numbers told to whom it belongs to; only the first call counts.
    pub(crate) fn observe(&self, metrics: ConnectionMetrics) {
        self.shared().observe(metrics);
    }

    /// Requests on the connection: waiting, answered and not taken yet, and orphans. Takes no lock.
    pub fn in_flight(&self) -> usize {
        self.shared().in_flight()
    }

    /// Requests whose answer is due, be it waited for or not. Takes no lock.
    #[inline]
    pub(crate) fn due(&self) -> usize {
        self.shared().due()
    }

    /// Whether who waits here may count on being woken: elsewhere another runtime may stand still.
    pub(crate) fn runs_here(&self) -> bool {
        self.shared().runs_here()
    }

    /// Requests that were given up while their answer is still due. Takes no lock.
    pub fn orphans(&self) -> usize {
        self.shared().orphans()
    }

    /// Bytes queued and not written yet. Takes no lock.
    pub fn queued_bytes(&self) -> u64 {
        self.shared().pending()
    }

    /// All bytes written, counted before compression and segments. Takes no lock.
    pub fn written_bytes(&self) -> u64 {
        self.shared().written()
    }

    /// When the last answer came; when it was opened, if none has. Takes no lock.
    pub fn last_answer(&self) -> Instant {
        self.shared().last_answer()
    }

    /// The address of the peer.
    pub fn peer(&self) -> SocketAddr {
        self.shared().peer
    }

    /// The protocol version and extensions that were negotiated.
    pub fn dialect(&self) -> Dialect {
        self.shared().dialect()
    }

    /// The compression that was negotiated.
    pub fn compression(&self) -> Option<Compression> {
        self.shared().compression()
    }

    /// The bounds of this connection.
    pub fn limits(&self) -> &Limits {
        &self.shared().limits
    }

    /// Whether both are handles of the same connection.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.owner, &other.owner)
    }
}

impl<R: Request> Service<R> for Connection {
    type Response = crate::protocol::Envelope;
    type Error = ReplyError;
    type Future = Reply;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ReplyError>> {
        self.poll_room(cx).map_err(|error| ReplyError::Connection { delivery: Delivery::NotSent, error })
    }

    /// Sends a request with the room this handle holds; without, as [`try_send`](Connection::try_send) does.
    fn call(&mut self, request: R) -> Reply {
        let held = matches!(self.permit, Permit::Held);
        if held {
            self.permit = Permit::None;
        }
        match self.shared().send(&request, held, None) {
            Ok(stream) => Reply::new(Arc::clone(self.shared()), stream),
            Err(error) => Reply::failed(error.into()),
        }
    }
}

impl Clone for Connection {
    fn clone(&self) -> Self {
        Self { owner: Arc::clone(&self.owner), permit: Permit::None }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if matches!(self.permit, Permit::None) {
            return;
        }
        let shared = self.shared();
        let mut state = shared.lock();
        let mut old = None;
        match self.permit {
            Permit::None => {}
            Permit::Held => state.reserved -= 1,
            Permit::Waiting(ticket) => {
                if let Some(place) = state.line.place(ticket) {
                    old = state.line.leave(place);
                }
            }
        }
        let next = shared.next_in_line(&mut state);
        drop(state);
        drop(old);
        if let Some(next) = next {
            next.wake();
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("peer", &self.peer())
            .field("dialect", &self.dialect())
            .field("in_flight", &self.in_flight())
            .field("permit", &self.permit)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.peer())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let wakers = self.shared.begin_close(&mut state, Reason::Closed, None);
        drop(state);
        for waker in wakers {
            waker.wake();
        }
    }
}
