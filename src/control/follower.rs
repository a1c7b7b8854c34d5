//! Who follows the control connection's view of the cluster.

use std::net::SocketAddr;

use uuid::Uuid;

use crate::{endpoint::Endpoint, topology::NodeInfo};

/// By which way a control connection came about: the endpoint as it was configured, and the address that answered.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) endpoint: Endpoint,
    pub(crate) addr: SocketAddr,
}

/// Is told each new list of nodes, and tells which nodes could be asked next.
pub(crate) trait Follower: Send + 'static {
    /// The nodes are exactly these; `local` answered on the control connection, which came about by `way`.
    fn update(&mut self, nodes: &[NodeInfo], local: Uuid, way: &Way);

    /// Host id and address of every node, those with a connection first.
    fn known(&self) -> Vec<(Uuid, SocketAddr)>;
}
