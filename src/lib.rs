#![doc = include_str!("../README.md")]

// From the left to the right: each module imports only from those above it.
mod table;
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
pub mod probe;
// Beside the line: imports nothing of CQL, and nothing imports it.
#[cfg(feature = "alternator")]
pub mod alternator;
#[cfg(feature = "testkit")]
pub mod testkit;
// Its code uses the test kit.
#[cfg(any(doc, all(doctest, feature = "testkit")))]
pub mod guide;

#[doc(inline)]
pub use self::{
    config::{HostIdCheck, IdentifiedFallback, PlainText, TlsSettings},
    error::Error,
    protocol::{Compression, ProtocolVersion},
    session::{Batch, Page, Prepared, Profile, Request, ResultSet, RowStream, Session, SessionBuilder, Statement},
};
/// The connect layers that a session is made of.
pub use messina_layers as layers;
/// A type that may be read from a row; add `#[scylla(crate = messina)]`.
pub use scylla_cql_core::DeserializeRow;
/// A type that may be read from a value, such as a user-defined type; add `#[scylla(crate = messina)]`.
pub use scylla_cql_core::DeserializeValue;
/// A type whose fields are the values of a statement; add `#[scylla(crate = messina)]`.
pub use scylla_cql_core::SerializeRow;
/// A type that may be sent as a value, such as a user-defined type; add `#[scylla(crate = messina)]`.
pub use scylla_cql_core::SerializeValue;
/// Reading rows and values: the traits behind the derive macros.
pub use scylla_cql_core::deserialize;
/// How many replicas must take part in a request.
pub use scylla_cql_core::frame::types::{Consistency, SerialConsistency};
/// Writing the values of a statement: the traits behind the derive macros.
pub use scylla_cql_core::serialize;
/// CQL values that Rust has no type for, and rows whose types are not known beforehand.
pub use scylla_cql_core::value;
// What the derive macros name.
#[doc(hidden)]
pub use scylla_cql_core::_macro_internal;
