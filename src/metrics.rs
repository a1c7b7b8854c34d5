//! What a session counts: names as documented constants, and the handles that count.
//!
//! Everything goes to the recorder of the `metrics` crate that is in force when a session is built. [`ALL`] lists every
//! series with its kind, unit and labels. Names can be told apart per application by a [prefix](Naming::prefix) and per
//! session by a [label](Naming::session). What one connect does address by address is counted by the layers, under the
//! names in [`messina_layers::metrics`]. The Alternator client counts for itself, under the names in [`ALTERNATOR`].
//!
//! A node's series are labelled by its host id and by nothing else, so that neither a pin, nor a refresh, nor a new
//! address starts another one. What a node is called stands in [`NODE_INFO`], the only series with an address. Gauges
//! are sums: two sessions of one process add up, and what a session added goes when it ends.

#[cfg(feature = "alternator")]
mod alternator;
mod connection;
mod control;
mod names;
mod naming;
mod node;
mod session;

#[cfg(feature = "alternator")]
pub(crate) use self::alternator::{AlternatorMetrics, AttemptEnd};
pub(crate) use self::{
    connection::{ConnectionMetrics, Traffic},
    control::ControlMetrics,
    node::{NodeMetrics, TryClass},
    session::{ConnectMetrics, Rejection, SessionMetrics},
};
pub use self::{names::*, naming::Naming};
