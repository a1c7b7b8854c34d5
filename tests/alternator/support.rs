//! Nodes and plans in few words.

use std::sync::Arc;

use messina::alternator::{
    node::Node,
    nodes::NodeList,
    plan::{QueryPlan, Standing},
};

pub(crate) fn node(url: &str) -> Node {
    url.parse().unwrap()
}

/// `node1.example.com` to `nodeN.example.com` at a port.
pub(crate) fn numbered(count: usize, port: u16) -> Arc<NodeList> {
    Arc::new((1..=count).map(|i| node(&format!("http://node{i}.example.com:{port}"))).collect())
}

/// The number in a name that [`numbered`] made.
pub(crate) fn number(node: &Node) -> usize {
    let host = node.address().host();
    host.strip_prefix("node").unwrap().split('.').next().unwrap().parse().unwrap()
}

/// The next `count` picks where every node answers.
pub(crate) fn picks(plan: &mut QueryPlan, nodes: &Arc<NodeList>, count: usize) -> Vec<Node> {
    (0..count).map(|_| plan.pick(|| Arc::clone(nodes), |_| Standing::Active).unwrap().clone()).collect()
}

pub(crate) fn numbers(plan: &mut QueryPlan, nodes: &Arc<NodeList>, count: usize) -> Vec<usize> {
    picks(plan, nodes, count).iter().map(number).collect()
}
