//! Takes a target, gives its [`Candidates`]: every address of its name, looked up once per connect.
//!
//! A resolver is a service: any `Service<Address>` whose response iterates addresses. Every address goes
//! through it, names and literals alike, so a redirecting resolver keeps its say; the resolvers shipped here
//! answer a socket address with itself. What a resolver answers is dialled verbatim.
//!
//! ```
//! use std::net::IpAddr;
//! use messina_layers::{Address, ResolveLayer};
//!
//! let resolver = tower::service_fn(|address: Address| async move {
//!     println!("asked for {address}");
//!     Ok::<_, std::io::Error>(["10.0.0.1".parse::<IpAddr>().unwrap(), "10.0.0.2".parse::<IpAddr>().unwrap()])
//! });
//! let layer = ResolveLayer::new(resolver);
//! # let _ = layer;
//! ```

mod fixed;
#[cfg(feature = "hickory")]
mod hickory;
#[cfg(feature = "hyper")]
mod hyper;
mod resolved;
mod system;

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower::util::Oneshot;
use tower_layer::Layer;
use tower_service::Service;
use tracing::Span;

#[cfg(feature = "hickory")]
pub use self::hickory::{HickoryError, HickoryFuture, HickoryResolver};
#[cfg(feature = "hyper")]
pub use self::hyper::{HyperFuture, HyperResolver};
pub use self::{
    fixed::{FixedError, FixedResolver},
    resolved::Resolved,
    system::{SystemFuture, SystemResolver},
};
use crate::{
    address::Address,
    candidate::Candidates,
    error::{BoxError, ConnectError, TimedOut},
    guard::Guarded,
    limit::Limit,
    metrics::{self, Lookup},
    target::Dial,
};

/// How long a lookup may take unless told otherwise.
pub const DEFAULT_RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Layers [`Resolve`]: exactly one lookup per connect, under its own limit.
#[derive(Clone, Debug)]
pub struct ResolveLayer<R> {
    resolver: R,
    timeout: Option<Duration>,
}

impl<R> ResolveLayer<R> {
    /// Looks up through `resolver`, each lookup limited to [`DEFAULT_RESOLVE_TIMEOUT`].
    pub const fn new(resolver: R) -> Self {
        Self { resolver, timeout: Some(DEFAULT_RESOLVE_TIMEOUT) }
    }

    /// Limits each lookup to `timeout`.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Leaves the limit to the resolver.
    #[must_use]
    pub fn without_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }
}

impl<R: Clone, S> Layer<S> for ResolveLayer<R> {
    type Service = Resolve<R, S>;

    fn layer(&self, inner: S) -> Resolve<R, S> {
        Resolve { resolver: self.resolver.clone(), timeout: self.timeout, inner }
    }
}

/// Expands a target to its candidates and hands them on.
// connect 4, 6, 7: no predicates decide whether to ask: the resolver always is, and without one there is no layer.
///
/// Always ready: clones of the resolver and of what is below are driven inside the future, since only the
/// request says whether a lookup or capacity is needed.
#[derive(Clone, Debug)]
pub struct Resolve<R, S> {
    inner: S,
    resolver: R,
    timeout: Option<Duration>,
}

impl<R, S> Resolve<R, S> {
    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Gives the service below back.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<R, S, T> Service<T> for Resolve<R, S>
where
    T: Dial,
    R: Service<Address> + Clone,
    R::Response: IntoIterator<Item: Into<Resolved>>,
    R::Error: Into<BoxError>,
    S: Service<Candidates<T>> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = ConnectError;
    type Future = ResolveFuture<R, S, T>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: T) -> ResolveFuture<R, S, T> {
        let address = target.address();
        let span = tracing::debug_span!("connect", target = %address);
        ResolveFuture {
            state: State::Lookup {
                lookup: Guarded::new(Oneshot::new(self.resolver.clone(), address.clone())),
                limit: Limit::new(self.timeout),
                next: Some((self.inner.clone(), target)),
                started: Instant::now(),
            },
            address,
            span,
        }
    }
}

pin_project! {
    /// The lookup, then the connect; dropping it aborts whichever runs.
    // connect 11: one future on the caller's runtime drives the lookup and every attempt.
    pub struct ResolveFuture<R: Service<Address>, S: Service<Candidates<T>>, T> {
        #[pin]
        state: State<R, S, T>,
        address: Address,
        span: Span,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<R: Service<Address>, S: Service<Candidates<T>>, T> {
        Lookup {
            #[pin] lookup: Guarded<Oneshot<R, Address>>,
            #[pin] limit: Limit,
            next: Option<(S, T)>,
            started: Instant,
        },
        Connect { #[pin] connect: Guarded<Oneshot<S, Candidates<T>>> },
        Done,
    }
}

impl<R: Service<Address>, S: Service<Candidates<T>>, T> std::fmt::Debug for ResolveFuture<R, S, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state {
            State::Lookup { .. } => "looking up",
            State::Connect { .. } => "connecting",
            State::Done => "done",
        };
        f.debug_struct("ResolveFuture").field("target", &self.address).field("state", &state).finish()
    }
}

impl<R, S, T> Future for ResolveFuture<R, S, T>
where
    R: Service<Address>,
    R::Response: IntoIterator<Item: Into<Resolved>>,
    R::Error: Into<BoxError>,
    S: Service<Candidates<T>>,
    S::Error: Into<BoxError>,
{
    type Output = Result<S::Response, ConnectError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let _entered = this.span.enter();
        loop {
            match this.state.as_mut().project() {
                // Lookup => Connect | Done
                StateProj::Lookup { lookup, limit, next, started } => {
                    let answer = match lookup.poll(cx) {
                        Poll::Ready(answer) => answer,
                        Poll::Pending => Err(ready!(limit.poll_over(cx)).into()),
                    };
                    let next = next.take();
                    let outcome = candidates(answer, next, this.address, *started);
                    match outcome {
                        Ok((inner, candidates)) => {
                            let connect = Guarded::new(Oneshot::new(inner, candidates));
                            this.state.set(State::Connect { connect });
                        }
                        Err(error) => {
                            this.state.set(State::Done);
                            return Poll::Ready(Err(error));
                        }
                    }
                }
                // Connect => Done
                StateProj::Connect { connect } => {
                    let result = ready!(connect.poll(cx));
                    this.state.set(State::Done);
                    return Poll::Ready(result.map_err(|e| ConnectError::from_box(e, || this.address.clone())));
                }
                StateProj::Done => panic!("ResolveFuture polled after completion"),
            }
        }
    }
}

/// What the resolver answered, as candidates for the service below.
fn candidates<A, S, T>(
    answer: Result<A, BoxError>,
    next: Option<(S, T)>,
    address: &Address,
    started: Instant,
) -> Result<(S, Candidates<T>), ConnectError>
where
    A: IntoIterator<Item: Into<Resolved>>,
{
    let elapsed = started.elapsed();
    let no_address = || ConnectError::NoAddress { target: address.clone() };
    let failed =
        |source: BoxError| ConnectError::Resolve { target: address.clone(), source: Arc::from(source), elapsed };
    let answer = answer.map_err(|source| {
        let outcome = if source.is::<TimedOut>() { Lookup::Timeout } else { Lookup::Error };
        metrics::lookup_ended(outcome, elapsed);
        failed(source)
    })?;
    let (inner, target) = next.ok_or_else(no_address)?;
    // The answer is an iterator of the user's: it may panic as well as the lookup.
    let port = address.port();
    let candidates =
        crate::guard::guarded(|| Candidates::new(target, answer.into_iter().map(|item| item.into().socket(port))));
    match candidates {
        Err(panicked) => {
            metrics::lookup_ended(Lookup::Error, elapsed);
            Err(failed(panicked.into()))
        }
        Ok(Err(_target)) => {
            metrics::lookup_ended(Lookup::Empty, elapsed);
            Err(no_address())
        }
        Ok(Ok(candidates)) => {
            metrics::lookup_ended(Lookup::Ok, elapsed);
            tracing::debug!(addresses = ?candidates.addrs(), elapsed = ?elapsed, "resolved");
            Ok((inner, candidates.with_start(started)))
        }
    }
}
