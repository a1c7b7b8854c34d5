//! The attempts in flight: the first in place, those that overlap it boxed.

use std::{
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::time::Instant;

use crate::{
    error::{AttemptError, BoxError, FailedAttempt, GivenUp, Stage},
    guard::Guarded,
};

/// What an attempt is, beside its future.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) index: usize,
    pub(super) addr: SocketAddr,
    pub(super) started: Instant,
}

impl Facts {
    pub(super) fn failed(self, error: BoxError) -> (usize, FailedAttempt) {
        let error = AttemptError::from_box(error, Stage::ATTEMPT);
        (self.index, FailedAttempt::new(self.addr, error, self.elapsed()))
    }

    pub(super) fn given_up(self) -> (usize, FailedAttempt) {
        (self.index, FailedAttempt::new(self.addr, AttemptError::new(Stage::ATTEMPT, GivenUp(())), self.elapsed()))
    }

    pub(super) fn elapsed(self) -> Duration {
        self.started.elapsed()
    }
}

pin_project! {
    /// Attempts in flight. In the sequential case there is one, and nothing is allocated for it.
    pub(super) struct Running<F> {
        #[pin]
        inline: Option<Guarded<F>>,
        facts: Option<Facts>,
        beside: Vec<(Facts, Pin<Box<Guarded<F>>>)>,
    }
}

impl<F> Running<F> {
    pub(super) const fn new() -> Self {
        Self { inline: None, facts: None, beside: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.facts.is_none() && self.beside.is_empty()
    }

    pub(super) fn start(self: Pin<&mut Self>, facts: Facts, attempt: Guarded<F>) {
        let mut this = self.project();
        if this.facts.is_none() {
            this.inline.set(Some(attempt));
            *this.facts = Some(facts);
        } else {
            this.beside.push((facts, Box::pin(attempt)));
        }
    }

    /// Drops every attempt, which closes its socket; tells which they were.
    pub(super) fn give_up(self: Pin<&mut Self>) -> impl Iterator<Item = Facts> + use<F> {
        let mut this = self.project();
        this.inline.set(None);
        let beside = std::mem::take(this.beside);
        this.facts.take().into_iter().chain(beside.into_iter().map(|(facts, _)| facts))
    }
}

impl<F, C, E> Running<F>
where
    F: Future<Output = Result<C, E>>,
    E: Into<BoxError>,
{
    /// The next attempt that ended; its future is dropped before this returns.
    pub(super) fn poll_ended(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(Facts, Result<C, BoxError>)> {
        let mut this = self.project();
        if let (Some(future), Some(facts)) = (this.inline.as_mut().as_pin_mut(), *this.facts)
            && let Poll::Ready(result) = future.poll(cx)
        {
            this.inline.set(None);
            *this.facts = None;
            return Poll::Ready((facts, result));
        }
        for i in 0..this.beside.len() {
            if let Poll::Ready(result) = this.beside[i].1.as_mut().poll(cx) {
                let (facts, _) = this.beside.remove(i);
                return Poll::Ready((facts, result));
            }
        }
        Poll::Pending
    }
}
