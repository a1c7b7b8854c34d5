//! Connections of a node, and the choice among nodes.

mod keeper;
mod node;
mod nodes;

pub(crate) use self::{keeper::Keeper, node::Node, nodes::Nodes};
