//! Connections of a node, and the choice among nodes.

mod keeper;
mod node;
mod nodes;

pub(crate) use self::{
    keeper::{Keeper, Opener, Via},
    node::Node,
    nodes::Nodes,
};
