//! The walk over the candidates.

use std::{
    fmt,
    future::Future,
    mem,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    vec,
};

use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower_service::Service;

use super::{
    Rules,
    running::{Facts, Running},
};
use crate::{
    address::Address,
    candidate::{Candidate, Candidates, Turn},
    error::{BoxError, Class, ConnectError, FailedAttempt, Scope},
    established::Established,
    guard::{Guarded, guarded},
    limit::Limit,
    metrics,
    target::Dial,
};

pin_project! {
    /// A connect in progress; dropping it drops every attempt with its socket.
    pub struct FallbackFuture<S: Service<Candidate<T>>, T> {
        #[pin]
        running: Running<S::Future>,
        #[pin]
        delay: Option<Limit>,
        walk: Walk<S, T>,
    }
}

/// What the walk knows, beside the attempts in flight.
struct Walk<S, T> {
    inner: S,
    target: Option<T>,
    address: Address,
    left: vec::IntoIter<SocketAddr>,
    turn: Turn,
    // With the place in dial order, since attempts that overlap end in any order.
    failed: Vec<(usize, FailedAttempt)>,
    last: Option<Facts>,
    // The failure since the last start, by its place in dial order.
    passed: Option<usize>,
    suspects: usize,
    started: Instant,
    rules: Rules,
}

impl<S: Service<Candidate<T>>, T: Dial> FallbackFuture<S, T> {
    pub(super) fn new(inner: S, candidates: Candidates<T>, rules: Rules) -> Self {
        let started = candidates.start().unwrap_or_else(Instant::now);
        let (target, addrs) = candidates.into_parts();
        let overlap = rules.attempt_delay.is_some() && addrs.len() > 1;
        Self {
            running: Running::new(),
            delay: None,
            walk: Walk {
                inner,
                address: target.address(),
                target: Some(target),
                left: addrs.into_iter(),
                turn: if overlap { Turn::shared() } else { Turn::free() },
                failed: Vec::new(),
                last: None,
                passed: None,
                suspects: 0,
                started,
                rules,
            },
        }
    }
}

impl<S: Service<Candidate<T>>, T> fmt::Debug for FallbackFuture<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallbackFuture")
            .field("target", &self.walk.address)
            .field("failed", &self.walk.failed.len())
            .field("left", &self.walk.left.len())
            .finish_non_exhaustive()
    }
}

impl<S, T> Future for FallbackFuture<S, T>
where
    S: Service<Candidate<T>>,
    S::Error: Into<BoxError>,
    T: Dial + Clone,
{
    type Output = Result<Established<T, S::Response>, ConnectError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            // An attempt ended => established, failed for good, or the next one starts at once.
            while let Poll::Ready((facts, result)) = this.running.as_mut().poll_ended(cx) {
                match result {
                    Ok(connection) => {
                        this.walk.give_up(this.running);
                        return Poll::Ready(this.walk.won(facts, connection));
                    }
                    Err(error) => {
                        this.delay.set(None);
                        if this.walk.lost(facts, error) {
                            this.walk.give_up(this.running);
                            return Poll::Ready(Err(this.walk.rejected()));
                        }
                    }
                }
            }

            let alone = this.running.is_empty();
            if this.walk.left.len() == 0 || this.walk.out_of_time() {
                return if alone { Poll::Ready(Err(this.walk.exhausted())) } else { Poll::Pending };
            }
            // Beside a running attempt the next one waits for the delay; after a failure it does not. Without
            // a delay there is no beside.
            if !alone {
                if this.walk.rules.attempt_delay.is_none() {
                    return Poll::Pending;
                }
                if let Some(delay) = this.delay.as_mut().as_pin_mut() {
                    ready!(delay.poll_over(cx));
                    this.delay.set(None);
                }
            }
            // Readiness comes before the candidate is taken: a service without capacity costs no address.
            let ready = match guarded(|| this.walk.inner.poll_ready(cx)) {
                Ok(poll) => ready!(poll).map_err(Into::into),
                Err(panicked) => Err(panicked.into()),
            };
            if let Err(error) = ready {
                this.walk.give_up(this.running);
                return Poll::Ready(Err(this.walk.broken(error)));
            }
            // Waiting for readiness took time too.
            if this.walk.out_of_time() {
                continue;
            }
            let Some((facts, candidate)) = this.walk.next() else { continue };
            let attempt = Guarded::call(|| this.walk.inner.call(candidate));
            this.running.as_mut().start(facts, attempt);
            if let Some(delay) = this.walk.rules.attempt_delay
                && this.walk.left.len() > 0
            {
                this.delay.set(Some(Limit::new(Some(delay))));
            }
        }
    }
}

impl<S, T> Walk<S, T> {
    fn out_of_time(&self) -> bool {
        // The first attempt is always made: a connect that tried nothing tells nothing.
        self.last.is_some() && self.rules.budget.is_some_and(|budget| self.started.elapsed() >= budget)
    }

    fn next(&mut self) -> Option<(Facts, Candidate<T>)>
    where
        T: Clone,
    {
        let addr = self.left.next()?;
        if let Some(last) = self.last {
            self.tell_next(last, addr);
        }
        let target = self.target.clone();
        let index = self.last.map_or(0, |last| last.index + 1);
        let facts = Facts { index, addr, started: Instant::now() };
        self.last = Some(facts);
        Some((facts, Candidate::new(target?, addr).with_turn(self.turn.sibling())))
    }

    /// A contract: tests and operators read which address was passed over, and why.
    fn tell_next(&mut self, last: Facts, next: SocketAddr) {
        let passed = self.passed.take();
        let cause = self.failed.iter().find(|(index, _)| Some(*index) == passed);
        match cause {
            Some((_, failed)) => tracing::debug!(
                target = %self.address,
                failed = %failed.addr,
                cause = %crate::error::chain(failed.error.cause()),
                stage = %failed.error.stage(),
                next = %next,
                "trying next address"
            ),
            None => tracing::debug!(
                target = %self.address,
                failed = %last.addr,
                cause = %format_args!("no answer within {:.0?}", last.elapsed()),
                next = %next,
                "trying next address"
            ),
        }
    }

    /// Keeps the failure; answers whether it ends the walk.
    fn lost(&mut self, facts: Facts, error: BoxError) -> bool {
        let (index, failed) = facts.failed(error);
        let scope = failed.error.scope();
        self.failed.push((index, failed));
        self.passed = Some(index);
        self.suspects += usize::from(scope == Scope::Suspect);
        match scope {
            Scope::Candidate => false,
            Scope::Suspect => self.rules.max_suspects.is_some_and(|max| self.suspects >= max),
            Scope::Endpoint => true,
        }
    }

    /// Drops the attempts still in flight; each leaves a line, so none is lost without a word.
    fn give_up<F>(&mut self, running: Pin<&mut Running<F>>) {
        self.failed.extend(running.give_up().map(Facts::given_up));
    }

    fn take_failed(&mut self) -> Vec<FailedAttempt> {
        let mut failed = mem::take(&mut self.failed);
        failed.sort_by_key(|(index, _)| *index);
        failed.into_iter().map(|(_, failed)| failed).collect()
    }

    fn won<C>(&mut self, facts: Facts, connection: C) -> Result<Established<T, C>, ConnectError> {
        let failed = self.take_failed();
        if !failed.is_empty() {
            metrics::fell_back();
            tracing::info!(
                target = %self.address,
                addr = %facts.addr,
                failed = failed.len(),
                "connected after other addresses failed or gave no answer in time"
            );
        }
        match self.target.take() {
            Some(target) => Ok(Established::new(target, connection, facts.addr).with_failed(failed)),
            None => Err(self.broken("polled after completion".into())),
        }
    }

    fn rejected(&mut self) -> ConnectError {
        let (failed, untried) = (self.take_failed(), self.left.len());
        self.warn(ConnectError::Rejected { target: self.address.clone(), failed, untried })
    }

    fn exhausted(&mut self) -> ConnectError {
        let (target, failed, untried) = (self.address.clone(), self.take_failed(), self.left.len());
        self.warn(match self.rules.budget {
            Some(budget) if untried > 0 => ConnectError::OutOfTime { target, failed, untried, budget },
            _ => ConnectError::Exhausted { target, failed },
        })
    }

    fn broken(&mut self, error: BoxError) -> ConnectError {
        let (target, failed) = (self.address.clone(), self.take_failed());
        ConnectError::NotReady { target, failed, source: Arc::from(error) }
    }

    fn warn(&self, error: ConnectError) -> ConnectError {
        let login = error.class() == Class::Auth;
        if self.rules.quiet {
            tracing::debug!(target = %self.address, login_refused = login, "could not connect: {}", error.report());
        } else {
            tracing::warn!(target = %self.address, login_refused = login, "could not connect: {}", error.report());
        }
        error
    }
}
