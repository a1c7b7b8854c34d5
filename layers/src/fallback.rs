//! Takes [`Candidates`], gives [`Established`]: one candidate after another, every failure kept.
//!
//! Sequential unless given an attempt delay: a failed candidate's socket is closed before the next one
//! starts. With an attempt delay (RFC 8305) the next candidate starts beside one that has not answered in
//! time; the first success wins and the others are dropped, each listed among those that lost, as
//! [`GivenUp`](crate::GivenUp). The [`Turn`](crate::Turn) keeps their logins apart.
//!
//! Each start after the first is told by the debug event *"trying next address"*, naming the target, the
//! address passed over and the cause. A connect that failed is told by one warning with the whole table, or
//! at debug where the caller tells of it himself.
//!
//! The worst case of one connect is the cap times the limits of one attempt, unless a budget is set.

mod future;
mod running;

use std::{
    task::{Context, Poll},
    time::Duration,
};

use tower_layer::Layer;
use tower_service::Service;

pub use self::future::FallbackFuture;
use crate::{
    candidate::{Candidate, Candidates},
    error::{BoxError, ConnectError},
    established::Established,
    target::Dial,
};

/// When to start, and when to stop starting, attempts.
#[derive(Clone, Copy, Debug, Default)]
struct Rules {
    attempt_delay: Option<Duration>,
    budget: Option<Duration>,
    max_suspects: Option<usize>,
    quiet: bool,
}

/// Layers [`Fallback`].
#[derive(Clone, Copy, Debug, Default)]
pub struct FallbackLayer {
    rules: Rules,
}

impl FallbackLayer {
    /// Strictly one after the other, without a budget.
    #[must_use]
    pub const fn new() -> Self {
        Self { rules: Rules { attempt_delay: None, budget: None, max_suspects: None, quiet: false } }
    }

    /// Starts the next candidate beside one that has not answered within `delay`; zero is sequential.
    #[must_use]
    pub const fn with_attempt_delay(mut self, delay: Duration) -> Self {
        self.rules.attempt_delay = if delay.is_zero() { None } else { Some(delay) };
        self
    }

    /// Starts no attempt once `budget` has passed since the connect began, lookup included; an attempt that
    /// runs is never cut, and the first one is always made.
    #[must_use]
    pub const fn with_budget(mut self, budget: Duration) -> Self {
        self.rules.budget = Some(budget);
        self
    }

    /// Stops after `limit` refused logins (failures of scope `Suspect`), lest an account be locked; 0 counts as 1.
    #[must_use]
    pub const fn with_max_suspects(mut self, limit: usize) -> Self {
        self.rules.max_suspects = Some(limit);
        self
    }

    /// Tells of a connect that failed at debug instead of in a warning: for callers that connect again and again, and
    /// know what was told before.
    #[must_use]
    pub const fn quiet(mut self) -> Self {
        self.rules.quiet = true;
        self
    }
}

impl<S> Layer<S> for FallbackLayer {
    type Service = Fallback<S>;

    fn layer(&self, inner: S) -> Fallback<S> {
        Fallback { inner, rules: self.rules }
    }
}

/// Tries candidates until one succeeds.
// connect 85: the list is fixed before the first dial, so no walk can meet an address again.
///
/// Always ready; the future polls the readiness of a clone of the inner service before each candidate, and
/// calls that very clone. Dropping the future leaves no task, socket or timer behind.
#[derive(Clone, Debug)]
pub struct Fallback<S> {
    inner: S,
    rules: Rules,
}

impl<S> Fallback<S> {
    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Gives the service below back.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, T> Service<Candidates<T>> for Fallback<S>
where
    S: Service<Candidate<T>> + Clone,
    S::Error: Into<BoxError>,
    T: Dial + Clone,
{
    type Response = Established<T, S::Response>;
    type Error = ConnectError;
    type Future = FallbackFuture<S, T>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, candidates: Candidates<T>) -> Self::Future {
        FallbackFuture::new(self.inner.clone(), candidates, self.rules)
    }
}
