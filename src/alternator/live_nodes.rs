//! The nodes that requests may go to, and how a cycle of discovery changes them.

use std::{collections::HashSet, fmt, sync::Arc};

use super::{
    discovery::{Finding, Verdict},
    node::Node,
    nodes::NodeList,
    scope::{Scope, ScopeChain},
};

/// How many hosts are remembered that requests do not go to.
const REMEMBERED: usize = 64;
/// After how many cycles in a row without an answer such a host is forgotten.
const PATIENCE: u32 = 300;

/// Where the list of nodes comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Nothing is discovered yet: the seeds, or no node where the chain of scopes is strict.
    Start,
    /// A scope has these nodes.
    Scope(Scope),
    /// Nobody answers: the nodes last known and the seeds.
    LastResort,
    /// Every scope of a strict chain is without nodes, as those say that were asked.
    Cleared,
}

#[derive(Clone, Debug)]
struct Remembered {
    node: Node,
    silent: u32,
}

/// A snapshot of the live nodes; [`apply`](Self::apply) makes the next one.
///
/// Seeds are where discovery starts. They take requests only before anything is discovered, and when nobody known
/// answers; with a strict chain of scopes never, because nobody knows which scope they are of.
#[derive(Clone, Debug)]
pub struct LiveNodes {
    routing: Arc<NodeList>,
    /// What a cycle listed last; without seeds.
    known: Arc<NodeList>,
    basis: Basis,
    seeds: Arc<NodeList>,
    strict: bool,
    remembered: Vec<Remembered>,
    sequence: u64,
}

/// What an update changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Nodes that requests go to from now on.
    pub added: Vec<Node>,
    /// Nodes that requests no longer go to.
    pub removed: Vec<Node>,
    /// Those among the nodes that have to prove themselves anew: they come back after a failure, or are a last resort.
    pub quarantined: Vec<Node>,
    /// Whether the list has another basis than before.
    pub rebased: bool,
}

impl LiveNodes {
    /// Before any discovery.
    #[must_use]
    pub fn new(seeds: impl IntoIterator<Item = Node>, chain: &ScopeChain) -> Self {
        let seeds: Arc<NodeList> = Arc::new(seeds.into_iter().collect());
        let strict = !chain.allows_cluster();
        let routing = if strict { Arc::default() } else { Arc::clone(&seeds) };
        Self { routing, known: Arc::default(), basis: Basis::Start, seeds, strict, remembered: Vec::new(), sequence: 0 }
    }

    /// The nodes that requests may go to.
    #[must_use]
    pub fn routing(&self) -> &Arc<NodeList> {
        &self.routing
    }

    /// Where they come from.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The nodes that a cycle listed last.
    #[must_use]
    pub fn known(&self) -> &NodeList {
        &self.known
    }

    /// Hosts to ask in the next cycle that requests do not go to: those that answered without being listed, and those
    /// that failed.
    pub fn remembered(&self) -> impl Iterator<Item = &Node> {
        self.remembered.iter().map(|host| &host.node)
    }

    /// Why there is no node, if there is none: an error to give without asking anybody.
    #[must_use]
    pub fn no_route(&self) -> Option<NoRoute> {
        self.routing.is_empty().then_some(match self.basis {
            Basis::Cleared => NoRoute::Empty,
            _ => NoRoute::Undiscovered,
        })
    }

    /// The next snapshot, and what is other in it; `None` if a later cycle was applied already.
    #[must_use]
    pub fn apply(&self, verdict: &Verdict) -> Option<(Self, Change)> {
        if verdict.sequence < self.sequence {
            return None;
        }
        let mut next = self.clone();
        next.sequence = verdict.sequence;
        let mut quarantined = Vec::new();
        match &verdict.finding {
            Finding::Nodes { scope, nodes, partial } => {
                next.known = Arc::new(self.merged(nodes, *partial, verdict));
                next.routing = Arc::clone(&next.known);
                next.basis = Basis::Scope(scope.clone());
                quarantined.extend(self.remembered.iter().filter(|host| host.silent > 0).map(|host| host.node.clone()));
                quarantined.retain(|node| next.known.contains(node));
            }
            Finding::Empty => {
                next.known = Arc::default();
                next.routing = Arc::default();
                next.basis = Basis::Cleared;
            }
            Finding::Silence if !self.strict => {
                next.routing = Arc::new(self.known.iter().chain(self.seeds.iter()).cloned().collect());
                next.basis = Basis::LastResort;
                if self.basis != Basis::LastResort {
                    quarantined.extend(self.seeds.iter().filter(|seed| !self.known.contains(seed)).cloned());
                }
            }
            Finding::Silence | Finding::Unclear => {}
        }
        next.remember(self, verdict);
        let missing = |from: &NodeList, to: &NodeList| from.iter().filter(|node| !to.contains(node)).cloned().collect();
        let change = Change {
            added: missing(&next.routing, &self.routing),
            removed: missing(&self.routing, &next.routing),
            quarantined,
            rebased: next.basis != self.basis,
        };
        Some((next, change))
    }

    /// The nodes listed and, if somebody gave no list, those known before of whom nothing was heard.
    ///
    /// Who failed is left out, and who answered without being listed by anybody, since it leaves or joins.
    fn merged(&self, nodes: &[Node], partial: bool, verdict: &Verdict) -> NodeList {
        let heard = |node: &Node| verdict.failed.contains(node) || verdict.answered.contains(node);
        let before = self.known.iter().filter(|node| partial && !heard(node));
        nodes.iter().chain(before).cloned().collect()
    }

    fn remember(&mut self, before: &Self, verdict: &Verdict) {
        let was = before.known.iter().filter(|node| verdict.failed.contains(*node));
        let mut hosts: Vec<Remembered> =
            verdict.answered.iter().chain(was).map(|node| Remembered { node: node.clone(), silent: 0 }).collect();
        hosts.sort_by(|a, b| a.node.cmp(&b.node));
        hosts.extend(before.remembered.iter().cloned());
        let mut seen = HashSet::new();
        hosts.retain_mut(|host| {
            let silent = before.remembered.iter().find(|old| old.node == host.node).map_or(0, |old| old.silent);
            host.silent = if verdict.answered.contains(&host.node) {
                0
            } else {
                silent + u32::from(verdict.failed.contains(&host.node))
            };
            !self.known.contains(&host.node) && host.silent <= PATIENCE && seen.insert(host.node.clone())
        });
        hosts.truncate(REMEMBERED);
        self.remembered = hosts;
    }
}

/// There is no node that a request may go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoRoute {
    /// Nobody asked has told the nodes of the scopes yet.
    Undiscovered,
    /// Those asked say that the scopes are without nodes.
    Empty,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Undiscovered => {
                "no node is known in the scopes that requests may go to: none of those asked has told any"
            }
            Self::Empty => "the scopes that requests may go to are without nodes, as the nodes asked say",
        })
    }
}

impl std::error::Error for NoRoute {}
