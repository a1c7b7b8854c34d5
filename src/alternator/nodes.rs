//! A list of nodes that never changes: each node once, in canonical order.

use std::ops::Index;

use super::node::Node;

/// Nodes in canonical order, none twice; of several spellings the first one given is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeList(Box<[Node]>);

impl NodeList {
    /// No node.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The nodes in canonical order.
    pub fn iter(&self) -> std::slice::Iter<'_, Node> {
        self.0.iter()
    }

    /// The place of a node in the canonical order.
    #[must_use]
    pub fn position(&self, node: &Node) -> Option<usize> {
        self.0.binary_search(node).ok()
    }

    /// Whether the node is in the list.
    #[must_use]
    pub fn contains(&self, node: &Node) -> bool {
        self.position(node).is_some()
    }
}

impl FromIterator<Node> for NodeList {
    fn from_iter<I: IntoIterator<Item = Node>>(nodes: I) -> Self {
        let mut nodes: Vec<Node> = nodes.into_iter().collect();
        // The sort is stable, so that the first spelling of several comes first.
        nodes.sort();
        nodes.dedup();
        Self(nodes.into())
    }
}

impl<'a> IntoIterator for &'a NodeList {
    type Item = &'a Node;
    type IntoIter = std::slice::Iter<'a, Node>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Index<usize> for NodeList {
    type Output = Node;

    fn index(&self, place: usize) -> &Node {
        &self.0[place]
    }
}
