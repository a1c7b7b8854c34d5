//! The end of a connection: a graceful close, and waiting for whatever ends it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::error::{ConnectionError, Reason};
use super::handle::Connection;
use super::shared::Shared;
use super::state::{Closing, Ended, State};

/// As good as for ever: 30 years. No clock overflows by it.
const FOR_EVER: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// When a wait that begins at `start` is over; whatever is longer counts as 30 years.
pub(crate) fn after(start: Instant, limit: Duration) -> Instant {
    start + limit.min(FOR_EVER)
}

/// How a graceful close went.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Closed {
    /// How many requests still waited for an answer and were cut.
    pub cut: usize,
    /// Why the connection ended: [`Reason::Closed`], unless something else came first.
    pub error: ConnectionError,
}

impl Connection {
    /// Closes the connection: no new requests, those in flight have until `limit`, then they are cut.
    ///
    /// It begins at once; the future waits for the end and may be dropped.
    pub fn close(&self, limit: Duration) -> impl Future<Output = Closed> + Send + use<> {
        let shared = Arc::clone(self.shared());
        let deadline = after(Instant::now(), limit);
        let mut state = shared.lock();
        let wakers = shared.begin_close(&mut state, Reason::Closed, Some(deadline));
        drop(state);
        for waker in wakers {
            waker.wake();
        }
        async move {
            if timeout_at(deadline, ended(&shared)).await.is_err() {
                // Nobody drives it, or the driver is about to see the same deadline.
                shared.end(Reason::Closed);
            }
            ended(&shared).await
        }
    }

    /// Waits for the end of the connection, whatever ends it.
    pub fn closed(&self) -> impl Future<Output = ConnectionError> + Send + use<> {
        let shared = Arc::clone(self.shared());
        async move { ended(&shared).await.error }
    }

    /// Waits until the connection takes no more requests; those in flight may still be answered.
    pub fn retired(&self) -> impl Future<Output = ConnectionError> + Send + use<> {
        let shared = Arc::clone(self.shared());
        async move {
            loop {
                let told = shared.retired.notified();
                if let Some(error) = shared.lock().refusal() {
                    return error.clone();
                }
                told.await;
            }
        }
    }
}

/// Waits for the end. The end is told once, so interest is registered before looking.
async fn ended(shared: &Shared) -> Closed {
    loop {
        let told = shared.ended.notified();
        if let Some(ended) = &shared.lock().ended {
            return Closed { cut: ended.cut, error: ended.error.clone() };
        }
        told.await;
    }
}

impl Shared {
    /// Begins to close, unless that was begun before; an earlier deadline wins.
    ///
    /// Gives the wakers of the driver and of every handle in line.
    pub(super) fn begin_close(&self, state: &mut State, reason: Reason, deadline: Option<Instant>) -> Vec<Waker> {
        match &mut state.closing {
            Some(closing) => {
                closing.deadline = match (closing.deadline, deadline) {
                    (Some(old), Some(new)) => Some(old.min(new)),
                    (old, new) => old.or(new),
                }
            }
            None => {
                let error = self.error(reason);
                state.closing = Some(Closing { error, deadline });
                self.open.store(false, Ordering::Release);
                self.retired.notify_waiters();
            }
        }
        let mut wakers = Vec::new();
        for place in 0..state.line.len() {
            wakers.extend(state.line.waker(place));
        }
        wakers.extend(state.wake_driver());
        wakers
    }

    /// Ends the connection: everyone who waits is told why.
    pub(super) fn end(&self, reason: Reason) -> ConnectionError {
        let mut wakers = Vec::new();
        let mut state = self.lock();
        if let Some(ended) = &state.ended {
            return ended.error.clone();
        }
        let error = match (&state.closing, reason) {
            // Whoever began to close it knows why.
            (Some(closing), Reason::Closed) => closing.error.clone(),
            (_, reason) => self.error(reason),
        };
        self.open.store(false, Ordering::Release);
        state.ended = Some(Ended { error: error.clone(), cut: state.slots.waiting() });
        state.slots.wakers(&mut wakers);
        for place in 0..state.line.len() {
            wakers.extend(state.line.waker(place));
        }
        // It holds the socket, and may not be the one that ended the connection.
        wakers.extend(state.wake_driver());
        let out = std::mem::take(&mut state.out);
        drop(state);
        drop(out);
        for waker in wakers {
            waker.wake();
        }
        self.retired.notify_waiters();
        self.ended.notify_waiters();
        error
    }
}
