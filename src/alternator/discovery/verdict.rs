//! What a cycle has found out.

use std::collections::HashSet;

use crate::alternator::{node::Node, scope::Scope};

/// The end of a cycle, or what is known on the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Which cycle it is of.
    pub sequence: u64,
    /// What it found.
    pub finding: Finding,
    /// The hosts that answered at last: this proves life as a probe does.
    pub answered: HashSet<Node>,
    /// The hosts that failed at last.
    pub failed: HashSet<Node>,
}

/// What a cycle found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Nodes to send requests to; those that failed in this cycle are left out.
    Nodes {
        /// The scope they are of.
        scope: Scope,
        /// The nodes, in no order.
        nodes: Vec<Node>,
        /// Whether somebody who was asked gave no list, so that nodes may be missing.
        partial: bool,
    },
    /// Everybody who could be reached says that none of the scopes has a node, and the chain ends there.
    Empty,
    /// Nobody answered.
    Silence,
    /// Somebody answered, but nothing that could be used: what is known stays.
    Unclear,
}

impl Finding {
    /// Its word in the metrics.
    pub(in crate::alternator) const fn as_str(&self) -> &'static str {
        match self {
            Self::Nodes { .. } => "nodes",
            Self::Empty => "empty",
            Self::Silence => "silence",
            Self::Unclear => "unclear",
        }
    }
}
