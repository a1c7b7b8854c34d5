//! The harness: clusters of real Cassandra nodes, started when a test asks for them and ended with the run.

pub(crate) mod case;
pub(crate) mod cluster;
pub(crate) mod files;
pub(crate) mod jars;
pub(crate) mod load;
pub(crate) mod log;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod pki;
pub(crate) mod process;
pub(crate) mod raw;
pub(crate) mod registry;
pub(crate) mod relay;
pub(crate) mod spec;
pub(crate) mod tools;
pub(crate) mod trace;
pub(crate) mod way;
