//! What a read of the table changes: exactly what it proves.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use messina_layers::Address;
use uuid::Uuid;

use super::{HostRoutes, RouteConnection, RouteKey, RouteRow, Routes, UnusableRoute};

/// Which routes a read would have shown, had they been there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Covered {
    /// Those of all of our connections.
    All,
    /// Those of these connections to these nodes.
    Some {
        /// The ids of the connections.
        connections: BTreeSet<Arc<str>>,
        /// The host ids.
        hosts: BTreeSet<Uuid>,
    },
}

impl Covered {
    fn covers(&self, key: &RouteKey) -> bool {
        match self {
            Self::All => true,
            Self::Some { connections, hosts } => {
                connections.contains(&key.connection_id) && hosts.contains(&key.host_id)
            }
        }
    }
}

/// A read of the table: what was asked, and the rows that came.
#[derive(Clone, Debug)]
pub struct RouteRead {
    /// What was asked.
    pub covered: Covered,
    /// The rows, as they came.
    pub rows: Vec<RouteRow>,
}

/// What a read made of the routes.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The routes from now on.
    pub routes: Routes,
    /// The nodes whose route in use is new, another, or gone.
    pub changed: Vec<Uuid>,
    /// Rows that cannot be used, each with what it belongs to (as far as it says) and the reason.
    pub unusable: Vec<(String, UnusableRoute)>,
}

impl Routes {
    /// These routes after a read. A row replaces the route of its key; a covered route without a row is gone; a row
    /// that cannot be used costs the route that it would have been, and no other: it proves nothing absent, so what its
    /// key had before stays. Rows of connections that are not `ours`, and rows that were not asked for, do nothing.
    ///
    /// A node keeps the connection it is reached by as long as that has a route to it; else it takes the first of
    /// `ours` that has.
    #[must_use]
    pub fn merge(&self, read: &RouteRead, ours: &[RouteConnection], tls: bool) -> Merged {
        let mut unusable = Vec::new();
        let mut there: HashMap<RouteKey, Address> = HashMap::new();
        let mut doubtful: HashSet<RouteKey> = HashSet::new();
        for row in &read.rows {
            let Some(key) = row.key() else {
                let connection = row.connection_id.as_deref().unwrap_or("null");
                let host = row.host_id.map_or_else(|| "null".to_owned(), |host_id| host_id.to_string());
                let missing = if row.host_id.is_none() { "host_id" } else { "connection_id" };
                let why = UnusableRoute::new(missing, "is null");
                unusable.push((format!("connection {connection:?}, host {host}"), why));
                continue;
            };
            let Some(connection) = ours.iter().find(|ours| *ours.id() == key.connection_id) else { continue };
            if !read.covered.covers(&key) {
                continue;
            }
            match row.address(connection, tls) {
                Ok(address) => {
                    there.insert(key, address);
                }
                Err(why) => {
                    unusable.push((key.to_string(), why));
                    doubtful.insert(key);
                }
            }
        }
        for (host_id, host) in &self.hosts {
            for (connection_id, address) in &host.all {
                let key = RouteKey { connection_id: Arc::clone(connection_id), host_id: *host_id };
                if doubtful.contains(&key) || !read.covered.covers(&key) {
                    there.entry(key).or_insert_with(|| address.clone());
                }
            }
        }
        let routes = self.chosen_from(&there, ours);
        let mut changed: Vec<Uuid> = self
            .hosts
            .keys()
            .chain(routes.hosts.keys().filter(|host| !self.hosts.contains_key(host)))
            .copied()
            .collect();
        changed.retain(|host| self.route(*host) != routes.route(*host));
        changed.sort_unstable();
        Merged { routes, changed, unusable }
    }

    fn chosen_from(&self, there: &HashMap<RouteKey, Address>, ours: &[RouteConnection]) -> Self {
        let mut hosts: HashMap<Uuid, HostRoutes> = HashMap::new();
        for (key, address) in there {
            let host = hosts.entry(key.host_id).or_insert_with(|| HostRoutes { all: Vec::new(), chosen: 0 });
            host.all.push((Arc::clone(&key.connection_id), address.clone()));
        }
        for (host_id, host) in &mut hosts {
            // In the order of the settings: what was not chosen before is the first that is there.
            host.all.sort_by_key(|(id, _)| ours.iter().position(|ours| ours.id() == id));
            let before = self.connection(*host_id);
            host.chosen = host.all.iter().position(|(id, _)| Some(&**id) == before).unwrap_or(0);
        }
        Self { hosts }
    }
}
