//! Who may not be at the other end of the control connection.

use std::{collections::HashMap, fmt, net::SocketAddr, sync::Arc};

use uuid::Uuid;

use super::{NodeInfo, Refusal, Topology};

/// Which nodes a session has to do with: `false` leaves one out, for connections and as control node alike.
pub type NodeFilter = Arc<dyn Fn(&NodeInfo) -> bool + Send + Sync>;

/// Tells of a server whether it is wanted as control node: the nodes that were removed, those that the node filter
/// leaves out, and those that are forced down are not.
///
/// It is asked as early as something is known: the address before the dial, the host id of SUPPORTED before the
/// login, the node's own row before it is registered with.
#[derive(Clone)]
pub(crate) struct Admission {
    topology: Topology,
    filter: Option<NodeFilter>,
    refused: Arc<[(Uuid, Refusal)]>,
    refused_at: Arc<HashMap<SocketAddr, (Uuid, Refusal)>>,
}

impl Admission {
    /// As things stand now; `by_address` also refuses the addresses of nodes that are left out or forced down.
    pub(crate) fn new(
        topology: &Topology,
        filter: Option<NodeFilter>,
        refuses: impl Fn(Uuid) -> Option<Refusal>,
        by_address: bool,
    ) -> Self {
        let snapshot = topology.snapshot();
        let mut refused = Vec::new();
        let mut refused_at = HashMap::new();
        for node in snapshot.nodes() {
            let down = refuses(node.host_id);
            refused.extend(down.map(|reason| (node.host_id, reason)));
            let ignored = filter.as_ref().is_some_and(|wanted| !wanted(node)).then_some(Refusal::Ignored);
            if let (Some(reason), Some(address), true) = (ignored.or(down), node.address, by_address) {
                refused_at.insert(address, (node.host_id, reason));
            }
        }
        Self { topology: topology.clone(), filter, refused: refused.into(), refused_at: Arc::new(refused_at) }
    }

    /// Whose address this is, if that node is not wanted.
    pub(crate) fn address(&self, addr: SocketAddr) -> Option<(Uuid, Refusal)> {
        self.refused_at.get(&addr).copied()
    }

    /// Why this host is not wanted, as far as its host id tells.
    pub(crate) fn host(&self, host_id: Uuid) -> Option<Refusal> {
        let known = || self.topology.load().node(host_id).is_some_and(|node| self.ignores(node));
        self.standing(host_id).or_else(|| known().then_some(Refusal::Ignored))
    }

    /// Why this node is not wanted, by what it says of itself now.
    pub(crate) fn node(&self, node: &NodeInfo) -> Option<Refusal> {
        self.standing(node.host_id).or_else(|| self.ignores(node).then_some(Refusal::Ignored))
    }

    fn standing(&self, host_id: Uuid) -> Option<Refusal> {
        if self.topology.was_removed(host_id) {
            return Some(Refusal::Removed);
        }
        self.refused.iter().find(|(refused, _)| *refused == host_id).map(|(_, reason)| *reason)
    }

    fn ignores(&self, node: &NodeInfo) -> bool {
        self.filter.as_ref().is_some_and(|wanted| !wanted(node))
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("filter", &self.filter.is_some())
            .field("refused", &self.refused)
            .field("refused_at", &self.refused_at)
            .finish_non_exhaustive()
    }
}
