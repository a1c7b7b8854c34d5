//! One request from its first try to its answer.
//!
//! ```text
//!   start ─▶ first try ─▶ answer
//!                └─ failed ─▶ recovery (boxed): next node, same node again, prepare and again, wait for room, or give up
//! ```
//!
//! The first try is written by hand, so that the future of a request that goes well is small and moves nothing twice.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Sleep, sleep_until};
use tracing::{Span, field::Empty};

use super::deadline::Deadline;
use super::failed::timed_out;
use super::failure::Failure;
use super::one_run::when_connected;
use super::recovery::recover;
use super::request::Bound;
use super::result_set::Rest;
use super::speculate::speculate;
use super::trying::Trying;
use super::{Inner, Request, ResultSet};
use crate::connection::PATIENCE;
use crate::error::{Error, Kind};

/// A deadline so near is set at once.
const SHORT: Duration = PATIENCE.saturating_mul(4);

/// A request that is nobody else's, or shared.
pub(super) enum Owned {
    Alone(Bound),
    Shared(Arc<Bound>),
}

/// A request that goes on in a box.
pub(super) type Boxed<'a> = Pin<Box<dyn Future<Output = Result<ResultSet, Error>> + Send + 'a>>;

/// A request, from before it is sent until it is answered.
pub(super) struct Running<'a> {
    session: &'a Arc<Inner>,
    bound: Option<Owned>,
    after: Option<&'a Rest>,
    deadline: Option<Deadline>,
    /// Within the application's layers already.
    bare: bool,
    /// Whether the session counts it; not if another one around it is counted.
    counted: bool,
    /// Whether its connection wakes it when it has waited for long; not known before it waits.
    woken: Option<bool>,
    /// Its time began when it was sent.
    begun: bool,
    span: Span,
    state: State<'a>,
    /// Set once it has waited for long.
    sleep: Option<Pin<Box<Sleep>>>,
}

enum State<'a> {
    Failed(Error),
    Start,
    Waiting(Trying),
    Boxed(Boxed<'a>),
    Over,
}

impl<'a> Running<'a> {
    /// A request whose time begins when it is first polled, or has begun already.
    pub(super) fn new(session: &'a Arc<Inner>, bound: Owned, deadline: Option<Deadline>) -> Self {
        let span = tracing::debug_span!("request", node = Empty, shard = Empty);
        let begins = Self::at(session, State::Start);
        Self { bound: Some(bound), deadline, counted: true, span, ..begins }
    }

    /// The same within the layers that the application put around requests.
    pub(super) fn bare(session: &'a Arc<Inner>, bound: Owned, deadline: Option<Deadline>) -> Self {
        Self { bound: Some(bound), deadline, bare: true, ..Self::at(session, State::Start) }
    }

    /// A page that comes after another, from the same node if it is still there.
    pub(super) fn page(rest: &'a Rest) -> Self {
        let bound = Owned::Shared(Arc::clone(&rest.bound));
        Self { after: Some(rest), ..Self::new(&rest.session, bound, None) }
    }

    pub(super) fn failed(session: &'a Arc<Inner>, error: Error) -> Self {
        Self { counted: true, ..Self::at(session, State::Failed(error)) }
    }

    /// A request that goes on in a box, where it counts itself.
    pub(super) fn boxed(session: &'a Arc<Inner>, future: Boxed<'a>) -> Self {
        Self::at(session, State::Boxed(future))
    }

    fn at(session: &'a Arc<Inner>, state: State<'a>) -> Self {
        Self {
            session,
            bound: None,
            after: None,
            deadline: None,
            bare: false,
            counted: false,
            woken: None,
            begun: false,
            span: Span::none(),
            state,
            sleep: None,
        }
    }
}

impl Future for Running<'_> {
    type Output = Result<ResultSet, Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(self.advance(cx));
        let me = &mut *self;
        if me.counted {
            let metrics = &me.session.metrics;
            match me.deadline {
                Some(deadline) => metrics.request_ended(deadline.start().elapsed()),
                // It never was more than an error.
                None => metrics.request_begun(),
            }
            match result {
                Err(error) => {
                    metrics.request_failed(error.kind());
                    return Poll::Ready(Err(error));
                }
                Ok(result) if result.schema_change().is_some() => {
                    // The request is over; what follows has limits of its own.
                    me.counted = false;
                    me.state = State::Boxed(Box::pin(me.session.agreed(result)));
                    return me.advance(cx);
                }
                Ok(result) => return Poll::Ready(Ok(result)),
            }
        }
        Poll::Ready(result)
    }
}

impl Running<'_> {
    #[inline]
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<ResultSet, Error>> {
        let _entered = self.span.enter();
        if matches!(self.state, State::Start) {
            if self.counted {
                self.session.metrics.request_begun();
            }
            self.begun = self.deadline.is_none();
            self.state = start(self.session, &mut self.bound, self.after, &mut self.deadline, self.bare);
        }
        if let (State::Waiting(trying), Some(bound), Some(deadline)) = (&mut self.state, &self.bound, self.deadline) {
            match trying.poll_page(cx, bound) {
                Poll::Ready(Ok(page)) => {
                    let result = ResultSet::new(self.session, page, &trying.node, || self.bound.take());
                    self.state = State::Over;
                    return Poll::Ready(Ok(result));
                }
                Poll::Ready(Err(failure)) => {
                    let first = trying.again(trying.since);
                    self.state = recovery(self.session, &mut self.bound, self.after, deadline, first, failure);
                }
                Poll::Pending => {
                    // Its connection wakes it once it has waited for long; until then nobody has to look at the clock.
                    let first = self.begun && self.woken.is_none();
                    let counts_on_it = || deadline.limit() > SHORT && trying.connection.runs_here();
                    let woken = *self.woken.get_or_insert_with(counts_on_it);
                    // It may be awaited elsewhere by now.
                    let soon = || trying.since.elapsed() < PATIENCE && trying.connection.runs_here();
                    if woken && self.sleep.is_none() && (first || soon()) {
                        return Poll::Pending;
                    }
                    if self.sleep.is_none() && Handle::try_current().is_err() {
                        self.state = State::Over;
                        let message = "the request is awaited outside of a Tokio runtime, where no time can be limited";
                        return Poll::Ready(Err(Error::new(Kind::Config, message)));
                    }
                    let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline.at())));
                    if sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    let error = timed_out(Vec::new(), Some(trying), deadline);
                    self.state = State::Over;
                    return Poll::Ready(Err(error));
                }
            }
        }
        if let State::Boxed(future) = &mut self.state {
            return future.as_mut().poll(cx);
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Failed(error) => Poll::Ready(Err(error)),
            _ => Poll::Pending,
        }
    }
}

/// Sends the first try.
fn start<'a>(
    session: &'a Arc<Inner>,
    bound: &mut Option<Owned>,
    after: Option<&'a Rest>,
    deadline: &mut Option<Deadline>,
    bare: bool,
) -> State<'a> {
    let Some(own) = &*bound else { return State::Over };
    let config = session.config.load();
    let deadline = *deadline.get_or_insert_with(|| Deadline::new(own.options(), &config));
    if let Some(layers) = session.layers.get().filter(|_| !bare && !own.is_prepare()) {
        let request = bound.take().map(|own| Request::new_at(own.into_shared(), after));
        return request.map_or(State::Over, |request| State::Boxed(session.layered(layers, request, deadline)));
    }
    let speculation = own.options().speculation(&config);
    if let Some(policy) = speculation.filter(|_| own.is_idempotent(own.from(after), &config)) {
        let policy = Arc::clone(policy);
        let spread = bound.take().map(|own| speculate(session, own.into_shared(), after, deadline, policy));
        return spread.map_or(State::Over, |spread| State::Boxed(Box::pin(spread)));
    }
    let near = after.and_then(|after| Some((Arc::clone(&after.node), after.node.connection()?)));
    let Some((node, connection)) = near.or_else(|| session.pick(&config, own, &[], deadline.start())) else {
        if session.is_closed() || !session.nodes.any_opening() || session.is_over() {
            return State::Failed(session.no_node(own));
        }
        let waited = bound.take().map(|own| when_connected(session, own, after, deadline));
        return waited.map_or(State::Over, |waited| State::Boxed(Box::pin(waited)));
    };
    let mut trying = Trying::new(node, connection, deadline.start());
    match trying.send(&config, own, own.from(after), None, (None, deadline)) {
        Ok(()) => State::Waiting(trying),
        Err(failure) => recovery(session, bound, after, deadline, trying, failure),
    }
}

/// Goes on after the first try failed.
#[cold]
fn recovery<'a>(
    session: &'a Arc<Inner>,
    bound: &mut Option<Owned>,
    after: Option<&'a Rest>,
    deadline: Deadline,
    first: Trying,
    failure: Failure,
) -> State<'a> {
    match bound.take() {
        Some(bound) => {
            State::Boxed(Box::pin(recover(session, bound.into_shared(), after, deadline, first, failure, None)))
        }
        None => State::Over,
    }
}

impl Owned {
    pub(super) fn into_shared(self) -> Arc<Bound> {
        match self {
            Self::Alone(bound) => Arc::new(bound),
            Self::Shared(bound) => bound,
        }
    }
}

impl Deref for Owned {
    type Target = Bound;

    fn deref(&self) -> &Bound {
        match self {
            Self::Alone(bound) => bound,
            Self::Shared(bound) => bound,
        }
    }
}
