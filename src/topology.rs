//! The cluster as immutable values.

mod node_info;
mod row;

pub use self::{node_info::NodeInfo, row::RowError};
