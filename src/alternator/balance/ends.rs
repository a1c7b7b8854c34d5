//! What follows from how an attempt ended.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use messina_layers::BoxError;
use tokio::time::Instant;
use tower_service::Service;

use super::{
    FailedAttempt, RequestError,
    attempt::end_of,
    run::{BESIDE, Run, Under},
};
use crate::{
    alternator::{ask::drain, health::Outcome, http::Payload},
    metrics::AttemptEnd,
};

/// How late a limit may be looked at before this client, not the node, is held to be slow.
const LATE: Duration = Duration::from_millis(25);

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
        let elapsed = attempt.started.elapsed();
        self.limits.sample(self.class, elapsed);
        let shared = &self.inner.shared;
        attempt.mark.answered(shared.at(attempt.started + elapsed));
        shared.record(&attempt.mark, Outcome::Answered(status), attempt.generation);
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
        let told = if outcome == Outcome::Silent { self.silence_of(&attempt) } else { outcome };
        self.inner.shared.record(&attempt.mark, told, attempt.generation);
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
            if attempt.limit.is_none_or(|at| at > now) {
                place += 1;
                continue;
            }
            // Looked at late, it passed while this client did not run: what came meanwhile is to be read first.
            if attempt.limit.is_some_and(|at| now.duration_since(at) > LATE) && !attempt.extended {
                (attempt.extended, attempt.limit) = (true, Some(now + LATE));
                place += 1;
                continue;
            }
            attempt.limit = None;
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
                let attempt = &self.running[place];
                self.inner.shared.record(&attempt.mark, self.silence_of(attempt), attempt.generation);
                place += 1;
            }
        }
        another
    }

    /// What is told to the health of a node of a silent attempt: nothing, if the node has answered others since.
    fn silence_of(&self, attempt: &Under<'_, S>) -> Outcome {
        let since = self.inner.shared.at(attempt.started);
        if attempt.mark.answered_since(since) { Outcome::Cancelled } else { Outcome::Silent }
    }

    pub(super) fn out_of_time(&mut self, limit: Duration) -> Result<Response<B>, RequestError> {
        if let Some(answer) = self.kept.take() {
            return Ok(answer);
        }
        let sent = self.running.iter().any(|attempt| attempt.sent.maybe());
        for mut attempt in std::mem::take(&mut self.running) {
            attempt.end = AttemptEnd::Silent;
            // A limit that is gone passed before, and was told then.
            let blamed = attempt.limit.is_some() && !attempt.sent.is_queued();
            let outcome = if blamed { self.silence_of(&attempt) } else { Outcome::Cancelled };
            self.inner.shared.record(&attempt.mark, outcome, attempt.generation);
            self.failed.push(attempt.failed(Outcome::Silent));
        }
        Err(RequestError::OutOfTime { limit, sent, attempts: self.failed.as_slice().into() })
    }
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
