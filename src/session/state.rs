//! What a session believes at one moment.

#[cfg(feature = "serde")]
mod json;
mod table;

use std::{net::SocketAddr, sync::PoisonError, time::Duration};

use tokio::time::Instant;
use uuid::Uuid;

use super::Session;
use crate::{
    control::{self, ReconnectionPlan},
    pool::NodeState,
    protocol::ProtocolVersion,
    topology::Skipped,
};

/// What a session believes at one moment: the cluster, the control connection, the nodes with their pins and
/// connections. `Display` is a table; with feature `serde` it serialises, every key always there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionState {
    /// The cluster's name, which every connection must find.
    pub cluster: Option<String>,
    /// The protocol version that every connection speaks.
    pub protocol: Option<ProtocolVersion>,
    /// The contact points, as they were written.
    pub contact_points: Vec<String>,
    /// Whether the session was closed.
    pub closed: bool,
    /// The control connection, while there is one.
    pub control: Option<ControlState>,
    /// When the nodes were read last, and from whom.
    pub told: Option<NodesTold>,
    /// The nodes, sorted by host id.
    pub nodes: Vec<NodeState>,
    /// What of the node list is not used, with the reason.
    pub skipped: Vec<Skipped>,
}

/// The control connection at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ControlState {
    /// The node at its other end.
    pub host_id: Uuid,
    /// The address that it leads to.
    pub addr: SocketAddr,
    /// How long it has been that.
    pub age: Duration,
    /// The event types that it is registered for.
    pub events: Vec<&'static str>,
}

/// Who told the nodes, and how long ago.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NodesTold {
    /// The node.
    pub host_id: Uuid,
    /// The address that was asked.
    pub addr: SocketAddr,
    /// How long ago.
    pub age: Duration,
}

impl Session {
    /// What the session believes now: nodes, pins, connections, protocol, control connection.
    ///
    /// ```no_run
    /// # fn example(session: &messina::Session) {
    /// println!("{}", session.state());
    /// let without = session.state().nodes.into_iter().filter(|node| node.connections.is_empty());
    /// # let _ = without.count();
    /// # }
    /// ```
    #[must_use]
    pub fn state(&self) -> SessionState {
        let inner = &self.inner;
        let (config, snapshot, now) = (inner.config.get(), inner.topology.snapshot(), Instant::now());
        let age = |since: Instant| now.saturating_duration_since(since);
        let control = self.handle().and_then(|control| control.shared().current()).map(|current| ControlState {
            host_id: current.host_id,
            addr: current.addr,
            age: age(current.since),
            events: current.events.clone(),
        });
        let told = snapshot.told();
        SessionState {
            cluster: inner.opener.as_ref().map(|opener| opener.cluster().to_string()),
            protocol: inner.opener.as_ref().map(crate::establish::Opener::version),
            contact_points: config.contact_points.iter().map(ToString::to_string).collect(),
            closed: inner.is_closed(),
            control,
            told: told.map(|told| NodesTold { host_id: told.host_id, addr: told.addr, age: age(told.at) }),
            nodes: inner.nodes.all().iter().map(|node| node.state()).collect(),
            skipped: snapshot.skipped().to_vec(),
        }
    }

    /// Where the next control connection would be looked for, in order, and why; what is left out, and why.
    ///
    /// Nothing is looked up or dialled for it: contact points stay names.
    #[must_use]
    pub fn explain_plan(&self) -> ReconnectionPlan {
        let nodes = &self.inner.nodes;
        match (self.handle(), &self.inner.opener) {
            (Some(control), Some(opener)) => {
                control::explain(nodes.known(), |host_id| nodes.refuses(host_id), opener, control.shared())
            }
            _ => ReconnectionPlan::default(),
        }
    }

    fn handle(&self) -> Option<control::Handle> {
        let control = self.inner.control.lock().unwrap_or_else(PoisonError::into_inner);
        control.as_ref().map(control::Control::handle)
    }
}
