//! The cluster at one moment.

use std::{cmp::Ordering, net::SocketAddr, sync::Arc};

use messina_layers::{Address, Dial, HostAddr};
use tokio::time::Instant;
use uuid::Uuid;

use super::{NodeIndex, NodeInfo, NodeList, SessionEvent, Skipped, TokenRing};
use crate::endpoint::Endpoint;

/// The cluster at one moment, as one node told it. It never changes.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    nodes: Vec<Arc<NodeInfo>>,
    ring: TokenRing,
    skipped: Vec<Skipped>,
    ignored: Vec<Uuid>,
    cluster_name: Option<String>,
    partitioner: Option<String>,
    told: Option<Told>,
}

/// Who told a snapshot, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Told {
    /// The node at the other end of the control connection.
    pub host_id: Uuid,
    /// The address that the connection leads to.
    pub addr: SocketAddr,
    /// When the last row was read.
    pub at: Instant,
}

impl Told {
    /// This node told it, just now.
    #[must_use]
    pub fn now(host_id: Uuid, addr: SocketAddr) -> Self {
        Self { host_id, addr, at: Instant::now() }
    }
}

impl Snapshot {
    /// The nodes of a list; those without an endpoint, and the second of two with the same host id, are skipped.
    #[must_use]
    pub fn new(list: NodeList, told: Option<Told>) -> Self {
        let NodeList { nodes, mut skipped, .. } = list;
        let cluster_name = nodes.iter().find_map(|node| node.cluster_name.clone());
        let partitioner = nodes.iter().find_map(|node| node.partitioner.clone());
        let mut nodes: Vec<_> = nodes.into_iter().map(Arc::new).collect();
        nodes.sort_by_key(|node| node.host_id);
        nodes.dedup_by(|later, earlier| {
            let twice = later.host_id == earlier.host_id;
            if twice {
                let value = later.host_id;
                skipped.push(Skipped::new("nodes", value, "host_id", value, "the host id is listed twice"));
            }
            twice
        });
        nodes.retain(|node| {
            let dialled = node.endpoint().is_some();
            if !dialled {
                let reason = "no address that could be dialled";
                skipped.push(Skipped::new("nodes", node.host_id, "native_address", "null", reason));
            }
            dialled
        });
        let murmur3 = partitioner.as_deref().is_none_or(|class| class.ends_with("Murmur3Partitioner"));
        let mut owned = Vec::with_capacity(nodes.iter().map(|node| node.tokens.len()).sum());
        // The tokens of another partitioner are no numbers of 64 bits, and nobody can compute a key's here.
        for (index, node) in (0..).map(NodeIndex).zip(&nodes).filter(|_| murmur3) {
            owned.extend(node.tokens.iter().map(|token| (*token, index)));
            let reason = "no token of the Murmur3 partitioner";
            skipped
                .extend(node.odd_tokens.iter().map(|odd| Skipped::new("nodes", node.host_id, "tokens", odd, reason)));
        }
        let (ring, ignored) = (TokenRing::new(owned), Vec::new());
        Self { nodes, ring, skipped, ignored, cluster_name, partitioner, told }
    }

    /// The same, where the session has nothing to do with the nodes that the filter leaves out.
    #[must_use]
    pub fn filtered(mut self, wanted: impl Fn(&NodeInfo) -> bool) -> Self {
        self.ignored = self.nodes.iter().filter(|node| !wanted(node)).map(|node| node.host_id).collect();
        self
    }

    /// The same, where nodes that have not changed are those of an earlier snapshot: kept once, however often they
    /// are read.
    pub(crate) fn sharing(mut self, before: &Self) -> Self {
        for node in &mut self.nodes {
            if let Some(old) = before.node(node.host_id).filter(|old| *old == node) {
                *node = Arc::clone(old);
            }
        }
        self
    }

    /// Whether the node filter leaves this node out: it is known, and never connected to.
    #[must_use]
    pub fn is_ignored(&self, host_id: Uuid) -> bool {
        self.ignored.binary_search(&host_id).is_ok()
    }

    /// The nodes, sorted by host id.
    #[must_use]
    pub fn nodes(&self) -> &[Arc<NodeInfo>] {
        &self.nodes
    }

    /// The node with this host id.
    #[must_use]
    pub fn node(&self, host_id: Uuid) -> Option<&Arc<NodeInfo>> {
        self.nodes.get(self.index(host_id)?.get())
    }

    /// The place of the node with this host id.
    #[must_use]
    pub fn index(&self, host_id: Uuid) -> Option<NodeIndex> {
        let place = self.nodes.binary_search_by_key(&host_id, |node| node.host_id).ok()?;
        u32::try_from(place).ok().map(NodeIndex)
    }

    /// The node at this place.
    #[must_use]
    pub fn at(&self, index: NodeIndex) -> Option<&Arc<NodeInfo>> {
        self.nodes.get(index.get())
    }

    /// The token ring; empty where the partitioner is not Murmur3.
    #[must_use]
    pub fn ring(&self) -> &TokenRing {
        &self.ring
    }

    /// What of the node list is not used, with the reason.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// The cluster's name, if it was told.
    #[must_use]
    pub fn cluster_name(&self) -> Option<&str> {
        self.cluster_name.as_deref()
    }

    /// The partitioner's class name, if it was told.
    #[must_use]
    pub fn partitioner(&self) -> Option<&str> {
        self.partitioner.as_deref()
    }

    /// Who told it, and when; `None` before anything was read.
    #[must_use]
    pub fn told(&self) -> Option<Told> {
        self.told
    }

    /// Which nodes came, went and moved since an earlier snapshot.
    pub(crate) fn changes_since(&self, before: &Self) -> Vec<SessionEvent> {
        let (mut old, mut new) = (before.nodes.iter().peekable(), self.nodes.iter().peekable());
        let mut changes = Vec::new();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return changes,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.host_id.cmp(&new.host_id),
            };
            let gone = if order.is_le() { old.next() } else { None };
            let come = if order.is_ge() { new.next() } else { None };
            match (gone, come) {
                (Some(gone), Some(come)) => moved(gone, come, &mut changes),
                (Some(gone), None) => changes.extend(
                    gone.endpoint().map(|endpoint| SessionEvent::NodeRemoved { host_id: gone.host_id, endpoint }),
                ),
                (None, Some(come)) => changes.extend(
                    come.endpoint().map(|endpoint| SessionEvent::NodeAdded { host_id: come.host_id, endpoint }),
                ),
                (None, None) => {}
            }
        }
    }
}

fn moved(old: &NodeInfo, new: &NodeInfo, changes: &mut Vec<SessionEvent>) {
    let (Some(from), Some(to)) = (old.endpoint(), new.endpoint()) else { return };
    if from == to {
        return;
    }
    let host_id = new.host_id;
    let (old_pin, new_pin) = (pin(&from), pin(&to));
    changes.push(SessionEvent::NodeMoved { host_id, from, to });
    if old_pin != new_pin {
        changes.push(SessionEvent::PinChanged { host_id, from: old_pin, to: new_pin });
    }
}

/// A node that is dialled at an address is held to it.
fn pin(endpoint: &Endpoint) -> Option<HostAddr> {
    match endpoint.address() {
        Address::Socket(addr) => Some(addr.into()),
        Address::Name(..) => None,
    }
}
