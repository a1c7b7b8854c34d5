//! The health of all nodes ever listed.

use std::collections::HashMap;

use tokio::time::Instant;

use super::{Health, Outcome, State, Thresholds};
use crate::alternator::{node::Node, nodes::NodeList, plan::Standing};

/// How many nodes that are no longer listed are remembered.
const REMEMBERED: usize = 10_000;

/// A node that went from one state to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The node.
    pub node: Node,
    /// The state it left.
    pub from: State,
    /// The state it is in.
    pub to: State,
}

/// The health of each node, kept while a node is not listed, so that one that comes back does not start afresh.
///
/// A node is unknown until [`listed`](Self::listed) first names it, and then quarantined. With health switched off
/// every node counts as active.
#[derive(Clone, Debug)]
pub struct Book {
    thresholds: Thresholds,
    enabled: bool,
    entries: HashMap<Node, Health>,
}

impl Book {
    /// An empty book.
    #[must_use]
    pub fn new(thresholds: Thresholds) -> Self {
        Self { thresholds, enabled: true, entries: HashMap::new() }
    }

    /// A book that lets every node count as active.
    #[must_use]
    pub fn disabled() -> Self {
        Self { enabled: false, ..Self::new(Thresholds::default()) }
    }

    /// Whether health is watched at all.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The health of a node, unless it was never listed.
    #[must_use]
    pub fn health(&self, node: &Node) -> Option<&Health> {
        self.entries.get(node)
    }

    /// How a node ranks in a query plan at this moment.
    #[must_use]
    pub fn standing(&self, node: &Node, now: Instant) -> Standing {
        if !self.enabled {
            return Standing::Active;
        }
        self.entries.get(node).map_or(Standing::Quarantined, |health| health.standing(now))
    }

    /// Takes in the nodes of a new list; gives those to probe at once, because they have yet to prove themselves.
    pub fn listed(&mut self, nodes: &NodeList, now: Instant) -> Vec<Node> {
        let mut fresh = Vec::new();
        for node in nodes {
            if !self.entries.contains_key(node) {
                self.entries.insert(node.clone(), Health::quarantined(now));
                fresh.push(node.clone());
            }
        }
        if self.entries.len() > nodes.len().saturating_add(REMEMBERED) {
            self.entries.retain(|node, _| nodes.contains(node));
        }
        fresh
    }

    /// Puts nodes into quarantine that are listed as a last resort only; those that are down stay down.
    pub fn quarantine(&mut self, nodes: &NodeList, now: Instant) {
        for node in nodes {
            self.entries.entry(node.clone()).or_insert_with(|| Health::quarantined(now)).quarantine(now);
        }
    }

    /// What an attempt has to note at its start.
    #[must_use]
    pub fn generation(&self, node: &Node) -> u64 {
        self.entries.get(node).map_or(0, Health::generation)
    }

    /// Takes in how an attempt or probe ended that began in `generation`.
    pub fn record(&mut self, node: &Node, outcome: Outcome, generation: u64, now: Instant) -> Option<Moved> {
        let health = self.entries.get_mut(node)?;
        let from = health.record(outcome, generation, &self.thresholds, now)?;
        Some(Moved { node: node.clone(), from, to: health.state() })
    }
}
