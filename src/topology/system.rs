//! The topology monitor that ships: `system.local` and the peers table.

use std::{
    collections::HashSet,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use messina_layers::error::BoxError;
use tower::{Service, service_fn};
use uuid::Uuid;

use super::{
    NodeInfo, Skipped,
    monitor::{BoxNodes, IdentityRequest, NodeList, NodesRequest, TopologyMonitor},
};
use crate::{
    connection::{Connection, Paging},
    protocol::response::ServerError,
};

/// The query that tells who answers.
const LOCAL: &str = "SELECT * FROM system.local WHERE key='local'";
const PEERS_V2: &str = "SELECT * FROM system.peers_v2";
const PEERS: &str = "SELECT * FROM system.peers";

/// The identity service that ships: one read of `system.local`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLocal(());

impl SystemLocal {
    /// The service; it has no options.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

impl Service<IdentityRequest> for SystemLocal {
    type Response = NodeInfo;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<NodeInfo, BoxError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: IdentityRequest) -> Self::Future {
        Box::pin(async move { read_local(&request.connection).await })
    }
}

/// Reads `system.local`. Wants a limit around it.
pub(crate) async fn read_local(connection: &Connection) -> Result<NodeInfo, BoxError> {
    match connection.ask_rows(LOCAL, Paging::default()).await? {
        Ok(rows) => {
            NodeInfo::from_local(&rows, connection.peer().port())?.ok_or_else(|| "system.local is empty".into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The topology monitor that ships.
///
/// A server without `system.peers_v2` answers INVALID once, and `system.peers` is read from then on.
#[derive(Clone, Debug, Default)]
pub struct SystemTables {
    without_peers_v2: Arc<AtomicBool>,
}

impl SystemTables {
    /// The monitor; it has no options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the whole list; for monitors that only say how each node is dialled.
    ///
    /// # Errors
    /// If a query fails, or the answer is not rows. Has no limit of its own.
    pub async fn read(&self, request: &NodesRequest) -> Result<NodeList, BoxError> {
        let connection = &request.connection;
        let mut newer = Err(());
        if !self.without_peers_v2.load(Ordering::Relaxed) {
            newer = match connection.ask_rows(PEERS_V2, Paging::default()).await? {
                Ok(rows) => Ok(rows),
                Err(error) if lacks_peers_v2(&error) => {
                    self.without_peers_v2.store(true, Ordering::Relaxed);
                    Err(())
                }
                Err(error) => return Err(error.into()),
            };
        }
        let (table, rows) = match newer {
            Ok(rows) => ("system.peers_v2", rows),
            Err(()) => ("system.peers", connection.ask_rows(PEERS, Paging::default()).await?.map_err(BoxError::from)?),
        };
        let mut list = NodeList::new(vec![request.local.clone()]);
        let mut seen = HashSet::from([request.local.host_id]);
        for row in rows.raw() {
            let node = match row {
                Ok(columns) => NodeInfo::from_peer(table, columns, connection.peer().port()),
                Err(error) => Err(Skipped::new(table, "an unknown host", "?", "?", error)),
            };
            match node.and_then(|node| checked(node, table, &request.local, &mut seen)) {
                Ok(node) => list.nodes.push(node),
                Err(skipped) => list.skipped.push(skipped),
            }
        }
        Ok(list)
    }
}

/// A node of the peers table, unless it is listed already.
fn checked(
    node: NodeInfo,
    table: &'static str,
    local: &NodeInfo,
    seen: &mut HashSet<Uuid>,
) -> Result<NodeInfo, Skipped> {
    let id = node.host_id;
    if id == local.host_id {
        return Err(Skipped::new(table, id, "host_id", id, "it is the control node itself"));
    }
    // Of two nodes behind one balancer only what clients dial is the same.
    let same = node.address == local.address && node.broadcast == local.broadcast && local.broadcast.is_some();
    if let Some(address) = node.address.filter(|_| same) {
        let reason = format!("it is the address of {}, the control node itself", local.host_id);
        return Err(Skipped::new(table, id, "native_address", address, reason));
    }
    if !seen.insert(id) {
        return Err(Skipped::new(table, id, "host_id", id, "the host id is listed twice"));
    }
    Ok(node)
}

/// Whether the server says, in one of two ways, that it has no such table.
fn lacks_peers_v2(error: &ServerError) -> bool {
    error.code == 0x2200 || (error.code == 0 && error.message.contains("Unknown keyspace/cf pair (system.peers_v2)"))
}

impl TopologyMonitor for SystemTables {
    fn nodes(&self) -> BoxNodes {
        let monitor = self.clone();
        BoxNodes::new(service_fn(move |request: NodesRequest| {
            let monitor = monitor.clone();
            async move { monitor.read(&request).await }
        }))
    }
}
