//! The turn that keeps the logins of one connect apart.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// The right to log in, held by one attempt of a connect at a time.
///
/// A handshake takes it before anything that costs the server or can lock an account, and keeps the
/// [`TurnGuard`] until the attempt ends. Alone, or one after the other, attempts get it at once.
#[derive(Clone)]
pub struct Turn(Option<Shared>);

#[derive(Clone)]
struct Shared {
    permit: Arc<Semaphore>,
    waiting: Arc<Mutex<Waiting>>,
}

/// How long one attempt has waited for others: in all, and since when now.
#[derive(Default)]
struct Waiting {
    total: Duration,
    since: Option<Instant>,
}

impl Turn {
    /// A turn that nobody else shares.
    #[must_use]
    pub const fn free() -> Self {
        Self(None)
    }

    /// A turn for attempts that may overlap; each of them gets a [`sibling`](Self::sibling).
    #[must_use]
    pub fn shared() -> Self {
        Self(Some(Shared { permit: Arc::new(Semaphore::new(1)), waiting: Arc::default() }))
    }

    /// The same turn for another attempt, with a wait of its own.
    #[must_use]
    pub fn sibling(&self) -> Self {
        Self(self.0.as_ref().map(|turn| Shared { permit: Arc::clone(&turn.permit), waiting: Arc::default() }))
    }

    /// Waits until no other attempt of this connect holds the turn.
    ///
    /// The wait ends when the holder's attempt does, which its own limits bound. Dropping the future gives
    /// up the place in the queue.
    pub async fn take(&self) -> TurnGuard {
        let permit = match &self.0 {
            None => None,
            Some(turn) => {
                let _waiting = WaitGuard::new(turn);
                // The semaphore is never closed; were it, going on beats hanging.
                Arc::clone(&turn.permit).acquire_owned().await.ok()
            }
        };
        TurnGuard(permit)
    }

    /// How long this attempt has waited for its turn so far, to be left out of its own limits.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |turn| {
            turn.with_waiting(|waiting| waiting.total + waiting.since.map_or(Duration::ZERO, |since| since.elapsed()))
        })
    }
}

impl Shared {
    fn with_waiting<R>(&self, f: impl FnOnce(&mut Waiting) -> R) -> R {
        f(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct WaitGuard<'a>(&'a Shared);

impl<'a> WaitGuard<'a> {
    fn new(turn: &'a Shared) -> Self {
        turn.with_waiting(|waiting| waiting.since = waiting.since.or_else(|| Some(Instant::now())));
        Self(turn)
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.with_waiting(|waiting| {
            waiting.total += waiting.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        });
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            None => "free",
            Some(turn) if turn.permit.available_permits() == 0 => "taken",
            Some(_) => "shared",
        };
        write!(f, "Turn({state})")
    }
}

/// Holds the turn until dropped.
#[derive(Debug)]
#[must_use = "the turn ends when the guard is dropped"]
pub struct TurnGuard(#[expect(dead_code, reason = "held for its drop")] Option<OwnedSemaphorePermit>);
