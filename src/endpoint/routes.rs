//! Client routes: which `host:port` leads to which node, as a table of the cluster says (ScyllaDB's private link).
//!
//! A route belongs to a connection id and a host id. Which rows were read, which of them can be used, and what is
//! proven absent are values here; who reads them is the control connection's business.

mod connection;
mod merge;
mod row;

use std::{
    collections::HashMap,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use arc_swap::ArcSwap;
use messina_layers::{Address, Name, error::BoxError};
use uuid::Uuid;

pub use self::{
    connection::RouteConnection,
    merge::{Covered, Merged, RouteRead},
    row::{RouteRow, UnusableRoute},
};

/// What a route belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouteKey {
    /// The connection that it is a route of.
    pub connection_id: Arc<str>,
    /// The node that it leads to.
    pub host_id: Uuid,
}

impl fmt::Display for RouteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {:?}, host {}", self.connection_id, self.host_id)
    }
}

/// The routes to the nodes: one for each node, and those that could stand in for it. Immutable.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    hosts: HashMap<Uuid, HostRoutes>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct HostRoutes {
    /// By connection id, in the order of the settings.
    all: Vec<(Arc<str>, Address)>,
    /// The one in use: it stays as long as it is there.
    chosen: usize,
}

impl Routes {
    /// Where a node is reached.
    #[must_use]
    pub fn route(&self, host_id: Uuid) -> Option<&Address> {
        self.hosts.get(&host_id).map(|host| &host.all[host.chosen].1)
    }

    /// The connection whose route to a node is in use.
    #[must_use]
    pub fn connection(&self, host_id: Uuid) -> Option<&str> {
        self.hosts.get(&host_id).map(|host| &*host.all[host.chosen].0)
    }

    /// How many nodes have a route.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether no node has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }
}

/// The routes as they are now; a clone is the same table, and reading it takes no lock.
#[derive(Clone, Default)]
pub struct RouteTable {
    shared: Arc<ArcSwap<Routes>>,
}

impl RouteTable {
    /// A table without routes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What it holds.
    #[must_use]
    pub fn now(&self) -> Arc<Routes> {
        self.shared.load_full()
    }

    /// Replaces what it holds.
    pub fn publish(&self, routes: Routes) {
        self.shared.store(Arc::new(routes));
    }
}

impl fmt::Debug for RouteTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouteTable").field("routes", &self.now().len()).finish()
    }
}

/// A node that is reached by its route of the moment: looked up in memory at every connect, and kept by none.
///
/// A node without a route is dialled at its own address, unless routes alone are allowed.
#[derive(Clone, Debug)]
pub struct RouteEndpoint {
    host_id: Uuid,
    routes: RouteTable,
    /// The node's own address; `None` where routes alone are allowed.
    own: Option<Address>,
    /// What was looked up for a connect that is under way.
    settled: Option<Option<Address>>,
}

impl RouteEndpoint {
    /// The node, by its route in `routes`; by `own` while it has none.
    #[must_use]
    pub fn new(host_id: Uuid, routes: RouteTable, own: Option<Address>) -> Self {
        Self { host_id, routes, own, settled: None }
    }

    /// The node that it leads to.
    #[must_use]
    pub fn host_id(&self) -> Uuid {
        self.host_id
    }

    /// Where the node is reached now; `None` is nowhere.
    #[must_use]
    pub fn route(&self) -> Option<Address> {
        match &self.settled {
            Some(settled) => settled.clone(),
            None => self.routes.now().route(self.host_id).or(self.own.as_ref()).cloned(),
        }
    }

    /// Where to dial; a name that leads nowhere if there is no way to the node.
    pub(super) fn address(&self) -> Address {
        self.route().unwrap_or_else(|| nowhere(self.host_id))
    }

    /// Looks up now, for one connect: what is dialled, verified and told is the same, whatever changes meanwhile.
    pub(super) fn settle(&mut self) -> Result<(), BoxError> {
        let route = self.route();
        let found = route.is_some();
        self.settled = Some(route);
        if found { Ok(()) } else { Err(NoRoute { host_id: self.host_id }.into()) }
    }

    pub(super) fn unsettle(&mut self) {
        self.settled = None;
    }
}

/// Under `.invalid`, which no server answers for; a connect that would dial it is ended before.
fn nowhere(host_id: Uuid) -> Address {
    let name = Name::new(&format!("{host_id}.no-route.invalid"));
    match name {
        Ok(name) => Address::Name(name, super::DEFAULT_PORT),
        Err(error) => unreachable!("a host id is a label: {error}"),
    }
}

impl PartialEq for RouteEndpoint {
    fn eq(&self, other: &Self) -> bool {
        self.host_id == other.host_id
    }
}

impl Eq for RouteEndpoint {}

impl Hash for RouteEndpoint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.host_id.hash(state);
    }
}

impl fmt::Display for RouteEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client route of {}", self.host_id)
    }
}

/// No route leads to the node, and it has no address of its own that may be dialled.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no client route leads to host {host_id}, and its own address is unknown, or not to be dialled (proxy-only)")]
pub struct NoRoute {
    /// The node.
    pub host_id: Uuid,
}
