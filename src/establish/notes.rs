//! What an attempt learned until it ended, with the time of each step: for those who look at attempts that fail.
//!
//! A connect of a session carries no notes: what its attempts learn comes back by value or not at all.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use messina_layers::{Candidate, Stage};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower::{Layer, Service};

use super::Open;
use crate::protocol::{ProtocolVersion, response::Supported};

/// The notes of one attempt; a clone is the same notes.
#[derive(Clone)]
pub(crate) struct Notes {
    shared: Arc<Mutex<Noted>>,
}

/// What was noted.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    since: Instant,
    /// The steps that were taken, in their order, and how long each took; over all versions that were tried.
    pub(crate) laps: Vec<(Stage, Duration)>,
    /// The last answer to OPTIONS.
    pub(crate) supported: Option<Supported>,
    /// The last version that was settled.
    pub(crate) version: Option<ProtocolVersion>,
    /// The cluster's name.
    pub(crate) cluster_name: Option<String>,
}

impl Notes {
    /// Notes of an attempt that begins now.
    pub(crate) fn start() -> Self {
        let noted =
            Noted { since: Instant::now(), laps: Vec::new(), supported: None, version: None, cluster_name: None };
        Self { shared: Arc::new(Mutex::new(noted)) }
    }

    /// A step has ended: the time since the one before is its own.
    pub(crate) fn lap(&self, stage: Stage) {
        let mut noted = self.lock();
        let took = noted.since.elapsed();
        noted.since += took;
        match noted.laps.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, sum)) => *sum += took,
            None => noted.laps.push((stage, took)),
        }
    }

    /// What has passed since the last step is nobody's.
    pub(super) fn skip(&self) {
        self.lock().since = Instant::now();
    }

    /// Adds what was learned.
    pub(super) fn learn(&self, learn: impl FnOnce(&mut Noted)) {
        learn(&mut self.lock());
    }

    /// What was noted so far.
    pub(crate) fn take(&self) -> Noted {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock().fmt(f)
    }
}

/// Layers [`Lapped`]: notes the end of the step below.
#[derive(Clone, Copy, Debug)]
pub(super) struct LapLayer(pub(super) Stage);

impl<S> Layer<S> for LapLayer {
    type Service = Lapped<S>;

    fn layer(&self, inner: S) -> Lapped<S> {
        Lapped { inner, stage: self.0 }
    }
}

/// Notes the end of a step that was taken; one that failed is noted by whoever gets the error.
#[derive(Clone, Debug)]
pub(super) struct Lapped<S> {
    inner: S,
    stage: Stage,
}

impl<S: Service<Candidate<Open>>> Service<Candidate<Open>> for Lapped<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = LapFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, candidate: Candidate<Open>) -> Self::Future {
        let notes = candidate.target().notes().cloned();
        LapFuture { inner: self.inner.call(candidate), notes, stage: self.stage }
    }
}

pin_project! {
    /// The step below.
    #[derive(Debug)]
    pub(super) struct LapFuture<F> {
        #[pin]
        inner: F,
        notes: Option<Notes>,
        stage: Stage,
    }
}

impl<F, R, E> Future for LapFuture<F>
where
    F: Future<Output = Result<R, E>>,
{
    type Output = Result<R, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = ready!(this.inner.poll(cx));
        if let (Ok(_), Some(notes)) = (&result, this.notes) {
            notes.lap(*this.stage);
        }
        Poll::Ready(result)
    }
}
