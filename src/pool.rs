//! Connections of a node.
