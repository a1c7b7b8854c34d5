//! The node of each attempt of one request: no node twice before every other was tried.

mod cooked;
mod generator;
mod order;
mod random;

use std::sync::Arc;

pub use self::{generator::Generator, random::Randomness};
use self::{
    order::{Draws, Order, Places},
    random::Stream,
};
use super::{node::Node, nodes::NodeList};

/// What is known of a node at the moment it might be picked; earlier ones are picked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It answers.
    Active,
    /// It has yet to prove that it answers.
    Quarantined,
    /// It failed a moment ago.
    Avoided,
    /// It does not answer, and is never picked.
    Down,
}

/// The order of one request over the nodes, made lazily.
///
/// The list is captured at the first pick and stays the same for this request. Each pick asks anew what is known
/// of the nodes and takes the first in order, among those not yet tried, of the best [`Standing`]. When all were
/// tried a new cycle starts over the same nodes: without a key in another random order, with a key in the same
/// order. There is no pick only if the list is empty or all of it is [`Down`](Standing::Down).
///
/// Picks allocate nothing as long as they look at no more than the first eight nodes of the order.
///
/// ```
/// use std::sync::Arc;
/// use messina::alternator::{node::Node, nodes::NodeList, plan::{QueryPlan, Standing}};
///
/// let node = |i: u32| format!("http://10.0.0.{i}:8000").parse::<Node>();
/// let nodes: Arc<NodeList> = Arc::new((1..=3).map(node).collect::<Result<_, _>>()?);
/// let mut plan = QueryPlan::seeded(42);
/// let first = plan.pick(|| Arc::clone(&nodes), |_| Standing::Active).cloned();
/// let second = plan.pick(|| Arc::clone(&nodes), |_| Standing::Active).cloned();
/// assert_ne!(first, second);
/// # Ok::<(), messina::alternator::node::NodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct QueryPlan {
    kind: Kind,
    started: Option<Started>,
    cycles: u32,
}

#[derive(Clone, Debug)]
enum Kind {
    Random(Stream),
    Seeded(i64),
    Preferred(Vec<Node>),
}

#[derive(Clone, Debug)]
struct Started {
    nodes: Arc<NodeList>,
    order: Order,
    tried: Places,
}

impl QueryPlan {
    /// A random order; `draw` is a number of a [`Randomness`].
    #[must_use]
    pub const fn random(draw: u64) -> Self {
        Self { kind: Kind::Random(Stream::new(draw)), started: None, cycles: 0 }
    }

    /// The order that a partition key's hash leads to, in every client of every language.
    #[must_use]
    pub const fn seeded(hash: i64) -> Self {
        Self { kind: Kind::Seeded(hash), started: None, cycles: 0 }
    }

    /// The given nodes first, as far as they are in the list, then the others in canonical order.
    #[must_use]
    pub const fn preferred(nodes: Vec<Node>) -> Self {
        Self { kind: Kind::Preferred(nodes), started: None, cycles: 0 }
    }

    /// The node of the next attempt.
    ///
    /// `current` gives the nodes and is called at the first pick only; `standing` is asked at every pick.
    pub fn pick(
        &mut self,
        current: impl FnOnce() -> Arc<NodeList>,
        standing: impl Fn(&Node) -> Standing,
    ) -> Option<&Node> {
        let place = self.pick_by(current, |nodes, place| standing(&nodes[place]))?;
        self.started.as_ref().map(|started| &started.nodes[place])
    }

    /// The same for a caller who keeps what is known of each node by its place in the list: gives such a place.
    pub fn pick_place(
        &mut self,
        current: impl FnOnce() -> Arc<NodeList>,
        standing: impl Fn(usize) -> Standing,
    ) -> Option<usize> {
        self.pick_by(current, |_, place| standing(place))
    }

    /// How often all nodes were tried and the order began anew.
    #[must_use]
    pub const fn cycles(&self) -> u32 {
        self.cycles
    }

    fn pick_by(
        &mut self,
        current: impl FnOnce() -> Arc<NodeList>,
        standing: impl Fn(&NodeList, usize) -> Standing,
    ) -> Option<usize> {
        if self.started.is_none() {
            let nodes = current();
            let order = self.kind.order(&nodes);
            self.started = Some(Started { nodes, order, tried: Places::default() });
        }
        let started = self.started.as_mut()?;
        let place = match started.best(&standing) {
            Some(place) => place,
            None => {
                started.tried.clear();
                self.cycles = self.cycles.saturating_add(1);
                if let Kind::Random(_) = self.kind {
                    started.order = self.kind.order(&started.nodes);
                }
                started.best(&standing)?
            }
        };
        started.tried.insert(place);
        started.order.at(place).map(|node| node as usize)
    }
}

impl Kind {
    fn order(&mut self, nodes: &NodeList) -> Order {
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        match self {
            Self::Random(stream) => Order::new(count, Draws::Random(Stream::new(stream.next()))),
            Self::Seeded(hash) => Order::new(count, Draws::Seeded(Generator::new(*hash))),
            Self::Preferred(first) => {
                let mut taken = Places::default();
                let mut order = Vec::with_capacity(nodes.len());
                let first = first.iter().filter_map(|node| nodes.position(node)).map(|place| place as u32);
                for place in first.chain(0..count) {
                    if !taken.contains(place) {
                        taken.insert(place);
                        order.push(place);
                    }
                }
                Order::fixed(order, count)
            }
        }
    }
}

impl Started {
    /// The first untried place of the best standing.
    fn best(&mut self, standing: impl Fn(&NodeList, usize) -> Standing) -> Option<u32> {
        let mut best: Option<(Standing, u32)> = None;
        let mut place = 0;
        while let Some(node) = self.order.at(place) {
            if !self.tried.contains(place) {
                let now = standing(&self.nodes, node as usize);
                if now == Standing::Active {
                    return Some(place);
                }
                if now != Standing::Down && best.is_none_or(|(known, _)| now < known) {
                    best = Some((now, place));
                }
            }
            place += 1;
        }
        best.map(|(_, place)| place)
    }
}

/// The node that a key's requests go to first, as its place in the canonical order of `nodes` nodes.
#[must_use]
pub fn first_of(hash: i64, nodes: usize) -> Option<usize> {
    let bound = u32::try_from(nodes).ok().filter(|count| *count > 0)?;
    Some(Generator::new(hash).below(bound) as usize)
}
