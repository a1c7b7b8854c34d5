//! The cluster as immutable values.
