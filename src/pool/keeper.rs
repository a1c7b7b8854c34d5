//! Keeps a pool for each node of the cluster.

use std::{collections::HashMap, net::SocketAddr, sync::Arc};

use messina_layers::{Address, Dial};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::{Node, Nodes, filling::Filling, gate::Gate, node::Place, routing::keep_routing};
use crate::{
    control::{Follower, Hint, Known, View},
    establish::Opener,
    topology::{NodeInfo, Refusal},
};

/// The pools of all nodes; dropping it ends the tasks.
#[derive(Debug)]
pub(crate) struct Keeper {
    opener: Opener,
    nodes: Nodes,
    gate: Gate,
    kept: HashMap<Uuid, Kept>,
    // The data centre that requests prefer: configured, or that of the first control connection's node.
    local: Option<String>,
    warned: bool,
    routing: JoinHandle<()>,
}

#[derive(Debug)]
struct Kept {
    node: Arc<Node>,
    task: JoinHandle<()>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.task.abort();
        // The handles go; what is in flight may finish.
        drop(self.node.end());
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.routing.abort();
    }
}

impl Keeper {
    pub(crate) fn new(opener: Opener, nodes: Nodes) -> Self {
        let local = opener.config().local_datacenter.clone();
        let changed = nodes.topology().watch();
        let routing = tokio::spawn(keep_routing(nodes.clone(), changed));
        Self { opener, nodes, gate: Gate::default(), kept: HashMap::new(), local, warned: false, routing }
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

    fn place_of(&self, info: &NodeInfo) -> Place {
        let rack = self.opener.config().local_rack.clone();
        if self.local.is_some() && info.datacenter != self.local {
            Place::Elsewhere
        } else if rack.is_some() && info.rack == rack {
            Place::Rack
        } else {
            Place::Datacenter
        }
    }

    /// Gives a node its pool, or tells an existing one what is new.
    fn keep(&mut self, info: &Arc<NodeInfo>, view: &View) {
        let Some(endpoint) = info.endpoint() else { return };
        let way = (info.host_id == view.local).then_some(&view.way);
        let place = self.place_of(info);
        if let Some(kept) = self.kept.get(&info.host_id).filter(|kept| kept.node.place() == place) {
            if kept.node.learn(info, &endpoint, way) {
                kept.node.connect_now(true);
            }
            return;
        }
        self.remove(info.host_id);
        let node = Arc::new(Node::new(Arc::clone(info), endpoint.clone(), place, self.opener.metrics()));
        node.learn(info, &endpoint, way);
        let filling = Filling::new(self.opener.clone(), self.nodes.clone(), self.gate.clone(), Arc::clone(&node));
        let task = tokio::spawn(filling.run());
        self.kept.insert(info.host_id, Kept { node, task });
    }

    /// Takes the connections of a node that is gone out of service.
    fn remove(&mut self, host_id: Uuid) {
        let Some(kept) = self.kept.remove(&host_id) else { return };
        for connection in kept.node.end() {
            self.nodes.drain(host_id, &connection, Some(self.opener.config().request_timeout));
        }
    }

    /// The nodes that are dialled at this address.
    fn at(&self, addr: SocketAddr) -> impl Iterator<Item = &Arc<Node>> {
        let nodes = self.kept.values().map(|kept| &kept.node);
        nodes.filter(move |node| node.endpoint().address() == Address::Socket(addr) || node.advertises(addr))
    }
}

impl Follower for Keeper {
    /// Keeps a pool for exactly these nodes: new ones are connected to, the connections of those that are gone drain.
    fn update(&mut self, view: &View) {
        let infos = view.snapshot.nodes();
        self.settle_local(infos, view.local);
        // Nodes that the filter leaves out are known, and never connected to.
        let ours = |id: Uuid| view.snapshot.node(id).is_some() && !view.snapshot.is_ignored(id);
        let gone: Vec<_> = self.kept.keys().copied().filter(|id| !ours(*id)).collect();
        for host_id in gone {
            self.remove(host_id);
        }
        // The node that let us in first: it is known to answer.
        let infos = infos.iter().filter(|info| ours(info.host_id));
        let (local, others): (Vec<_>, Vec<_>) = infos.partition(|info| info.host_id == view.local);
        for info in local.into_iter().chain(others) {
            self.keep(info, view);
        }
        let mut nodes: Vec<_> = self.kept.values().map(|kept| Arc::clone(&kept.node)).collect();
        nodes.sort_by_key(|node| node.host_id());
        self.nodes.replace(nodes);
    }

    /// Every node that is not left alone, those with a connection first.
    fn known(&self) -> Vec<Known> {
        self.nodes.known()
    }

    fn refuses(&self, host_id: Uuid) -> Option<Refusal> {
        self.kept.get(&host_id)?.node.standing().refusal()
    }

    fn hint(&mut self, hint: Hint) {
        match hint {
            Hint::Up(addr) => self.at(addr).for_each(|node| node.connect_now(true)),
            Hint::Down(addr) => self.at(addr).for_each(|node| node.check()),
            Hint::Redial(host_id) => {
                if let Some(kept) = self.kept.get(&host_id) {
                    kept.node.connect_now(true);
                }
            }
            Hint::AnyUp => self.kept.values().for_each(|kept| kept.node.connect_now(false)),
        }
    }
}
