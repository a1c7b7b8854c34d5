//! The upper half of a connect stack, for any protocol, and the short names for its bounds.

use std::time::Duration;

use tower::util::BoxCloneSyncService;
use tower_layer::{Identity, Layer};
use tower_service::Service;

use crate::{
    address::Address,
    candidate::Candidate,
    error::{BoxError, ConnectError},
    established::Established,
    fallback::{Fallback, FallbackLayer},
    pin::{PinConnect, PinLayer},
    resolve::{DEFAULT_RESOLVE_TIMEOUT, Resolve, ResolveLayer, Resolved},
    shuffle::{DEFAULT_CAP, Order, ShuffleCap, ShuffleCapLayer},
};

/// A whole connect stack behind one type: cheap to clone, called with a target.
pub type BoxConnect<T, C> = BoxCloneSyncService<T, Established<T, C>, ConnectError>;

/// The stack that [`connect_stack`] builds around an attempt.
pub type ConnectStack<R, A> = PinConnect<Resolve<R, ShuffleCap<Fallback<A>>>>;

/// A service that turns an [`Address`] into addresses. Implement `Service`, not this.
pub trait Resolver: Service<Address, Response: IntoIterator<Item: Into<Resolved>>, Error: Into<BoxError>> {}

impl<R> Resolver for R where R: Service<Address, Response: IntoIterator<Item: Into<Resolved>>, Error: Into<BoxError>> {}

/// A service that tries one [`Candidate`] and answers a connection. Implement `Service`, not this.
pub trait TryCandidate<T>: Service<Candidate<T>, Error: Into<BoxError>> {}

impl<A, T> TryCandidate<T> for A where A: Service<Candidate<T>, Error: Into<BoxError>> {}

/// A connect stack: a service from target to [`Established`]. Implement `Service`, not this.
pub trait Connect<T>: Service<T, Response = Established<T, Self::Connection>, Error = ConnectError> {
    /// The connection it answers.
    type Connection;
}

impl<S, T, C> Connect<T> for S
where
    S: Service<T, Response = Established<T, C>, Error = ConnectError>,
{
    type Connection = C;
}

/// What the upper half of a stack may be told.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// In which order addresses are tried; shuffled by default.
    pub order: Order,
    /// How many addresses one connect tries at most; 5 by default. 0 counts as 1.
    pub cap: usize,
    /// Makes the orders repeatable; `None` by default.
    pub seed: Option<u64>,
    /// Overlaps attempts that do not answer in time; `None`, strictly sequential, by default.
    pub attempt_delay: Option<Duration>,
    /// Starts no further attempt once this has passed; `None` by default.
    pub budget: Option<Duration>,
    /// Ends a connect after so many refused logins; `None` by default.
    pub max_auth_failures: Option<usize>,
    /// Limits the lookup; 5 s by default.
    pub resolve_timeout: Option<Duration>,
    /// Tells of a connect that failed at debug instead of in a warning; off by default.
    pub quiet: bool,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            order: Order::Shuffle,
            cap: DEFAULT_CAP,
            seed: None,
            attempt_delay: None,
            budget: None,
            max_auth_failures: None,
            resolve_timeout: Some(DEFAULT_RESOLVE_TIMEOUT),
            quiet: false,
        }
    }
}

/// Builds pin, resolve, shuffle and cap, and fallback around an attempt, in this order from the outside:
/// the winner is pinned, the name is looked up once, all of its addresses are ordered and capped, and one
/// after the other is given to `attempt`.
pub fn connect_stack<A, R: Clone>(attempt: A, resolver: R, options: ConnectOptions) -> ConnectStack<R, A> {
    connect_stack_with(attempt, resolver, options, Identity::new())
}

/// The same with a layer between the lookup and the cap: it gets every address of the name, none twice, and may
/// leave out those that are known to be of no use.
pub fn connect_stack_with<A, R, L>(
    attempt: A,
    resolver: R,
    options: ConnectOptions,
    expanded: L,
) -> PinConnect<Resolve<R, L::Service>>
where
    R: Clone,
    L: Layer<ShuffleCap<Fallback<A>>>,
{
    let mut fallback = FallbackLayer::new();
    if let Some(delay) = options.attempt_delay {
        fallback = fallback.with_attempt_delay(delay);
    }
    if let Some(budget) = options.budget {
        fallback = fallback.with_budget(budget);
    }
    if let Some(limit) = options.max_auth_failures {
        fallback = fallback.with_max_suspects(limit);
    }
    if options.quiet {
        fallback = fallback.quiet();
    }
    let mut shuffle = ShuffleCapLayer::new().with_order(options.order).with_cap(options.cap.max(1));
    if let Some(seed) = options.seed {
        shuffle = shuffle.with_seed(seed);
    }
    let resolve = match options.resolve_timeout {
        Some(timeout) => ResolveLayer::new(resolver).with_timeout(timeout),
        None => ResolveLayer::new(resolver).without_timeout(),
    };
    PinLayer::new().layer(resolve.layer(expanded.layer(shuffle.layer(fallback.layer(attempt)))))
}
