//! The cluster as immutable values, and who brings them.
//!
//! A [`Snapshot`] holds every node, keyed by host id, the token ring over them, and the rows that could not be used
//! with the reason why. [`Topology`] is the handle by which a session, its pools and an application read the newest
//! one without a lock. A [`TopologyMonitor`] reads the nodes from a control connection, and may be replaced.

mod admission;
mod agreement;
mod bus;
mod event;
mod handle;
mod keep;
mod monitor;
mod murmur3;
mod node_info;
mod replicas;
mod ring;
mod row;
pub mod schema;
mod skipped;
mod snapshot;
mod system;
mod tablets;

pub(crate) use self::{admission::Admission, keep::Verdict, tablets::TABLET_PAYLOAD};
pub use self::{
    admission::NodeFilter,
    agreement::SchemaAgreement,
    bus::{EventBus, SessionEvents},
    event::{Refusal, SessionEvent},
    handle::Topology,
    monitor::{BoxIdentity, BoxNodes, Cause, IdentityRequest, NodeList, NodesRequest, Reaction, TopologyMonitor},
    murmur3::Murmur3,
    node_info::NodeInfo,
    replicas::{ReplicaSets, Strategy},
    ring::{NodeIndex, Token, TokenRing},
    row::RowError,
    skipped::Skipped,
    snapshot::{Snapshot, Told},
    system::{SystemLocal, SystemTables},
    tablets::{Tablet, TabletError, Tablets},
};
