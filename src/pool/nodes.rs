//! The nodes that requests choose from.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arc_swap::ArcSwap;
use tokio::sync::Notify;
use uuid::Uuid;

use super::Node;
use crate::connection::Connection;

/// The nodes of the cluster; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    nodes: ArcSwap<Vec<Arc<Node>>>,
    turn: AtomicUsize,
    changed: Notify,
}

impl Nodes {
    /// Replaces the list.
    pub(crate) fn replace(&self, nodes: Vec<Arc<Node>>) {
        self.shared.nodes.store(Arc::new(nodes));
        self.tell();
    }

    /// All nodes.
    pub(crate) fn all(&self) -> Arc<Vec<Arc<Node>>> {
        self.shared.nodes.load_full()
    }

    /// Tells those who wait that a connection came, went or failed.
    pub(super) fn tell(&self) {
        self.shared.changed.notify_waiters();
    }

    /// Waits until `ready` gives something, looked at after each change. Wants a limit around it.
    pub(crate) async fn wait_for<R>(&self, ready: impl Fn(&[Arc<Node>]) -> Option<R>) -> R {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            // Registered before looking, so that no change falls in between.
            changed.as_mut().enable();
            if let Some(result) = ready(&self.all()) {
                return result;
            }
            changed.await;
        }
    }

    /// Waits until a node has a connection, or every node is known not to get one soon; answers which.
    ///
    /// A connection that was lost is opened again at once, so this ends within the limits of one connect.
    pub(crate) async fn wait_for_connection(&self) -> bool {
        self.wait_for(|nodes| {
            if nodes.iter().any(|node| node.connection().is_some()) {
                Some(true)
            } else if nodes.iter().all(|node| node.was_tried()) {
                Some(false)
            } else {
                None
            }
        })
        .await
    }

    /// Whether a node is about to get its connection.
    pub(crate) fn any_opening(&self) -> bool {
        self.shared.nodes.load().iter().any(|node| !node.was_tried())
    }

    /// The lesser loaded of two connected nodes that are not among `tried`, with its connection.
    ///
    /// Nodes of the preferred data centre come first; the others are asked only while none of them is connected.
    pub(crate) fn pick(&self, tried: &[Uuid]) -> Option<(Arc<Node>, Arc<Connection>)> {
        let nodes = self.shared.nodes.load();
        let start = self.shared.turn.fetch_add(1, Ordering::Relaxed);
        let best = lesser_loaded(&nodes, start, tried, true).or_else(|| lesser_loaded(&nodes, start, tried, false))?;
        match best.connection() {
            Some(connection) => Some((Arc::clone(best), connection)),
            // It ended a moment ago, and its node has not been told: any other will do.
            None => nodes.iter().find_map(|node| {
                let fresh = !tried.contains(&node.host_id());
                Some((Arc::clone(node), node.connection().filter(|_| fresh)?))
            }),
        }
    }
}

/// The lesser loaded of two connected nodes, counted from `start` on.
fn lesser_loaded<'a>(nodes: &'a [Arc<Node>], start: usize, tried: &[Uuid], local: bool) -> Option<&'a Arc<Node>> {
    let count = nodes.len();
    let mut best: Option<(usize, &Arc<Node>)> = None;
    for i in 0..count {
        let node = &nodes[start.wrapping_add(i) % count];
        if node.is_local() != local || tried.contains(&node.host_id()) {
            continue;
        }
        let Some(load) = node.load() else { continue };
        let second = best.is_some();
        if best.is_none_or(|(least, _)| load < least) {
            best = Some((load, node));
        }
        if second {
            break;
        }
    }
    best.map(|(_, node)| node)
}
