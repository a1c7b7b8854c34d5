//! Keeps one connection to each node: opens it through the connect stack, and again when it is lost.

use std::{collections::HashMap, sync::Arc, time::Duration};

use messina_layers::{Backoff, Class, ConnectError, HostAddr, Pinned};
use tokio::{task::JoinHandle, time::Instant};
use tower::ServiceExt;
use uuid::Uuid;

use super::{Node, Nodes};
use crate::{
    connection::Connection,
    control::{Follower, Hint, Known, View, Way},
    endpoint::Endpoint,
    establish::Opener,
    topology::{NodeInfo, Refusal},
};

/// The first delay before a lost or failed connection is tried again, and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Connects to the advertised address; while that fails, to the way in, if the same node answers there.
async fn open(opener: &Opener, node: &Node, way: Option<&Way>) -> Result<Connection, ConnectError> {
    let advertised = opener.target(Endpoint::from(node.address()).into()).expecting_host(node.host_id());
    let error = match opener.stack().oneshot(advertised).await {
        Ok(established) => return Ok(established.connection.connection),
        Err(error) => error,
    };
    let Some(way) = way.filter(|way| way.addr != node.address()) else { return Err(error) };
    let way_in = Pinned::at(way.endpoint.clone(), HostAddr::from(way.addr));
    // Unidentified on purpose: who answers behind a name or a balancer has to be read.
    match opener.stack().oneshot(opener.target(way_in)).await {
        Ok(established) => match &established.connection.node {
            Some(info) if info.host_id == node.host_id() => Ok(established.connection.connection),
            _ => Err(error),
        },
        Err(_) => Err(error),
    }
}

/// The connections of all nodes; dropping it ends the tasks.
#[derive(Debug)]
pub(crate) struct Keeper {
    opener: Opener,
    nodes: Nodes,
    kept: HashMap<Uuid, Kept>,
    // The data centre that requests prefer: configured, or that of the first control connection's node.
    local: Option<String>,
    warned: bool,
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
        let local = opener.config().local_datacenter.clone();
        Self { opener, nodes, kept: HashMap::new(), local, warned: false }
    }

    /// Settles the data centre that requests prefer, and says so once.
    fn settle_local(&mut self, infos: &[Arc<NodeInfo>], local: Uuid) {
        if self.local.is_none() {
            self.local = infos.iter().find(|info| info.host_id == local).and_then(|info| info.datacenter.clone());
            if let Some(datacenter) = &self.local {
                tracing::info!(%datacenter, "the local data centre is that of the first node connected to");
            }
        }
        let matches = |info: &Arc<NodeInfo>| self.local.is_some() && info.datacenter == self.local;
        if self.local.is_some() && !self.warned && !infos.iter().any(matches) {
            self.warned = true;
            let mut known: Vec<_> = infos.iter().filter_map(|info| info.datacenter.as_deref()).collect();
            known.sort_unstable();
            known.dedup();
            tracing::warn!(
                local = self.local.as_deref().unwrap_or_default(),
                known = known.join(", "),
                "no node is in the local data centre; requests go to the others"
            );
        }
    }
}

impl Follower for Keeper {
    fn known(&self) -> Vec<Known> {
        let mut nodes: Vec<_> = self.kept.values().map(|kept| &kept.node).collect();
        nodes.sort_by_key(|node| (node.connection().is_none(), node.host_id()));
        let known = nodes.into_iter().map(|node| Known {
            host_id: node.host_id(),
            endpoint: Endpoint::from(node.address()).into(),
            connected: node.connection().is_some(),
        });
        known.collect()
    }

    /// Keeps connections to exactly these nodes: new ones are opened, those of nodes that are gone are closed.
    fn update(&mut self, view: &View) {
        let (infos, local) = (view.snapshot.nodes(), view.local);
        self.settle_local(infos, local);
        let preferred = self.local.clone();
        self.kept.retain(|host_id, kept| {
            view.snapshot.node(*host_id).is_some_and(|info| info.address == Some(kept.node.address()))
        });
        for info in infos {
            let Some(address) = info.address else { continue };
            let way = (info.host_id == local).then(|| view.way.clone());
            self.kept.entry(info.host_id).or_insert_with(|| {
                let is_local = preferred.is_none() || info.datacenter == preferred;
                let node = Arc::new(Node::new(info.host_id, address, is_local));
                let task = tokio::spawn(keep(self.opener.clone(), self.nodes.clone(), Arc::clone(&node), way));
                Kept { node, task }
            });
        }
        let mut nodes: Vec<_> = self.kept.values().map(|kept| Arc::clone(&kept.node)).collect();
        nodes.sort_by_key(|node| node.host_id());
        self.nodes.replace(nodes);
    }

    fn refuses(&self, _host_id: Uuid) -> Option<Refusal> {
        None
    }

    fn hint(&mut self, _hint: Hint) {}
}

/// Opens, waits for the end, opens again, until dropped.
async fn keep(opener: Opener, nodes: Nodes, node: Arc<Node>, way: Option<Way>) {
    let mut backoff = Backoff::new(BACKOFF.0, BACKOFF.1);
    loop {
        match open(&opener, &node, way.as_ref()).await {
            Ok(connection) => {
                let opened = Instant::now();
                node.connected(connection.clone());
                nodes.tell();
                // Returns as soon as it takes no more requests: the next one is opened beside those still in flight.
                let config = opener.config();
                let error = connection.heartbeat(config.heartbeat_interval, config.heartbeat_timeout).await;
                tracing::debug!(host_id = %node.host_id(), %error, "connection lost");
                node.lost();
                // One that served for a while says nothing against the next; one that did not may mean a storm.
                if opened.elapsed() >= BACKOFF.0 {
                    backoff.reset();
                    continue;
                }
                node.failed_at_once();
            }
            Err(error) => {
                let forced_down = tell(&node, &error);
                node.failed(error);
                if forced_down {
                    nodes.tell();
                    tokio::time::sleep(BACKOFF.1).await;
                    continue;
                }
            }
        }
        nodes.tell();
        tokio::time::sleep(backoff.next_delay()).await;
    }
}

/// Says what an operator has to know of a failed connect; answers whether the node is down until that changes.
///
/// A server of another cluster or version will not be another one in a second, yet an address may get its node
/// back: such a node is asked again at the longest delay, not never.
fn tell(node: &Node, error: &ConnectError) -> bool {
    let host_id = node.host_id();
    match error.class() {
        Class::Terminal | Class::ForcesDown => {
            tracing::warn!(%host_id, "the node is forced down and asked again in {:?}: {}", BACKOFF.1, error.report());
            true
        }
        Class::Auth => {
            tracing::warn!(%host_id, "the node refused the login; it is tried again: {}", error.report());
            false
        }
        _ => false,
    }
}
