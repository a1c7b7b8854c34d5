//! The tower layer that sends each request to a live node, and to another one where that fails.
//!
//! A request's plan is made once. A node that refuses the connection or answers 503 is left for the next one at once,
//! without a delay. A node that says nothing within a limit, which follows from how long answers took of late, is left
//! for the next one where asking twice does no harm: the operation only reads, or not a byte of it was sent. When all
//! nodes were tried the plan begins anew, after a short delay. Whatever an attempt ends with is told to the health of
//! its node.

mod attempt;
mod ends;
mod error;
mod header_limit;
mod operation;
mod planned;
mod run;

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use messina_layers::BoxError;
use tower_layer::Layer;
use tower_service::Service;

pub use self::{
    error::{FailedAttempt, RequestError},
    operation::{InvalidOperation, Repeatable, operation},
};
pub(in crate::alternator) use self::{header_limit::HeaderLimits, operation::Operation};
use super::{client::Inner, http::Payload};

/// How requests move on from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceOptions {
    timeout: Duration,
    max_attempts: u32,
    first_limit: Duration,
    shortest_limit: Duration,
    longest_limit: Duration,
    hedge: Option<Duration>,
    host_per_node: bool,
    repeat_broken: bool,
}

impl Default for BalanceOptions {
    /// 10 s for a request with all its attempts, of which there are at most 10. The head of an answer may take 300 ms
    /// until it is known how long answers take, then as long as that says, from 100 ms to 2 s. No hedging; `Host` stays.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            max_attempts: 10,
            first_limit: Duration::from_millis(300),
            shortest_limit: Duration::from_millis(100),
            longest_limit: Duration::from_secs(2),
            hedge: None,
            host_per_node: false,
            repeat_broken: false,
        }
    }
}

impl BalanceOptions {
    /// How long a request may take until the head of its answer is there, with all its attempts (10 s). There is always
    /// a limit.
    #[must_use]
    pub const fn with_timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// How many attempts a request has (10); 0 counts as 1.
    #[must_use]
    pub const fn with_max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = if attempts == 0 { 1 } else { attempts };
        self
    }

    /// How long a node may say nothing before the next one is asked too: before it is known how long answers take
    /// (300 ms), and the bounds of what follows once it is (100 ms and 2 s).
    #[must_use]
    pub const fn with_header_limits(mut self, first: Duration, shortest: Duration, longest: Duration) -> Self {
        (self.first_limit, self.shortest_limit, self.longest_limit) = (first, shortest, longest);
        self
    }

    /// Asks another node too when the first has said nothing for so long, where the operation only reads (off).
    #[must_use]
    pub const fn with_hedge(mut self, delay: Option<Duration>) -> Self {
        self.hedge = delay;
        self
    }

    /// Repeats every operation whose connection broke after it was sent, as AWS SDKs do (off): what writes may then be
    /// done twice.
    #[must_use]
    pub const fn with_repeat_broken(mut self, on: bool) -> Self {
        self.repeat_broken = on;
        self
    }

    /// Names the node in `Host`, in place of what the request says (off). Only for requests that are not signed, or
    /// that are signed below this layer, for each attempt anew.
    #[must_use]
    pub const fn with_host_per_node(mut self, on: bool) -> Self {
        self.host_per_node = on;
        self
    }
}

/// To which nodes a request goes first, in its extensions; without one, to any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// Where the hash of its partition key leads.
    Key(i64),
    /// Where the hashes of the partition keys of its writes lead, by the number of writes.
    Batch(Arc<[i64]>),
}

/// Layers [`AlternatorBalance`] over an HTTP client; see [`Alternator::layer`](super::Alternator::layer).
#[derive(Clone, Debug)]
pub struct AlternatorLayer {
    inner: Arc<Inner>,
    limits: Arc<HeaderLimits>,
}

impl AlternatorLayer {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        let options = &inner.balance;
        let limits = HeaderLimits::new(options.first_limit, options.shortest_limit, options.longest_limit);
        Self { inner, limits: Arc::new(limits) }
    }
}

impl<S> Layer<S> for AlternatorLayer {
    type Service = AlternatorBalance<S>;

    fn layer(&self, client: S) -> AlternatorBalance<S> {
        AlternatorBalance { client, layer: self.clone() }
    }
}

/// Sends each request to a live node, and on to the next.
///
/// The HTTP client below is told the node by the URI of the request; a `Host` header of the request is left as it is, since
/// a signature covers it, and any node takes any. Always ready: a clone of the client is driven to readiness for each
/// attempt. Dropping the future drops all attempts.
#[derive(Clone, Debug)]
pub struct AlternatorBalance<S> {
    client: S,
    layer: AlternatorLayer,
}

impl<S> AlternatorBalance<S> {
    /// The HTTP client below.
    pub const fn get_ref(&self) -> &S {
        &self.client
    }

    /// Gives the HTTP client below back.
    pub fn into_inner(self) -> S {
        self.client
    }
}

impl<S, B> Service<Request<Payload>> for AlternatorBalance<S>
where
    S: Service<Request<Payload>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    type Response = Response<B>;
    type Error = RequestError;
    type Future = BalanceFuture<B>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), RequestError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Payload>) -> BalanceFuture<B> {
        let AlternatorLayer { inner, limits } = self.layer.clone();
        BalanceFuture(Box::pin(run::run(self.client.clone(), inner, limits, request)))
    }
}

type Boxed<B> = Pin<Box<dyn Future<Output = Result<Response<B>, RequestError>> + Send>>;

/// A request with all its attempts.
// Boxed because an async block cannot be named; a request costs system calls anyway.
pub struct BalanceFuture<B>(Boxed<B>);

impl<B> fmt::Debug for BalanceFuture<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BalanceFuture")
    }
}

impl<B> Future for BalanceFuture<B> {
    type Output = Result<Response<B>, RequestError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}
