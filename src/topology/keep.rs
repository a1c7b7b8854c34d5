//! When a node list is poorer than what is known: what of the old one stays.

use std::{collections::HashMap, sync::Arc};

use uuid::Uuid;

use super::{NodeList, Snapshot};

/// What to do with a node list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is the cluster.
    Use,
    /// It names nobody but the node that tells it, though others answer: what is known stays.
    Keep,
}

impl NodeList {
    /// Compares the list with what is known.
    ///
    /// Some servers list no peers for a while after their start, and some no tokens. A list without peers is not
    /// believed while a node that it lacks is `alive`; if no node has tokens, those that are known stay.
    pub(crate) fn against(&mut self, known: &Snapshot, alive: impl Fn(Uuid) -> bool) -> Verdict {
        if self.nodes.len() <= 1 && known.nodes().len() > 1 {
            let told = |host_id| self.nodes.iter().any(|node| node.host_id == host_id);
            let mut missing = known.nodes().iter().filter(|node| !told(node.host_id));
            if missing.any(|node| alive(node.host_id)) {
                return Verdict::Keep;
            }
        }
        if !known.ring().is_empty() && self.nodes.iter().all(|node| node.tokens.is_empty()) {
            let mut old: HashMap<_, _> = known.nodes().iter().map(|node| (node.host_id, &node.tokens)).collect();
            for node in &mut self.nodes {
                if let Some(tokens) = old.remove(&node.host_id) {
                    node.tokens = Arc::clone(tokens);
                }
            }
        }
        Verdict::Use
    }
}
