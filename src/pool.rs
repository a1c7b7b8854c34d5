//! Connections of a node, and the choice among nodes.

mod node;
mod nodes;

pub(crate) use self::{node::Node, nodes::Nodes};
