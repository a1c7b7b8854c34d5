//! A node as requests see it: who it is, and its connection while there is one.

use std::{net::SocketAddr, sync::Arc};

use arc_swap::ArcSwapOption;
use uuid::Uuid;

use crate::connection::Connection;

/// A member of the cluster with its connection.
#[derive(Debug)]
pub(crate) struct Node {
    host_id: Uuid,
    address: SocketAddr,
    connection: ArcSwapOption<Connection>,
}

impl Node {
    pub(crate) fn new(host_id: Uuid, address: SocketAddr) -> Self {
        Self { host_id, address, connection: ArcSwapOption::empty() }
    }

    pub(crate) fn host_id(&self) -> Uuid {
        self.host_id
    }

    /// The advertised address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connection, while there is one that takes requests.
    pub(crate) fn connection(&self) -> Option<Arc<Connection>> {
        self.connection.load_full().filter(|connection| connection.error().is_none())
    }

    pub(crate) fn set_connection(&self, connection: Option<Connection>) {
        self.connection.store(connection.map(Arc::new));
    }
}
