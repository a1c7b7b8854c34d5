//! The nodes that requests choose from.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arc_swap::ArcSwap;
use uuid::Uuid;

use super::Node;

/// The nodes of the cluster; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    nodes: ArcSwap<Vec<Arc<Node>>>,
    turn: AtomicUsize,
}

impl Nodes {
    /// Replaces the list.
    pub(crate) fn replace(&self, nodes: Vec<Arc<Node>>) {
        self.shared.nodes.store(Arc::new(nodes));
    }

    /// All nodes.
    pub(crate) fn all(&self) -> Arc<Vec<Arc<Node>>> {
        self.shared.nodes.load_full()
    }

    /// The lesser loaded of two connected nodes that are not among `tried`.
    pub(crate) fn pick(&self, tried: &[Uuid]) -> Option<Arc<Node>> {
        let nodes = self.shared.nodes.load();
        let start = self.shared.turn.fetch_add(1, Ordering::Relaxed);
        let mut best: Option<(usize, &Arc<Node>)> = None;
        let mut seen = 0;
        for i in 0..nodes.len() {
            let node = &nodes[(start.wrapping_add(i)) % nodes.len()];
            if tried.contains(&node.host_id()) {
                continue;
            }
            let Some(connection) = node.connection() else { continue };
            let load = connection.in_flight();
            if best.is_none_or(|(least, _)| load < least) {
                best = Some((load, node));
            }
            seen += 1;
            if seen == 2 {
                break;
            }
        }
        best.map(|(_, node)| Arc::clone(node))
    }
}
