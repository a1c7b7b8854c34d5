//! Keeps one connection to each node: opens it through the connect stack, and again when it is lost.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use messina_layers::{Backoff, BoxConnect, ConnectError, HostAddr, Pinned};
use tokio::task::JoinHandle;
use tower::ServiceExt;
use uuid::Uuid;

use super::{Node, Nodes};
use crate::{
    config::Config,
    connection::Connection,
    endpoint::Endpoint,
    establish::{Accepted, Open},
    protocol::ProtocolVersion,
    topology::NodeInfo,
};

/// The first delay before a lost or failed connection is tried again, and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Opens connections to identified nodes.
#[derive(Clone, Debug)]
pub(crate) struct Opener {
    pub(crate) stack: BoxConnect<Open, Accepted>,
    pub(crate) config: Arc<Config>,
    pub(crate) cluster: Arc<str>,
    pub(crate) version: ProtocolVersion,
}

/// By which way a node was reached first: its endpoint as a contact point, and the address that answered.
#[derive(Clone, Debug)]
pub(crate) struct Via {
    pub(crate) endpoint: Endpoint,
    pub(crate) addr: SocketAddr,
}

impl Opener {
    fn target(&self, endpoint: Pinned<Endpoint>) -> Open {
        Open::new(endpoint, Arc::clone(&self.config))
            .expecting_cluster(Arc::clone(&self.cluster))
            .with_version(self.version)
    }

    /// Connects to the advertised address; while that fails, to the way in, if the same node answers there.
    async fn open(&self, node: &Node, via: Option<&Via>) -> Result<Connection, ConnectError> {
        let advertised = self.target(Endpoint::from(node.address()).into()).expecting_host(node.host_id());
        let error = match self.stack.clone().oneshot(advertised).await {
            Ok(established) => return Ok(established.connection.connection),
            Err(error) => error,
        };
        let Some(via) = via.filter(|via| via.addr != node.address()) else { return Err(error) };
        let way_in = Pinned::at(via.endpoint.clone(), HostAddr::from(via.addr));
        // Unidentified on purpose: who answers behind a name or a balancer has to be read.
        match self.stack.clone().oneshot(self.target(way_in)).await {
            Ok(established) => match &established.connection.node {
                Some(info) if info.host_id == node.host_id() => Ok(established.connection.connection),
                _ => Err(error),
            },
            Err(_) => Err(error),
        }
    }
}

/// The connections of all nodes; dropping it ends the tasks.
#[derive(Debug)]
pub(crate) struct Keeper {
    opener: Opener,
    nodes: Nodes,
    kept: HashMap<Uuid, Kept>,
}

#[derive(Debug)]
struct Kept {
    node: Arc<Node>,
    task: JoinHandle<()>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.task.abort();
        self.node.disconnected();
    }
}

impl Keeper {
    pub(crate) fn new(opener: Opener, nodes: Nodes) -> Self {
        Self { opener, nodes, kept: HashMap::new() }
    }

    pub(crate) fn opener(&self) -> &Opener {
        &self.opener
    }

    /// Host id and address of every node, those with a connection first.
    pub(crate) fn known(&self) -> Vec<(Uuid, SocketAddr)> {
        let mut nodes: Vec<_> = self.kept.values().map(|kept| &kept.node).collect();
        nodes.sort_by_key(|node| (node.connection().is_none(), node.host_id()));
        nodes.into_iter().map(|node| (node.host_id(), node.address())).collect()
    }

    /// Keeps connections to exactly these nodes: new ones are opened, those of nodes that are gone are closed.
    pub(crate) fn update(&mut self, infos: &[NodeInfo], local: (Uuid, &Via)) {
        self.kept.retain(|host_id, kept| {
            infos.iter().any(|info| info.host_id == *host_id && info.address == Some(kept.node.address()))
        });
        for info in infos {
            let Some(address) = info.address else { continue };
            let via = (info.host_id == local.0).then(|| local.1.clone());
            self.kept.entry(info.host_id).or_insert_with(|| {
                let node = Arc::new(Node::new(info.host_id, address));
                let task = tokio::spawn(keep(self.opener.clone(), self.nodes.clone(), Arc::clone(&node), via));
                Kept { node, task }
            });
        }
        let mut nodes: Vec<_> = self.kept.values().map(|kept| Arc::clone(&kept.node)).collect();
        nodes.sort_by_key(|node| node.host_id());
        self.nodes.replace(nodes);
    }
}

/// Opens, waits for the end, opens again, until dropped.
async fn keep(opener: Opener, nodes: Nodes, node: Arc<Node>, via: Option<Via>) {
    let mut backoff = Backoff::new(BACKOFF.0, BACKOFF.1);
    loop {
        match opener.open(&node, via.as_ref()).await {
            Ok(connection) => {
                let closed = connection.closed();
                node.connected(connection);
                nodes.tell();
                backoff.reset();
                let error = closed.await;
                tracing::debug!(host_id = %node.host_id(), %error, "connection lost");
                node.disconnected();
            }
            Err(error) => node.failed(error),
        }
        nodes.tell();
        tokio::time::sleep(backoff.next_delay()).await;
    }
}
