//! Takes a [`Candidate`], gives what the attempt below gives, with a span and counters around it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;
use tracing::Span;

use crate::{
    candidate::Candidate,
    error::{AttemptError, BoxError, Stage},
    guard::Guarded,
    metrics,
};

/// Layers [`Attempt`]: span and counters around one address.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttemptLayer(());

impl AttemptLayer {
    /// The layer; it has no options.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

impl<S> Layer<S> for AttemptLayer {
    type Service = Attempt<S>;

    fn layer(&self, inner: S) -> Attempt<S> {
        Attempt::new(inner)
    }
}

/// Observes attempts: a debug span `attempt{peer.addr}`, a counter by stage and outcome, a duration.
///
/// A panic below ends this attempt with an error. Readiness is the inner service's.
#[derive(Clone, Debug)]
pub struct Attempt<S> {
    inner: S,
}

impl<S> Attempt<S> {
    /// Wraps an attempt.
    pub const fn new(inner: S) -> Self {
        Self { inner }
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Gives the service below back.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, T> Service<Candidate<T>> for Attempt<S>
where
    S: Service<Candidate<T>>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = AttemptError;
    type Future = AttemptFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        self.inner.poll_ready(cx).map_err(|e| AttemptError::from_box(e.into(), Stage::ATTEMPT))
    }

    fn call(&mut self, candidate: Candidate<T>) -> Self::Future {
        let span = tracing::debug_span!("attempt", peer.addr = %candidate.addr());
        let inner = span.in_scope(|| Guarded::call(|| self.inner.call(candidate)));
        AttemptFuture { inner, started: Some(Instant::now()), span }
    }
}

pin_project! {
    /// One attempt; dropping it closes its socket.
    #[derive(Debug)]
    pub struct AttemptFuture<F> {
        #[pin]
        inner: Guarded<F>,
        // Until it has ended.
        started: Option<Instant>,
        span: Span,
    }

    impl<F> PinnedDrop for AttemptFuture<F> {
        fn drop(this: Pin<&mut Self>) {
            if let Some(started) = this.project().started.take() {
                metrics::attempt_dropped(started.elapsed());
            }
        }
    }
}

impl<F, C, E> Future for AttemptFuture<F>
where
    F: Future<Output = Result<C, E>>,
    E: Into<BoxError>,
{
    type Output = Result<C, AttemptError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let _entered = this.span.enter();
        let result = ready!(this.inner.poll(cx)).map_err(|e| AttemptError::from_box(e, Stage::ATTEMPT));
        if let Some(started) = this.started.take() {
            metrics::attempt_ended(result.as_ref().err().map(AttemptError::stage), started.elapsed());
        }
        Poll::Ready(result)
    }
}
