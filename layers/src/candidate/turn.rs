//! The turn that keeps the logins of one connect apart.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Semaphore, time::Instant};

/// The right to log in, held by one attempt of a connect at a time.
///
/// A handshake takes it before anything that costs the server or can lock an account, and keeps the
/// [`TurnGuard`] until the attempt ends. Alone, or one after the other, attempts get it at once.
#[derive(Clone)]
pub struct Turn(Option<Place>);

/// The place of one attempt at a shared turn; its clones are the same attempt.
#[derive(Clone)]
struct Place {
    shared: Arc<Shared>,
    attempt: usize,
}

struct Shared {
    permit: Semaphore,
    attempts: AtomicUsize,
    // Of attempts that had to wait; usually none.
    waits: Mutex<Vec<Wait>>,
}

/// How long an attempt has waited for others: in all, and since when now.
struct Wait {
    attempt: usize,
    total: Duration,
    since: Option<Instant>,
}

impl Turn {
    /// A turn that nobody else shares.
    #[must_use]
    pub const fn free() -> Self {
        Self(None)
    }

    /// A turn for attempts that may overlap; each further one of them gets a [`sibling`](Self::sibling).
    #[must_use]
    pub fn shared() -> Self {
        let shared = Shared { permit: Semaphore::new(1), attempts: AtomicUsize::new(1), waits: Mutex::new(Vec::new()) };
        Self(Some(Place { shared: Arc::new(shared), attempt: 0 }))
    }

    /// The same turn for another attempt, with a wait of its own.
    #[must_use]
    pub fn sibling(&self) -> Self {
        Self(self.0.as_ref().map(|place| Place {
            shared: Arc::clone(&place.shared),
            attempt: place.shared.attempts.fetch_add(1, Ordering::Relaxed),
        }))
    }

    /// Waits until no other attempt of this connect holds the turn.
    ///
    /// The wait ends when the holder's attempt does, which its own limits bound. Dropping the future gives
    /// up the place in the queue.
    pub async fn take(&self) -> TurnGuard {
        let Some(place) = &self.0 else { return TurnGuard(None) };
        let permit = match place.shared.permit.try_acquire() {
            Ok(permit) => Ok(permit),
            Err(_taken) => {
                let _waiting = Waiting::new(place);
                place.shared.permit.acquire().await
            }
        };
        // The semaphore is never closed; were it, going on beats hanging.
        TurnGuard(permit.ok().map(|permit| {
            permit.forget();
            Arc::clone(&place.shared)
        }))
    }

    /// How long this attempt has waited for its turn so far, to be left out of its own limits.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let Some(place) = &self.0 else { return Duration::ZERO };
        place.with_waits(|waits| {
            let wait = waits.iter().find(|wait| wait.attempt == place.attempt);
            wait.map_or(Duration::ZERO, |wait| wait.total + wait.since.map_or(Duration::ZERO, |since| since.elapsed()))
        })
    }
}

impl Place {
    fn with_waits<R>(&self, f: impl FnOnce(&mut Vec<Wait>) -> R) -> R {
        f(&mut self.shared.waits.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Measures a wait until dropped.
struct Waiting<'a>(&'a Place);

impl<'a> Waiting<'a> {
    fn new(place: &'a Place) -> Self {
        let (attempt, now) = (place.attempt, Some(Instant::now()));
        place.with_waits(|waits| match waits.iter_mut().find(|wait| wait.attempt == attempt) {
            Some(wait) => wait.since = wait.since.or(now),
            None => waits.push(Wait { attempt, total: Duration::ZERO, since: now }),
        });
        Self(place)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.with_waits(|waits| {
            if let Some(wait) = waits.iter_mut().find(|wait| wait.attempt == self.0.attempt)
                && let Some(since) = wait.since.take()
            {
                wait.total += since.elapsed();
            }
        });
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            None => "free",
            Some(place) if place.shared.permit.available_permits() == 0 => "taken",
            Some(_) => "shared",
        };
        write!(f, "Turn({state})")
    }
}

/// Holds the turn until dropped.
#[must_use = "the turn ends when the guard is dropped"]
pub struct TurnGuard(Option<Arc<Shared>>);

impl Drop for TurnGuard {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            shared.permit.add_permits(1);
        }
    }
}

impl fmt::Debug for TurnGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "TurnGuard(shared)" } else { "TurnGuard(free)" })
    }
}
