//! A client stack for ScyllaDB and Apache Cassandra whose connecting is an ordinary tower service.

pub mod config;
#[doc(hidden)]
pub mod connection;
mod control;
pub mod endpoint;
pub mod error;
pub mod establish;
pub mod metrics;
pub mod policy;
mod pool;
#[doc(hidden)]
pub mod protocol;
pub mod session;
#[cfg(feature = "testkit")]
pub mod testkit;
pub mod topology;
