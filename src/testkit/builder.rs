//! What a cluster is to be like.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::cluster::{Cluster, Shared, Tasks};
use super::fault::{Rule, Script, Stage};
use super::node::{Entrance, Inner, Node};
use super::prime::Primes;
use super::routes::{CLIENT_ROUTES_CHANGE, RoutesTable};
use super::{Log, Network, NodeFacts, Scylla, ServerTls};

mod places;

use places::{Places, open_shard_aware_port};

/// Builds a [`Cluster`]; one node on loopback that speaks v3, v4 and v5 if nothing else is said.
pub struct ClusterBuilder {
    nodes: usize,
    name: String,
    log: Option<Log>,
    users: Vec<(String, String)>,
    authenticator: String,
    keyspaces: Option<Vec<String>>,
    places: Places,
    scripts: Vec<(usize, Script)>,
    changes: Vec<Change>,
}

type Change = Box<dyn FnOnce(&mut [NodeFacts]) + Send>;

impl Default for ClusterBuilder {
    fn default() -> Self {
        Self {
            nodes: 1,
            name: "testkit".into(),
            log: None,
            users: Vec::new(),
            authenticator: "org.apache.cassandra.auth.PasswordAuthenticator".into(),
            keyspaces: None,
            places: Places::Ports,
            scripts: Vec::new(),
            changes: Vec::new(),
        }
    }
}

impl std::fmt::Debug for ClusterBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("ClusterBuilder");
        debug.field("nodes", &self.nodes).field("name", &self.name).finish_non_exhaustive()
    }
}

impl ClusterBuilder {
    /// How many nodes there are.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }

    /// The cluster's name; host ids are made of it.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Writes to this log instead of one of its own.
    pub fn log(mut self, log: &Log) -> Self {
        self.log = Some(log.clone());
        self
    }

    /// Lets a user log in; with at least one user nobody gets in without a password.
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.users.push((name.into(), password.into()));
        self
    }

    /// The class name that AUTHENTICATE carries.
    pub fn authenticator(mut self, class: impl Into<String>) -> Self {
        self.authenticator = class.into();
        self
    }

    /// The keyspaces that exist for `USE`; without this every name exists.
    pub fn keyspaces<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.keyspaces = Some(names.into_iter().map(Into::into).collect());
        self
    }

    // ===== Facts =====

    /// Changes what one node says about itself.
    pub fn node(self, index: usize, change: impl FnOnce(&mut NodeFacts) + Send + 'static) -> Self {
        self.facts(move |nodes| {
            if let Some(facts) = nodes.get_mut(index) {
                change(facts);
            }
        })
    }

    /// The protocol versions that every node speaks, of 3, 4 and 5.
    pub fn versions(self, versions: impl IntoIterator<Item = u8>) -> Self {
        let versions: Vec<_> = versions.into_iter().collect();
        self.each(move |facts| facts.versions = versions.clone())
    }

    /// Leaves the list of versions out of SUPPORTED, as servers before Cassandra 4 do.
    pub fn without_version_list(self) -> Self {
        self.each(|facts| facts.lists_versions = false)
    }

    /// Leaves out `system.peers_v2`, as servers before Cassandra 4 do.
    pub fn without_peers_v2(self) -> Self {
        self.each(|facts| facts.has_peers_v2 = false)
    }

    /// Speaks TLS, with this certificate on every node.
    pub fn tls(self, tls: ServerTls) -> Self {
        self.each(move |facts| facts.tls = Some(tls.clone()))
    }

    /// Makes every node a Scylla node: its keys in SUPPORTED, v3 and v4, no list of versions, no
    /// `system.peers_v2`.
    pub fn scylla(self, scylla: Scylla) -> Self {
        self.each(move |facts| {
            facts.scylla = Some(scylla.clone());
            facts.versions.retain(|version| *version < 5);
            facts.lists_versions = false;
            facts.has_peers_v2 = false;
        })
    }

    /// Knows the event `CLIENT_ROUTES_CHANGE`, as a ScyllaDB with client routes does. Routes come by
    /// [`Cluster::set_client_routes`].
    pub fn client_routes(self) -> Self {
        self.each(|facts| facts.events.push(CLIENT_ROUTES_CHANGE.into()))
    }

    fn each(self, change: impl Fn(&mut NodeFacts) + Send + 'static) -> Self {
        self.facts(move |nodes| nodes.iter_mut().for_each(change))
    }

    fn facts(mut self, change: impl FnOnce(&mut [NodeFacts]) + Send + 'static) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    // ===== Faults =====

    /// Gives one node a fault from the start.
    pub fn fault(mut self, node: usize, stage: Stage, fault: impl Into<Rule>) -> Self {
        self.scripts.push((node, Script::new().at(stage, fault)));
        self
    }

    /// Gives one node a script from the start.
    pub fn script(mut self, node: usize, script: Script) -> Self {
        self.scripts.push((node, script));
        self
    }

    // ===== Places =====

    /// Gives each node a loopback address of its own, all with the same free port.
    ///
    /// Linux answers on all of 127.0.0.0/8; elsewhere the addresses have to be configured first.
    pub fn own_addresses(self) -> Self {
        self.port(0)
    }

    /// Gives each node a loopback address of its own, all with this port: to stand behind one name
    /// with servers that exist already.
    pub fn port(mut self, port: u16) -> Self {
        self.places = Places::Addresses(port);
        self
    }

    /// Gives the nodes these loopback addresses, and as many nodes as addresses.
    pub fn addresses(mut self, addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        let addresses: Vec<_> = addresses.into_iter().collect();
        self.nodes = addresses.len();
        self.places = Places::Given(addresses);
        self
    }

    /// Puts the nodes into a network of pipes instead of onto sockets, at 10.x.0.1:9042,
    /// 10.x.0.2:9042 and so on.
    pub fn network(self, network: &Network) -> Self {
        self.network_at(network, [])
    }

    /// Puts the nodes at these places of a network of pipes, and as many nodes as places.
    pub fn network_at(mut self, network: &Network, addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        let addresses: Vec<_> = addresses.into_iter().collect();
        if !addresses.is_empty() {
            self.nodes = addresses.len();
        }
        self.places = Places::Network(network.clone(), addresses);
        self
    }

    // ===== Start =====

    /// Starts the nodes.
    ///
    /// # Errors
    /// Where an address cannot be bound.
    pub async fn start(mut self) -> io::Result<Cluster> {
        let mut doors = self.places.doors(self.nodes)?;
        let mut facts: Vec<_> = doors
            .iter()
            .enumerate()
            .map(|(index, (addr, _))| NodeFacts::new(&self.name, index, doors.len(), *addr))
            .collect();
        std::mem::take(&mut self.changes).into_iter().for_each(|change| change(&mut facts));

        for ((addr, doors), facts) in doors.iter_mut().zip(&mut facts) {
            open_shard_aware_port(*addr, doors, facts)?;
        }

        let network = match &self.places {
            Places::Network(network, _) => Some(network.clone()),
            _ => None,
        };
        let log = self.log.or_else(|| network.as_ref().map(|network| network.log().clone()));
        let shared = Arc::new(Shared {
            name: self.name,
            log: log.unwrap_or_default(),
            primes: Primes::default(),
            users: self.users,
            authenticator: self.authenticator,
            keyspaces: self.keyspaces,
            routes: RoutesTable::default(),
            members: facts.into_iter().map(|facts| Arc::new(Mutex::new(facts))).collect(),
        });

        let mut nodes = Vec::new();
        let mut tasks = Tasks::default();
        for (index, (addr, doors)) in doors.into_iter().enumerate() {
            let scripts = self.scripts.iter().filter(|(node, _)| *node == index);
            let script = scripts.fold(Script::new(), |all, (_, one)| all.and(one.clone()));
            let ports = doors.len();
            let inner = Arc::new(Inner::new(index, addr, doors, shared.clone(), script));
            inner.apply_door();
            for port in 0..ports {
                tasks.0.push(tokio::spawn(inner.clone().accept(Entrance::Port(port))));
            }
            if let Some(network) = &network {
                let (sender, pipes) = mpsc::unbounded_channel();
                network.add_node(&inner, sender)?;
                tasks.0.push(tokio::spawn(inner.clone().accept(Entrance::Pipes(pipes))));
            }
            nodes.push(Node::from(inner));
        }
        Ok(Cluster { shared, nodes, _tasks: tasks })
    }
}
