//! One request with all its attempts.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering::Relaxed},
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Uri, request::Parts, uri::PathAndQuery};
use messina_layers::BoxError;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::util::Oneshot;
use tower_service::Service;

use super::{
    Affinity, FailedAttempt, HeaderLimits, Operation, Repeatable, RequestError, attempt::Attempt, operation::Class,
    planned::planned,
};
use crate::{
    alternator::{
        client::Inner,
        health::Outcome,
        http::Payload,
        mark::Mark,
        pace::after,
        plan::{QueryPlan, Standing},
        routes::Routes,
    },
    metrics::AttemptEnd,
};

/// How many attempts of one request may be out at a time.
pub(super) const BESIDE: usize = 3;
/// The first delay before nodes are tried again that were all tried, and the longest.
const AGAIN: Duration = Duration::from_millis(25);
const AGAIN_AT_MOST: Duration = Duration::from_secs(1);

pub(super) type Under<'a, S> = Attempt<'a, Oneshot<S, Request<Payload>>>;

pub(super) struct Run<'a, S: Service<Request<Payload>>, B> {
    client: S,
    pub(super) inner: &'a Inner,
    pub(super) limits: &'a HeaderLimits,
    parts: Parts,
    payload: Payload,
    path: PathAndQuery,
    pub(super) class: Class,
    pub(super) repeatable: bool,
    pub(super) routes: Arc<Routes>,
    plan: QueryPlan,
    attempts: u32,
    /// How often the limit passed without an answer; each doubles the next one.
    pub(super) silent: u32,
    pub(super) running: Vec<Under<'a, S>>,
    pub(super) failed: Vec<FailedAttempt>,
    /// The last answer that another node was asked because of.
    pub(super) kept: Option<Response<B>>,
}

pub(super) async fn run<S, B>(
    client: S,
    inner: Arc<Inner>,
    limits: Arc<HeaderLimits>,
    request: Request<Payload>,
) -> Result<Response<B>, RequestError>
where
    S: Service<Request<Payload>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    let metrics = &inner.shared.metrics;
    let now = Instant::now();
    metrics.request_begun();
    let result = send(client, &inner, &limits, request, now).await;
    if let Err(error) = &result {
        metrics.request_failed(error.kind());
    }
    metrics.request_ended(now.elapsed());
    result
}

async fn send<S, B>(
    client: S,
    inner: &Inner,
    limits: &HeaderLimits,
    mut request: Request<Payload>,
    now: Instant,
) -> Result<Response<B>, RequestError>
where
    S: Service<Request<Payload>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    let shared = &inner.shared;
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
        inner,
        limits,
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

impl<'a, S, B> Run<'a, S, B>
where
    S: Service<Request<Payload>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    async fn drive(&mut self, started: Instant) -> Result<Response<B>, RequestError> {
        let limit = self.inner.balance.timeout;
        let deadline = after(started, limit);
        let mut timer = pin!(sleep_until(deadline));
        self.start(deadline, None).await?;
        loop {
            let next = self.running.iter().flat_map(|attempt| [attempt.hedge, attempt.limit]).flatten();
            let next = next.min().map_or(deadline, |next| next.min(deadline));
            if timer.deadline() != next {
                timer.as_mut().reset(next);
            }
            let another = match self.next(timer.as_mut()).await {
                Some((attempt, Ok(answer))) => match self.answered(attempt, answer) {
                    Ok(answer) => {
                        self.let_go();
                        return Ok(answer);
                    }
                    Err(kept) => {
                        self.keep(kept);
                        Some(AttemptEnd::Answered)
                    }
                },
                Some((attempt, Err(error))) => {
                    let sent = attempt.sent.maybe();
                    let end = self.fail(attempt, if sent { Outcome::Broken } else { Outcome::Refused }, Some(error));
                    if sent && !self.repeatable && !self.inner.balance.repeat_broken {
                        return Err(RequestError::Broken { attempts: self.failed.as_slice().into() });
                    }
                    Some(end)
                }
                None => {
                    let now = Instant::now();
                    if now >= deadline {
                        return self.out_of_time(limit);
                    }
                    self.silent(now)
                }
            };
            if another.is_some() {
                self.start(deadline, another).await?;
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
    async fn start(&mut self, deadline: Instant, after: Option<AttemptEnd>) -> Result<(), RequestError> {
        if self.attempts == self.inner.balance.max_attempts || self.running.len() >= BESIDE {
            return Ok(());
        }
        let cycles = self.plan.cycles();
        let routes = &self.routes;
        let mut plan = self.plan.clone();
        let mut started = Instant::now();
        let now = self.inner.shared.at(started);
        let place = plan.pick_place(|| Arc::clone(&routes.nodes), |place| routes.marks[place].standing(now));
        let mut pause = None;
        let place = match place {
            Some(place) => place,
            None if self.running.is_empty() && self.kept.is_none() => {
                // All are down. Whoever has nobody better asks them all the same, as a last resort.
                self.inner.shared.hurry(Instant::now());
                plan = self.plan.clone();
                let Some(place) = plan.pick_place(|| Arc::clone(&routes.nodes), |_| Standing::Avoided) else {
                    return Ok(());
                };
                pause = (self.attempts == 0).then_some(AGAIN);
                place
            }
            None => return Ok(()),
        };
        if plan.cycles() > cycles {
            if !self.running.is_empty() {
                return Ok(());
            }
            pause = Some(AGAIN.saturating_mul(1 << cycles.min(10)).min(AGAIN_AT_MOST));
        }
        if let Some(pause) = pause {
            if started + pause >= deadline {
                return Ok(());
            }
            tokio::time::sleep(pause).await;
            started = Instant::now();
        }
        self.plan = plan;
        self.attempts += 1;
        let mark = Arc::clone(&self.routes.marks[place]);
        if let Some(reason) = after {
            self.inner.shared.metrics.failed_over(reason);
        }
        let attempt = self.attempt(mark, started)?;
        self.running.push(attempt);
        Ok(())
    }

    fn attempt(&mut self, mark: Arc<Mark>, started: Instant) -> Result<Under<'a, S>, RequestError> {
        let mut parts = self.parts.clone();
        parts.uri = if self.path == "/" {
            mark.root.clone()
        } else {
            let uri = Uri::builder().scheme(mark.node.scheme().as_str()).authority(mark.authority.clone());
            let uri = uri.path_and_query(self.path.clone()).build();
            uri.map_err(|error| RequestError::Invalid(Arc::new(error)))?
        };
        if self.inner.balance.host_per_node || !parts.headers.contains_key(http::header::HOST) {
            parts.headers.insert(http::header::HOST, mark.host.clone());
        }
        let (payload, sent) = self.payload.watched();
        let options = &self.inner.balance;
        let limit = self.limits.limit(self.class).saturating_mul(1 << self.silent.min(10));
        tracing::debug!(node = %mark.node, attempt = self.attempts, "attempt");
        mark.out.fetch_add(1, Relaxed);
        Ok(Attempt {
            future: Box::pin(Oneshot::new(self.client.clone(), Request::from_parts(parts, payload))),
            generation: mark.generation(),
            mark,
            sent,
            started,
            hedge: options.hedge.filter(|_| self.repeatable).map(|delay| after(started, delay)),
            patience: limit,
            limit: Some(after(started, limit)),
            end: AttemptEnd::Dropped,
            metrics: &self.inner.shared.metrics,
        })
    }

    /// The next attempt that ends; none if the timer is over first.
    async fn next(&mut self, mut timer: Pin<&mut Sleep>) -> Option<(Under<'a, S>, Result<Response<B>, BoxError>)> {
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
}
