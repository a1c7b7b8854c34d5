//! One request with all its attempts.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Uri, request::Parts, uri::PathAndQuery};
use messina_layers::BoxError;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::util::Oneshot;
use tower_service::Service;

use super::{Affinity, FailedAttempt, HeaderLimits, Operation, Repeatable, RequestError, operation::Class};
use crate::alternator::{
    affinity::Votes,
    ask::drain,
    client::Inner,
    health::Outcome,
    http::{Payload, Sent},
    plan::QueryPlan,
    routes::{Mark, Routes, Shared},
};

/// How many attempts of one request may be out at a time.
const BESIDE: usize = 3;
/// The first delay before nodes are tried again that were all tried, and the longest.
const AGAIN: Duration = Duration::from_millis(25);
const AGAIN_AT_MOST: Duration = Duration::from_secs(1);

struct Attempt<F> {
    future: Pin<Box<F>>,
    mark: Arc<Mark>,
    generation: u64,
    sent: Sent,
    started: Instant,
    /// When another node is asked beside it, without blame.
    hedge: Option<Instant>,
    /// When it counts as silent.
    limit: Option<Instant>,
}

struct Run<'a, S: Service<Request<Payload>>, B> {
    client: S,
    inner: &'a Inner,
    limits: &'a HeaderLimits,
    parts: Parts,
    payload: Payload,
    path: PathAndQuery,
    class: Class,
    repeatable: bool,
    routes: Arc<Routes>,
    plan: QueryPlan,
    attempts: u32,
    /// How often the limit passed without an answer; each doubles the next one.
    silent: u32,
    running: Vec<Attempt<Oneshot<S, Request<Payload>>>>,
    failed: Vec<FailedAttempt>,
    /// The last answer that another node was asked because of.
    kept: Option<Response<B>>,
}

pub(super) async fn run<S, B>(
    client: S,
    inner: Arc<Inner>,
    limits: Arc<HeaderLimits>,
    mut request: Request<Payload>,
) -> Result<Response<B>, RequestError>
where
    S: Service<Request<Payload>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    let shared = &inner.shared;
    let now = Instant::now();
    if shared.is_closed() {
        return Err(RequestError::Closed);
    }
    shared.request(shared.at(now));
    let affinity = request.extensions_mut().remove::<Affinity>();
    let (routes, plan) = planned(shared, affinity);
    if routes.marks.is_empty()
        && let Some(error) = shared.view.load().live.no_route()
    {
        shared.hurry(now);
        tokio::task::yield_now().await;
        return Err(RequestError::NoRoute(error));
    }
    let operation = Operation::of(&request);
    let repeatable = match request.extensions().get::<Repeatable>() {
        Some(Repeatable(said)) => *said,
        None => operation.only_reads() || request.method().is_safe(),
    };
    let class = operation.class();
    let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let (parts, payload) = request.into_parts();
    let mut run = Run {
        client,
        inner: &inner,
        limits: &limits,
        parts,
        payload,
        path,
        class,
        repeatable,
        routes,
        plan,
        attempts: 0,
        silent: 0,
        running: Vec::with_capacity(1),
        failed: Vec::new(),
        kept: None,
    };
    run.drive(now).await
}

/// The nodes of a request and their order.
fn planned(shared: &Shared, affinity: Option<Affinity>) -> (Arc<Routes>, QueryPlan) {
    let view = shared.view.load();
    let wide = || Arc::clone(view.wide.as_ref().filter(|wide| !wide.marks.is_empty()).unwrap_or(&view.routes));
    let any = || (Arc::clone(&view.routes), QueryPlan::random(shared.randomness.draw()));
    match affinity {
        None => any(),
        Some(Affinity::Key(hash)) => (wide(), QueryPlan::seeded(hash)),
        Some(Affinity::Batch(hashes)) => {
            let routes = wide();
            let mut votes = Votes::new(&routes.nodes);
            hashes.iter().for_each(|hash| votes.add_hash(*hash));
            match votes.plan() {
                Some(plan) => (Arc::clone(&routes), plan),
                None => any(),
            }
        }
    }
}

impl<S, B> Run<'_, S, B>
where
    S: Service<Request<Payload>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    async fn drive(&mut self, started: Instant) -> Result<Response<B>, RequestError> {
        let limit = self.inner.balance.timeout;
        let deadline = started + limit;
        let mut timer = pin!(sleep_until(deadline));
        self.start(deadline).await?;
        loop {
            let next = self.running.iter().flat_map(|attempt| [attempt.hedge, attempt.limit]).flatten();
            let next = next.min().map_or(deadline, |next| next.min(deadline));
            if timer.deadline() != next {
                timer.as_mut().reset(next);
            }
            let mut another = false;
            match self.next(timer.as_mut()).await {
                Some((attempt, Ok(answer))) => match self.answered(&attempt, answer) {
                    Ok(answer) => {
                        self.let_go();
                        return Ok(answer);
                    }
                    Err(kept) => {
                        self.keep(kept);
                        another = true;
                    }
                },
                Some((attempt, Err(error))) => {
                    let sent = attempt.sent.maybe();
                    self.fail(&attempt, if sent { Outcome::Broken } else { Outcome::Refused }, Some(error));
                    if sent && !self.repeatable && !self.inner.balance.repeat_broken {
                        return Err(RequestError::Broken { attempts: self.failed.as_slice().into() });
                    }
                    another = true;
                }
                None => {
                    let now = Instant::now();
                    if now >= deadline {
                        return self.out_of_time(limit);
                    }
                    another |= self.silent(now);
                }
            }
            if another {
                self.start(deadline).await?;
            }
            if self.running.is_empty() {
                return match self.kept.take() {
                    Some(answer) => Ok(answer),
                    None => Err(RequestError::Exhausted { attempts: self.failed.as_slice().into() }),
                };
            }
        }
    }

    /// Begins an attempt at the next node of the plan, if there may be another one. Nodes that were all tried are tried
    /// again only when nobody is left to wait for, and after a delay.
    async fn start(&mut self, deadline: Instant) -> Result<(), RequestError> {
        if self.attempts == self.inner.balance.max_attempts || self.running.len() >= BESIDE {
            return Ok(());
        }
        let cycles = self.plan.cycles();
        let routes = &self.routes;
        let mut plan = self.plan.clone();
        let now = self.inner.shared.at(Instant::now());
        let place = plan.pick_place(|| Arc::clone(&routes.nodes), |place| routes.marks[place].standing(now));
        let Some(place) = place else {
            if self.running.is_empty() && self.kept.is_none() {
                // Whoever tries again at once must not keep the poller from running.
                self.inner.shared.hurry(Instant::now());
                tokio::task::yield_now().await;
                return Err(RequestError::AllDown { attempts: self.failed.as_slice().into() });
            }
            return Ok(());
        };
        if plan.cycles() > cycles {
            if !self.running.is_empty() {
                return Ok(());
            }
            let delay = AGAIN.saturating_mul(1 << cycles.min(10)).min(AGAIN_AT_MOST);
            if Instant::now() + delay >= deadline {
                return Ok(());
            }
            tokio::time::sleep(delay).await;
        }
        self.plan = plan;
        self.attempts += 1;
        let mark = Arc::clone(&self.routes.marks[place]);
        let attempt = self.attempt(mark)?;
        self.running.push(attempt);
        Ok(())
    }

    fn attempt(&mut self, mark: Arc<Mark>) -> Result<Attempt<Oneshot<S, Request<Payload>>>, RequestError> {
        let uri = Uri::builder()
            .scheme(mark.node.scheme().as_str())
            .authority(mark.authority.clone())
            .path_and_query(self.path.clone())
            .build();
        let mut parts = self.parts.clone();
        parts.uri = uri.map_err(|error| RequestError::Invalid(Arc::new(error)))?;
        if self.inner.balance.host_per_node || !parts.headers.contains_key(http::header::HOST) {
            parts.headers.insert(http::header::HOST, mark.host.clone());
        }
        let (payload, sent) = self.payload.watched();
        let started = Instant::now();
        let options = &self.inner.balance;
        let limit = self.limits.limit(self.class).saturating_mul(1 << self.silent.min(10));
        tracing::debug!(node = %mark.node, attempt = self.attempts, "attempt");
        Ok(Attempt {
            future: Box::pin(Oneshot::new(self.client.clone(), Request::from_parts(parts, payload))),
            generation: mark.generation(),
            mark,
            sent,
            started,
            hedge: options.hedge.filter(|_| self.repeatable).map(|delay| started + delay),
            limit: Some(started + limit),
        })
    }

    /// The next attempt that ends; none if the timer is over first.
    async fn next(
        &mut self,
        mut timer: Pin<&mut Sleep>,
    ) -> Option<(Attempt<Oneshot<S, Request<Payload>>>, Result<Response<B>, BoxError>)> {
        poll_fn(|cx| {
            for place in 0..self.running.len() {
                if let Poll::Ready(result) = self.running[place].future.as_mut().poll(cx) {
                    let attempt = self.running.remove(place);
                    return Poll::Ready(Some((attempt, result.map_err(Into::into))));
                }
            }
            timer.as_mut().poll(cx).map(|()| None)
        })
        .await
    }

    /// Gives back an answer that is the request's; `Err` is one because of which the next node is asked.
    fn answered(
        &mut self,
        attempt: &Attempt<Oneshot<S, Request<Payload>>>,
        answer: Response<B>,
    ) -> Result<Response<B>, Response<B>> {
        let status = answer.status().as_u16();
        let elapsed = attempt.started.elapsed();
        self.limits.sample(self.class, elapsed);
        self.inner.shared.record(&attempt.mark, Outcome::Answered(status), attempt.generation);
        match status {
            503 => {}
            500 | 502 | 504 if self.repeatable => {}
            _ => return Ok(answer),
        }
        tracing::debug!(node = %attempt.mark.node, status, "asking the next node");
        let node = attempt.mark.node.clone();
        self.failed.push(FailedAttempt { node, outcome: Outcome::Answered(status), elapsed, error: None });
        Err(answer)
    }

    /// Keeps an answer for the case that there is no better one; the one before is read to its end elsewhere, so that
    /// its connection can be used again.
    fn keep(&mut self, answer: Response<B>) {
        let before = self.kept.replace(answer);
        finish(before);
    }

    /// Lets go of everything but the answer that is given.
    fn let_go(&mut self) {
        finish(self.kept.take());
        self.running.clear();
    }

    fn fail(&mut self, attempt: &Attempt<Oneshot<S, Request<Payload>>>, outcome: Outcome, error: Option<BoxError>) {
        let Attempt { mark, generation, started, .. } = attempt;
        self.inner.shared.record(mark, outcome, *generation);
        let (node, elapsed) = (mark.node.clone(), started.elapsed());
        let error = error.map(Into::into);
        let failed = FailedAttempt { node, outcome, elapsed, error };
        tracing::debug!(%failed, "asking the next node");
        self.failed.push(failed);
    }

    /// Looks at the limits that passed; whether another node is to be asked.
    fn silent(&mut self, now: Instant) -> bool {
        let mut another = false;
        let beside = self.running.len();
        let mut place = 0;
        while place < self.running.len() {
            let attempt = &mut self.running[place];
            if attempt.hedge.is_some_and(|at| at <= now) {
                attempt.hedge = None;
                another = true;
            }
            if attempt.limit.is_none_or(|at| at > now) {
                place += 1;
                continue;
            }
            attempt.limit = None;
            self.silent += 1;
            // An attempt of which not a byte is sent could still be sent later: it ends here. One that only reads may go
            // on beside the others, since slow is not dead.
            let over = !attempt.sent.maybe();
            another |= over || self.repeatable;
            if over || beside >= BESIDE {
                let attempt = self.running.remove(place);
                self.fail(&attempt, Outcome::Silent, None);
            } else {
                let (mark, generation) = (Arc::clone(&attempt.mark), attempt.generation);
                self.inner.shared.record(&mark, Outcome::Silent, generation);
                place += 1;
            }
        }
        another
    }

    fn out_of_time(&mut self, limit: Duration) -> Result<Response<B>, RequestError> {
        if let Some(answer) = self.kept.take() {
            return Ok(answer);
        }
        let sent = self.running.iter().any(|attempt| attempt.sent.maybe());
        for attempt in std::mem::take(&mut self.running) {
            let outcome = if attempt.limit.is_some() { Outcome::Silent } else { Outcome::Cancelled };
            self.inner.shared.record(&attempt.mark, outcome, attempt.generation);
            let (node, elapsed) = (attempt.mark.node.clone(), attempt.started.elapsed());
            self.failed.push(FailedAttempt { node, outcome: Outcome::Silent, elapsed, error: None });
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
