//! A node as requests see it: who it is, and its connection while there is one.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use messina_layers::ConnectError;
use uuid::Uuid;

use crate::connection::Connection;

/// A member of the cluster with its connection.
#[derive(Debug)]
pub(crate) struct Node {
    host_id: Uuid,
    address: SocketAddr,
    local: bool,
    connection: ArcSwapOption<Connection>,
    last_error: ArcSwapOption<ConnectError>,
    tried: AtomicBool,
}

impl Node {
    /// A node that is not connected yet; `local` ones are preferred.
    pub(crate) fn new(host_id: Uuid, address: SocketAddr, local: bool) -> Self {
        Self {
            host_id,
            address,
            local,
            connection: ArcSwapOption::empty(),
            last_error: ArcSwapOption::empty(),
            tried: AtomicBool::new(false),
        }
    }

    /// A node whose one connection was made elsewhere.
    pub(crate) fn over_connection(host_id: Uuid, connection: Connection) -> Self {
        let node = Self::new(host_id, connection.peer(), true);
        node.connected(connection);
        node
    }

    pub(crate) fn host_id(&self) -> Uuid {
        self.host_id
    }

    /// The advertised address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it is in the data centre that requests prefer.
    pub(crate) fn is_local(&self) -> bool {
        self.local
    }

    /// The connection, while there is one that takes requests.
    pub(crate) fn connection(&self) -> Option<Arc<Connection>> {
        self.connection.load_full().filter(|connection| connection.error().is_none())
    }

    /// Requests on its connection, be that ending; `None` without one. Takes no lock.
    pub(super) fn load(&self) -> Option<usize> {
        self.connection.load().as_ref().map(|connection| connection.in_flight())
    }

    /// Why the last connect failed, while there is no connection.
    pub(crate) fn last_error(&self) -> Option<Arc<ConnectError>> {
        self.last_error.load_full()
    }

    /// Whether the first connect since it was made, or since its connection was lost, has ended, either way.
    pub(crate) fn was_tried(&self) -> bool {
        // One that takes no more requests is about to be replaced, whether its keeper has seen that yet or not.
        let retired = self.connection.load().as_ref().is_some_and(|connection| connection.error().is_some());
        self.tried.load(Ordering::Acquire) && !retired
    }

    pub(super) fn connected(&self, connection: Connection) {
        self.last_error.store(None);
        self.connection.store(Some(Arc::new(connection)));
        self.tried.store(true, Ordering::Release);
    }

    /// The connection was lost, and is about to be opened again.
    pub(super) fn lost(&self) {
        self.tried.store(false, Ordering::Release);
        self.connection.store(None);
    }

    /// The connection was lost too soon to be opened again at once.
    pub(super) fn failed_at_once(&self) {
        self.tried.store(true, Ordering::Release);
    }

    pub(super) fn disconnected(&self) {
        self.connection.store(None);
    }

    pub(super) fn failed(&self, error: ConnectError) {
        self.last_error.store(Some(Arc::new(error)));
        self.tried.store(true, Ordering::Release);
    }
}
