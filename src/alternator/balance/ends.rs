//! What follows from how an attempt ended.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use messina_layers::BoxError;
use tokio::time::Instant;
use tower_service::Service;

use super::{
    FailedAttempt, RequestError,
    attempt::{Attempt, end_of},
    run::{BESIDE, Run, Under},
};
use crate::{
    alternator::{ask::drain, health::Outcome, http::Payload, pace::after, routes::Shared},
    metrics::AttemptEnd,
};

/// How often a busy runtime comes round, at most, until it has read an answer.
const BUSY: u32 = 4;

impl<S, B> Run<'_, S, B>
where
    S: Service<Request<Payload>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    /// Gives back an answer that is the request's; `Err` is one because of which the next node is asked.
    pub(super) fn answered(
        &mut self,
        mut attempt: Under<'_, S>,
        answer: Response<B>,
    ) -> Result<Response<B>, Response<B>> {
        attempt.end = AttemptEnd::Answered;
        let status = answer.status().as_u16();
        let now = Instant::now();
        self.limits.sample(self.class, now - attempt.started);
        attempt.mark.answers(self.inner.shared.at(now));
        self.inner.shared.record(&attempt.mark, Outcome::Answered(status), attempt.generation);
        match status {
            503 => {}
            500 | 502 | 504 if self.repeatable => {}
            _ => return Ok(answer),
        }
        tracing::debug!(node = %attempt.mark.node, status, "asking the next node");
        self.failed.push(attempt.failed(Outcome::Answered(status)));
        Err(answer)
    }

    /// Keeps an answer for the case that there is no better one; the one before is read to its end elsewhere, so that
    /// its connection can be used again.
    pub(super) fn keep(&mut self, answer: Response<B>) {
        let before = self.kept.replace(answer);
        finish(before);
    }

    /// Lets go of everything but the answer that is given.
    pub(super) fn let_go(&mut self) {
        finish(self.kept.take());
        self.running.clear();
    }

    /// The attempt ended without an answer; gives the reason for which another node may be asked.
    pub(super) fn fail(&mut self, mut attempt: Under<'_, S>, outcome: Outcome, error: Option<BoxError>) -> AttemptEnd {
        attempt.end = end_of(outcome);
        self.blame(&attempt, outcome);
        let failed = FailedAttempt { error: error.map(Into::into), ..attempt.failed(outcome) };
        tracing::debug!(%failed, "asking the next node");
        self.failed.push(failed);
        attempt.end
    }

    /// Looks at the limits that passed; the reason for which another node is to be asked, if it is.
    pub(super) fn silent(&mut self, now: Instant) -> Option<AttemptEnd> {
        let mut another = None;
        let beside = self.running.len();
        let mut place = 0;
        while place < self.running.len() {
            let attempt = &mut self.running[place];
            if attempt.hedge.is_some_and(|at| at <= now) {
                attempt.hedge = None;
                another = Some(AttemptEnd::Dropped);
            }
            let Some(passed) = attempt.limit.filter(|at| *at <= now) else {
                place += 1;
                continue;
            };
            let late = self.limits.lateness(now.saturating_duration_since(passed), self.inner.shared.at(now));
            attempt.limit = later(attempt, late, now, &self.inner.shared);
            if attempt.limit.is_some() {
                place += 1;
                continue;
            }
            attempt.end = AttemptEnd::Silent;
            self.silent += 1;
            // An attempt of which not a byte is sent could still be sent later: it ends here. One that only reads may go
            // on beside the others, since slow is not dead.
            let over = !attempt.sent.maybe();
            if over || self.repeatable {
                another = Some(AttemptEnd::Silent);
            }
            if over || beside >= BESIDE {
                let attempt = self.running.remove(place);
                let outcome = if attempt.sent.is_queued() { Outcome::Cancelled } else { Outcome::Silent };
                self.fail(attempt, outcome, None);
            } else {
                self.blame(&self.running[place], Outcome::Silent);
                place += 1;
            }
        }
        another
    }

    /// Tells the health of a node of a failure, unless that is more likely one's own: many connections that are made at
    /// once, or a busy runtime. It is, where the node answered others in the same time, or where it is silent and so are
    /// all others that are being asked. In a busy runtime attempts that were out at the same time count as one.
    fn blame(&self, attempt: &Under<'_, S>, outcome: Outcome) {
        let shared = &self.inner.shared;
        let since = shared.at(attempt.sent.since().unwrap_or(attempt.started));
        let now = shared.at(Instant::now());
        let others = || self.routes.marks.iter().filter(|mark| !Arc::ptr_eq(mark, &attempt.mark));
        let own = match outcome {
            Outcome::Refused => attempt.mark.answered_since(since),
            Outcome::Silent => {
                attempt.mark.answered_since(since)
                    || (attempt.mark.blamed_since(since) && self.limits.is_busy(now))
                    || (others().any(|mark| mark.out.load(Relaxed) > 0)
                        && !others().any(|mark| mark.answered_since(since)))
            }
            _ => false,
        };
        if !own && outcome == Outcome::Silent {
            attempt.mark.blame(now);
        }
        shared.record(&attempt.mark, if own { Outcome::Cancelled } else { outcome }, attempt.generation);
    }

    pub(super) fn out_of_time(&mut self, limit: Duration) -> Result<Response<B>, RequestError> {
        if let Some(answer) = self.kept.take() {
            return Ok(answer);
        }
        let sent = self.running.iter().any(|attempt| attempt.sent.maybe());
        for mut attempt in std::mem::take(&mut self.running) {
            attempt.end = AttemptEnd::Silent;
            // A limit that is gone passed before, and was told then.
            if attempt.limit.is_some() && !attempt.sent.is_queued() {
                self.blame(&attempt, Outcome::Silent);
            }
            self.failed.push(attempt.failed(Outcome::Silent));
        }
        Err(RequestError::OutOfTime { limit, sent, attempts: self.failed.as_slice().into() })
    }
}

/// A later limit, where the one that passed says nothing of the node; `late` is how late timers fire.
fn later<F>(attempt: &Attempt<'_, F>, late: Duration, now: Instant, shared: &Shared) -> Option<Instant> {
    // A node can be silent only once it was asked, and late timers mean a busy runtime, where answers lie unread.
    let since = attempt.sent.since();
    let patience = attempt.patience.saturating_add(late.saturating_mul(BUSY));
    let limit = after(since.unwrap_or(attempt.started), patience);
    if limit > now {
        return Some(limit);
    }
    // It waits for a connection to a node that answers others: a queue of one's own.
    let queued =
        since.is_none() && !attempt.sent.is_queued() && attempt.mark.answered_since(shared.at(attempt.started));
    queued.then(|| after(now, attempt.patience))
}

/// Reads an answer to its end, beside everything else and within limits.
fn finish<B>(answer: Option<Response<B>>)
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    if let Some(answer) = answer {
        let until = Instant::now() + Duration::from_secs(1);
        tokio::spawn(async move { drain(answer.into_body(), until).await });
    }
}
