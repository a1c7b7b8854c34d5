//! The cluster as immutable values.

mod node_info;

pub use self::node_info::NodeInfo;
