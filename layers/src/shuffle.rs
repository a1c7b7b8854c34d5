//! Takes [`Candidates`], gives them ordered and capped: one layer, so that a cap before the shuffle, which
//! would put some addresses out of reach for good, cannot be written.

use std::{
    fmt,
    task::{Context, Poll},
};

use tower::util::Oneshot;
use tower_layer::Layer;
use tower_service::Service;

use crate::{candidate::Candidates, metrics, random::Random};

/// How many addresses of one name are tried in one connect unless told otherwise.
pub const DEFAULT_CAP: usize = 5;

/// In which order the addresses of a name are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// A fresh random order at every connect.
    #[default]
    Shuffle,
    /// The resolver's first answer first, the rest in a fresh random order.
    PreferredFirst,
    /// As the resolver answered.
    AsGiven,
    /// IPv4 and IPv6 in turn, beginning with the family of the resolver's first answer; a fresh random order
    /// within each family.
    InterleaveFamilies,
}

/// The names used in settings: `shuffle`, `first-then-shuffle`, `as-given`, `interleave-families`.
impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Shuffle => "shuffle",
            Self::PreferredFirst => "first-then-shuffle",
            Self::AsGiven => "as-given",
            Self::InterleaveFamilies => "interleave-families",
        })
    }
}

/// Layers [`ShuffleCap`]: a fresh order at each connect, then the cap.
#[derive(Clone, Debug)]
pub struct ShuffleCapLayer {
    order: Order,
    cap: usize,
    random: Option<Random>,
}

impl ShuffleCapLayer {
    /// Shuffles and keeps [`DEFAULT_CAP`] addresses.
    #[must_use]
    pub const fn new() -> Self {
        Self { order: Order::Shuffle, cap: DEFAULT_CAP, random: None }
    }

    /// Keeps at most `cap` addresses per connect, counted after duplicates are gone.
    ///
    /// # Panics
    /// If `cap` is 0: a connect that may try nothing cannot succeed.
    #[must_use]
    pub const fn with_cap(mut self, cap: usize) -> Self {
        assert!(cap > 0, "the cap on candidate addresses is 0; allowed is 1 or more");
        self.cap = cap;
        self
    }

    /// Orders differently.
    #[must_use]
    pub const fn with_order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// The same orders on every run, for tests: each service made by this layer draws from this seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.random = Some(Random::seeded(seed));
        self
    }
}

impl Default for ShuffleCapLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for ShuffleCapLayer {
    type Service = ShuffleCap<S>;

    fn layer(&self, inner: S) -> ShuffleCap<S> {
        let random = self.random.clone().unwrap_or_else(Random::from_system);
        ShuffleCap { inner, order: self.order, cap: self.cap, random }
    }
}

/// Orders and caps the candidates, then hands them on.
///
/// Always ready: a clone of the inner service is driven inside the future. No state is kept per name; clones
/// share one random sequence, two services made apart do not.
#[derive(Clone, Debug)]
pub struct ShuffleCap<S> {
    inner: S,
    order: Order,
    cap: usize,
    random: Random,
}

impl<S> ShuffleCap<S> {
    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Gives the service below back.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, T> Service<Candidates<T>> for ShuffleCap<S>
where
    S: Service<Candidates<T>> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Oneshot<S, Candidates<T>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut candidates: Candidates<T>) -> Self::Future {
        candidates.arrange(|addrs| {
            match self.order {
                Order::AsGiven => {}
                Order::Shuffle => self.random.shuffle(addrs),
                Order::PreferredFirst => self.random.shuffle(addrs.get_mut(1..).unwrap_or_default()),
                Order::InterleaveFamilies => {
                    let first_v6 = addrs.first().is_some_and(|addr| addr.is_ipv6());
                    self.random.shuffle(addrs);
                    interleave(addrs, |addr| addr.is_ipv6() == first_v6);
                }
            }
            addrs.truncate(self.cap);
        });
        metrics::candidates(candidates.len());
        Oneshot::new(self.inner.clone(), candidates)
    }
}

/// Takes in turn from those that are `first` and those that are not, each kept in its order.
fn interleave<A: Copy>(items: &mut [A], first: impl Fn(&A) -> bool) {
    let (one, other): (Vec<A>, Vec<A>) = items.iter().partition(|item| first(item));
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    for (i, slot) in items.iter_mut().enumerate() {
        let next = if i % 2 == 0 { one.next().or_else(|| other.next()) } else { other.next().or_else(|| one.next()) };
        if let Some(item) = next {
            *slot = item;
        }
    }
}
