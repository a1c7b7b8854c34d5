//! Who tells the nodes of a cluster, and how each is dialled.

use std::{fmt, sync::Arc, time::Duration};

use messina_layers::error::BoxError;
use tower::util::BoxCloneSyncService;
use uuid::Uuid;

use super::{NodeInfo, Skipped, Snapshot, SystemLocal};
use crate::{connection::Connection, endpoint::Endpoint, protocol::response::Event};

/// Reads who answers on a connection.
pub type BoxIdentity = BoxCloneSyncService<IdentityRequest, NodeInfo, BoxError>;
/// Reads whom the server at the other end knows.
pub type BoxNodes = BoxCloneSyncService<NodesRequest, NodeList, BoxError>;

/// On which connection to ask who answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdentityRequest {
    /// The connection, not accepted yet: what is sent on it gets its answers while the identity service waits.
    pub connection: Connection,
}

impl IdentityRequest {
    /// Asks on this connection.
    #[must_use]
    pub fn new(connection: Connection) -> Self {
        Self { connection }
    }
}

/// On which connection to ask for the nodes, and what is known already.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodesRequest {
    /// The control connection.
    pub connection: Connection,
    /// The node at its other end.
    pub local: NodeInfo,
    /// What was known before; empty at the first time.
    pub known: Arc<Snapshot>,
    /// Why it is asked.
    pub cause: Cause,
}

impl NodesRequest {
    /// Asks for all nodes.
    #[must_use]
    pub fn new(connection: Connection, local: NodeInfo, known: Arc<Snapshot>) -> Self {
        Self { connection, local, known, cause: Cause::Full }
    }

    /// Asks for what these events changed.
    #[must_use]
    pub fn because_of(mut self, events: Vec<Event>) -> Self {
        self.cause = Cause::Events(events);
        self
    }
}

/// Why the nodes are asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// Everything is to be read: after a connect, on topology events, on request.
    Full,
    /// Events that the monitor answered with [`Reaction::Read`]; what they do not concern may be taken from
    /// [`NodesRequest::known`].
    Events(Vec<Event>),
}

/// The nodes of a cluster.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NodeList {
    /// The nodes, the one at the other end first.
    pub nodes: Vec<NodeInfo>,
    /// Rows that are not used, with the reason.
    pub skipped: Vec<Skipped>,
    /// Nodes whose endpoint is the same and leads elsewhere now: their back-off begins anew.
    pub redial: Vec<Uuid>,
}

impl NodeList {
    /// These nodes.
    #[must_use]
    pub fn new(nodes: Vec<NodeInfo>) -> Self {
        Self { nodes, ..Self::default() }
    }
}

/// What an event of one of the monitor's own types leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reaction {
    /// Nothing: it does not concern us.
    Ignore,
    /// A full read of the nodes, together with what topology events ask for.
    Refresh,
    /// A read at once, with this event and those that came since as its [`Cause::Events`].
    Read,
}

/// Tells the nodes of a cluster, and how each is dialled.
///
/// The one that ships, [`SystemTables`](super::SystemTables), reads `system.local` and the peers table. Whoever
/// brings another one gives services for what takes time; everything else is in memory, without a lookup.
pub trait TopologyMonitor: fmt::Debug + Send + Sync {
    /// Reads whom the server at the other end knows. One service for the whole session: it is cloned per read.
    fn nodes(&self) -> BoxNodes;

    /// Reads who answers on a connection to an endpoint of which nothing is known; `system.local` by default.
    fn identity(&self) -> BoxIdentity {
        BoxIdentity::new(SystemLocal::new())
    }

    /// How a node is dialled; its endpoint as the row gave it, or its address, by default. `None` skips the node.
    fn endpoint(&self, node: &NodeInfo) -> Option<Endpoint> {
        node.endpoint()
    }

    /// Event types to register for beside those of topology, status and schema.
    fn events(&self) -> &[&'static str] {
        &[]
    }

    /// What an event of one of those types means.
    fn on_event(&self, event: &Event) -> Reaction {
        let _ = event;
        Reaction::Refresh
    }

    /// After how long the nodes are to be read again though no event came, on a connection that is registered for these
    /// types; never by default. For servers that do not know an event of the monitor's own.
    fn reread_after(&self, registered: &[&'static str]) -> Option<Duration> {
        let _ = registered;
        None
    }

    /// Whether every node's endpoint leads to the node wherever it moves, so that the contact points need not be
    /// asked again; false by default, which is right wherever a node is dialled at an address.
    ///
    /// Asked once per reconnection plan.
    fn reresolves_node_addresses(&self, snapshot: &Snapshot) -> bool {
        let _ = snapshot;
        false
    }
}
