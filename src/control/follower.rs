//! Who follows the control connection's view of the cluster.

use std::{net::SocketAddr, sync::Arc};

use messina_layers::{Address, Dial, Pinned};
use uuid::Uuid;

use crate::{
    endpoint::Endpoint,
    topology::{Refusal, Snapshot},
};

/// By which way a control connection came about: the endpoint as it was configured, and the address that answered.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) endpoint: Endpoint,
    pub(crate) addr: SocketAddr,
}

/// The cluster as the control connection sees it.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The nodes are exactly these.
    pub(crate) snapshot: Arc<Snapshot>,
    /// The node at the other end of the control connection.
    pub(crate) local: Uuid,
    /// How that connection came about.
    pub(crate) way: Way,
}

/// A node that could be asked for a control connection.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) host_id: Uuid,
    pub(crate) endpoint: Pinned<Endpoint>,
    /// Whether it has a connection, which speaks for trying it first.
    pub(crate) connected: bool,
}

impl Known {
    /// Whether the node is dialled at this very address.
    pub(crate) fn is_at(&self, addr: SocketAddr) -> bool {
        matches!(self.endpoint.address(), Address::Socket(own) if own == addr)
    }
}

/// What the server, or the control connection itself, says about nodes. Connections are the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The server says that this node answers: its back-off begins anew.
    Up(SocketAddr),
    /// The server says that it does not: worth a heartbeat, no more.
    Down(SocketAddr),
    /// The way to this node has changed though its endpoint has not: its back-off begins anew.
    Redial(Uuid),
    /// Any node may answer again: there is a control connection again, or nobody knows what events told. Every back-off
    /// begins anew.
    AnyUp,
}

/// Is told each new view of the cluster, and tells which nodes could be asked next.
pub(crate) trait Follower: Send + 'static {
    /// The cluster is this from now on.
    fn update(&mut self, view: &View);

    /// Every node, those with a connection first: the policy's plan.
    fn known(&self) -> Vec<Known>;

    /// Why a node must not be the control node; `None` if it may.
    fn refuses(&self, host_id: Uuid) -> Option<Refusal>;

    /// Something is worth a look.
    fn hint(&mut self, hint: Hint);
}
