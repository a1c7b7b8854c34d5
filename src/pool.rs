//! Connections of a node, and the choice among nodes.

mod choice;
mod doubt;
mod filling;
mod gate;
mod keeper;
mod live;
mod node;
mod nodes;
mod open;
mod routing;
mod state;
mod tablets;
mod view;

pub use self::state::{ConnectionState, NodeState, Purpose, Standing};
pub(crate) use self::{
    keeper::Keeper,
    node::Node,
    nodes::Nodes,
    routing::{Replicas, Routing, Wanted},
    tablets::TableTablets,
    view::View,
};
