//! Clusters as values.

use messina::topology::{NodeInfo, NodeList, Snapshot, Token};
use uuid::Uuid;

/// A node at 10.0.x.y with these tokens.
pub(crate) fn node(id: u32, datacenter: &str, rack: &str, tokens: impl IntoIterator<Item = i64>) -> NodeInfo {
    let mut node = NodeInfo::new(Uuid::from_u128(id.into()));
    let [.., high, low] = id.to_be_bytes();
    node.address = Some(([10, 0, high, low], 9042).into());
    node.datacenter = Some(datacenter.into());
    node.rack = Some(rack.into());
    node.tokens = tokens.into_iter().map(Token).collect();
    node
}

/// A snapshot of these nodes.
pub(crate) fn snapshot(nodes: Vec<NodeInfo>) -> Snapshot {
    Snapshot::new(NodeList::new(nodes), None)
}
