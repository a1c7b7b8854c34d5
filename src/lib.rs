//! A client stack for ScyllaDB and Apache Cassandra whose connecting is an ordinary tower service.

// From the left to the right: each module imports only from those above it.
pub mod error;
pub mod metrics;
#[doc(hidden)]
pub mod protocol;
#[doc(hidden)]
pub mod connection;
pub mod endpoint;
pub mod topology;
pub mod policy;
pub mod config;
pub mod establish;
mod control;
mod pool;
pub mod session;
#[cfg(feature = "testkit")]
pub mod testkit;

#[doc(inline)]
pub use self::{error::Error, session::Session};
/// The connect layers that a session is made of.
pub use messina_layers as layers;
