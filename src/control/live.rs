//! A control connection that is up: who is at its other end, and whom that node knows.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use messina_layers::{
    TimedOut,
    error::{BoxError, chain},
};
use tokio::time::timeout;
use tower::ServiceExt;
use uuid::Uuid;

use super::{Follower, Shared, View, Way};
use crate::{
    connection::{Connection, Events},
    establish::Accepted,
    protocol::response::Event,
    topology::{Cause, IdentityRequest, NodeInfo, NodeList, NodesRequest, SessionEvent, Snapshot, Told, Verdict},
};

/// A control connection that told who it leads to and whom that node knows.
pub(super) struct Live {
    pub(super) accepted: Accepted,
    pub(super) events: Events,
    pub(super) way: Way,
    pub(super) local: NodeInfo,
}

/// What was read, before anything of it is published.
pub(super) struct Read {
    list: NodeList,
}

impl Live {
    /// Reads whom the node at the other end knows, and who it is where that is not known yet.
    pub(super) async fn adopt(
        accepted: Accepted,
        events: Events,
        way: Way,
        limit: Duration,
        shared: &Shared,
    ) -> Result<(Self, Read), BoxError> {
        let local = match &accepted.node {
            Some(node) => node.clone(),
            // A connection to an identified node, or a stack of the application's that returns no identity.
            None => identify(&accepted.connection, limit, shared).await?,
        };
        let mut live = Self { accepted, events, way, local };
        live.settle_address(shared);
        // What happened between login and registration is in the tables by now.
        let read = live.read(limit, shared, Vec::new()).await?;
        Ok((live, read))
    }

    /// The address by which the node was reached stands in only where it advertises none.
    ///
    /// And only where the monitor cannot say otherwise how to dial it: the address may be that of a balancer or a proxy.
    fn settle_address(&mut self, shared: &Shared) {
        if self.local.address.is_none() && shared.monitor.endpoint(&self.local).is_none() {
            self.local.address = Some(self.way.addr);
        }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.accepted.connection
    }

    pub(super) fn host_id(&self) -> Uuid {
        self.local.host_id
    }

    /// Whether this address is that of the node at the other end.
    pub(super) fn is_at(&self, addr: SocketAddr) -> bool {
        self.local.address == Some(addr) || self.way.addr == addr
    }

    /// Reads everything anew, the node at the other end included.
    pub(super) async fn read_anew(&mut self, limit: Duration, shared: &Shared) -> Result<Read, BoxError> {
        let local = identify(self.connection(), limit, shared).await?;
        if local.host_id != self.local.host_id {
            return Err(format!("the control node was {} and is {}", self.local.host_id, local.host_id).into());
        }
        self.local = local;
        self.settle_address(shared);
        self.read(limit, shared, Vec::new()).await
    }

    /// Reads the nodes; because of these events, where there are some.
    pub(super) async fn read(&self, limit: Duration, shared: &Shared, events: Vec<Event>) -> Result<Read, BoxError> {
        let known = shared.topology.snapshot();
        let mut request = NodesRequest::new(self.connection().clone(), self.local.clone(), known);
        if !events.is_empty() {
            request.cause = Cause::Events(events);
        }
        let read = timeout(limit, shared.monitor.nodes().oneshot(request)).await;
        Ok(Read { list: read.map_err(|_elapsed| TimedOut::new(limit))?? })
    }

    /// Publishes what was read and tells whoever follows; `Keep` if what was known before is believed instead.
    pub(super) fn publish(&self, read: Read, shared: &Shared, follower: &mut impl Follower, gone: &Gone) -> Verdict {
        let known = shared.topology.snapshot();
        let Read { mut list } = read;
        let alive = follower.known();
        let alive = |host_id| alive.iter().any(|node| node.host_id == host_id && node.connected && !gone.holds(node));
        if list.against(&known, alive) == Verdict::Keep {
            return Verdict::Keep;
        }
        for node in &mut list.nodes {
            node.endpoint = shared.monitor.endpoint(node);
        }
        let redial = std::mem::take(&mut list.redial);
        let mut snapshot = Snapshot::new(list, Some(Told::now(self.host_id(), self.way.addr))).sharing(&known);
        if let Some(wanted) = &shared.filter {
            snapshot = snapshot.filtered(|node| wanted(node));
        }
        for skipped in snapshot.skipped().iter().filter(|skipped| !known.skipped().contains(skipped)) {
            let (server, table) = (self.connection().peer(), skipped.table);
            tracing::warn!(%server, table, "a row of the node list is skipped: {skipped}");
        }
        let snapshot = Arc::new(snapshot);
        shared.topology.publish(Arc::clone(&snapshot));
        follower.update(&View { snapshot, local: self.host_id(), way: self.way.clone() });
        for host_id in redial {
            follower.hint(super::Hint::Redial(host_id));
        }
        Verdict::Use
    }

    /// Says that this is the control connection from now on.
    pub(super) fn announce(&self, shared: &Shared) {
        shared.set_current(Some(self));
        let (host_id, addr) = (self.host_id(), self.way.addr);
        shared.topology.tell(SessionEvent::ControlConnected { host_id, addr });
    }
}

/// Reads who is at the other end, through the session's identity service.
async fn identify(connection: &Connection, limit: Duration, shared: &Shared) -> Result<NodeInfo, BoxError> {
    let read = timeout(limit, shared.identity.clone().oneshot(IdentityRequest::new(connection.clone()))).await;
    read.map_err(|_elapsed| TimedOut::new(limit))?.map_err(|error| {
        tracing::debug!(peer = %connection.peer(), error = %chain(&*error), "who answers could not be read");
        error
    })
}

/// Addresses of nodes that the server said were removed, since the last list that was believed.
#[derive(Debug, Default)]
pub(super) struct Gone(Vec<SocketAddr>);

impl Gone {
    pub(super) fn note(&mut self, addr: SocketAddr) {
        if !self.0.contains(&addr) && self.0.len() < 4096 {
            self.0.push(addr);
        }
    }

    fn holds(&self, node: &super::Known) -> bool {
        self.0.iter().any(|addr| node.is_at(*addr))
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
