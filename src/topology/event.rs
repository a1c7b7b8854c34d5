//! What happens to a session.

use std::{fmt, net::SocketAddr, sync::Arc};

use messina_layers::{ConnectError, FailedAttempt, HostAddr};
use uuid::Uuid;

use crate::endpoint::Endpoint;

/// Something happened to the cluster, or to the session's way into it.
///
/// Contact points are no nodes: they never appear in a node event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionEvent {
    /// A node is part of the cluster that was not.
    NodeAdded {
        /// The node.
        host_id: Uuid,
        /// How it is dialled.
        endpoint: Endpoint,
    },
    /// A node is not part of the cluster any more.
    NodeRemoved {
        /// The node.
        host_id: Uuid,
        /// How it was dialled.
        endpoint: Endpoint,
    },
    /// A node is dialled in another way than before.
    NodeMoved {
        /// The node.
        host_id: Uuid,
        /// How it was dialled.
        from: Endpoint,
        /// How it is dialled from now on.
        to: Endpoint,
    },
    /// A node has a connection that it had not.
    NodeUp {
        /// The node.
        host_id: Uuid,
    },
    /// A node has no connection any more, or could not be connected to.
    NodeDown {
        /// The node.
        host_id: Uuid,
    },
    /// A control connection was accepted.
    ControlConnected {
        /// The node at its other end.
        host_id: Uuid,
        /// The address that answered.
        addr: SocketAddr,
    },
    /// The control connection was lost; another one is looked for.
    ControlLost {
        /// The node at its other end.
        host_id: Uuid,
    },
    /// Every address of a contact point failed.
    ContactPointFailed {
        /// The contact point, as it was written.
        name: Arc<str>,
        /// The attempts, in dial order; none if the name could not be looked up.
        attempts: Arc<[FailedAttempt]>,
        /// The whole story.
        error: Arc<ConnectError>,
    },
    /// A connection was not adopted as control connection because of who answered.
    CandidateRefused {
        /// Who answered.
        host_id: Uuid,
        /// Why it is not wanted.
        reason: Refusal,
    },
    /// The address that a node is held to changed.
    PinChanged {
        /// The node.
        host_id: Uuid,
        /// The address before, if it was held to one.
        from: Option<HostAddr>,
        /// The address from now on, if it is held to one.
        to: Option<HostAddr>,
    },
    /// This many events were lost to this listener, which was too slow.
    Missed {
        /// Their number.
        events: u64,
    },
}

/// Why a node is not wanted at the other end of the control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The cluster removed it.
    Removed,
    /// The node filter leaves it out.
    Ignored,
    /// It is forced down: another cluster, or a version that it does not speak.
    ForcedDown,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Removed => "the cluster removed it",
            Self::Ignored => "the node filter leaves it out",
            Self::ForcedDown => "it is forced down",
        })
    }
}

impl fmt::Display for SessionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeAdded { host_id, endpoint } => write!(f, "node {host_id} was added at {endpoint}"),
            Self::NodeRemoved { host_id, endpoint } => write!(f, "node {host_id} at {endpoint} was removed"),
            Self::NodeMoved { host_id, from, to } => write!(f, "node {host_id} moved from {from} to {to}"),
            Self::NodeUp { host_id } => write!(f, "node {host_id} is up"),
            Self::NodeDown { host_id } => write!(f, "node {host_id} is down"),
            Self::ControlConnected { host_id, addr } => write!(f, "control connection to node {host_id} at {addr}"),
            Self::ControlLost { host_id } => write!(f, "control connection to node {host_id} lost"),
            Self::ContactPointFailed { name, error, .. } => write!(f, "contact point {name} failed: {error}"),
            Self::CandidateRefused { host_id, reason } => write!(f, "node {host_id} was not adopted: {reason}"),
            Self::PinChanged { host_id, from, to } => {
                let shown = |pin: &Option<HostAddr>| pin.map_or_else(|| "none".to_owned(), |pin| pin.to_string());
                write!(f, "the pin of node {host_id} changed from {} to {}", shown(from), shown(to))
            }
            Self::Missed { events } => write!(f, "{events} events were missed"),
        }
    }
}
