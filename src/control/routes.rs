//! The monitor that follows client routes: which are read when, and what that makes of the nodes' endpoints.

mod events;
mod read;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use messina_layers::error::BoxError;
use tower::service_fn;

use self::{
    events::{concerns_us, covered_by},
    read::read_routes,
};
use crate::{
    config::ClientRoutes,
    endpoint::{Covered, Endpoint, RouteEndpoint, RouteTable},
    protocol::response::{Event, event::CLIENT_ROUTES_CHANGE},
    topology::{BoxNodes, Cause, NodeInfo, NodeList, NodesRequest, Reaction, Snapshot, SystemTables, TopologyMonitor},
};

/// How often the table is read again where the server tells of no change.
const REREAD: Duration = Duration::from_secs(60);

/// Nodes are reached by the client routes of some connections.
///
/// The table is read with each full read of the nodes, and in part when the server tells of a change. The control
/// connection asks for one thing at a time, and a full read answers all events before it, so no two reads race.
#[derive(Clone, Debug)]
pub(super) struct RoutesMonitor {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    tables: SystemTables,
    settings: ClientRoutes,
    tls: bool,
    routes: RouteTable,
    /// Complaints of the last read: each is told when it is new.
    told: Mutex<Vec<String>>,
}

impl RoutesMonitor {
    pub(super) fn new(tables: SystemTables, settings: ClientRoutes, tls: bool) -> Self {
        let (routes, told) = (RouteTable::new(), Mutex::default());
        Self { inner: Arc::new(Inner { tables, settings, tls, routes, told }) }
    }
}

impl TopologyMonitor for RoutesMonitor {
    fn nodes(&self) -> BoxNodes {
        let inner = Arc::clone(&self.inner);
        BoxNodes::new(service_fn(move |request| {
            let inner = Arc::clone(&inner);
            async move { inner.nodes(request).await }
        }))
    }

    fn endpoint(&self, node: &NodeInfo) -> Option<Endpoint> {
        let own = node.address.filter(|_| !self.inner.settings.proxy_only);
        let route = RouteEndpoint::new(node.host_id, self.inner.routes.clone(), own.map(Into::into));
        Some(Endpoint::ClientRoute(route))
    }

    fn events(&self) -> &[&'static str] {
        &[CLIENT_ROUTES_CHANGE]
    }

    fn on_event(&self, event: &Event) -> Reaction {
        concerns_us(event, &self.inner.settings.connections)
    }

    fn reread_after(&self, registered: &[&'static str]) -> Option<Duration> {
        (!registered.contains(&CLIENT_ROUTES_CHANGE)).then_some(REREAD)
    }

    /// Whether every known node has a route now: then each connect looks up where it leads, wherever that moves.
    fn reresolves_node_addresses(&self, snapshot: &Snapshot) -> bool {
        let routes = self.inner.routes.now();
        let nodes = snapshot.nodes();
        !nodes.is_empty() && nodes.iter().all(|node| routes.route(node.host_id).is_some())
    }
}

impl Inner {
    async fn nodes(&self, request: NodesRequest) -> Result<NodeList, BoxError> {
        let covered = match &request.cause {
            Cause::Events(events) => covered_by(events, &self.settings.connections),
            _ => Covered::All,
        };
        let mut list = match covered {
            // The nodes are as they were; only where they are reached may differ.
            Covered::Some { .. } if !request.known.nodes().is_empty() => {
                let known = request.known.nodes().iter().map(|node| NodeInfo::clone(node));
                let mut list = NodeList::new(known.collect());
                // What is found wrong with the nodes themselves is found again.
                let rows = request.known.skipped().iter().filter(|skipped| skipped.table != "nodes");
                list.skipped = rows.cloned().collect();
                list
            }
            _ => self.tables.read(&request).await?,
        };
        let all = covered == Covered::All;
        match read_routes(&request.connection, &self.settings, covered).await? {
            Ok(read) => {
                let merged = self.routes.now().merge(&read, &self.settings.connections, self.tls);
                let table = &self.settings.table;
                let complaints = merged.unusable.iter();
                self.tell(
                    all,
                    complaints.map(|(row, why)| format!("the row of {table} for {row} cannot be used: {why}")),
                );
                for host_id in &merged.changed {
                    let route = merged.routes.route(*host_id).map_or_else(|| "none".to_owned(), ToString::to_string);
                    tracing::info!(%host_id, %route, "client route changed");
                }
                list.redial = merged.changed;
                self.routes.publish(merged.routes);
            }
            // Without the table nodes are dialled as if there were no route; those that are known stay.
            Err(refusal) => {
                let text = format!("client routes cannot be read from {}: {refusal}", self.settings.table);
                self.tell(all, std::iter::once(text));
            }
        }
        Ok(list)
    }

    /// Warns of what was not complained of before, since the last read of `all`.
    fn tell(&self, all: bool, complaints: impl Iterator<Item = String>) {
        let complaints: Vec<_> = complaints.collect();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for complaint in complaints.iter().filter(|complaint| !told.contains(complaint)) {
            tracing::warn!("{complaint}");
        }
        if all {
            *told = complaints;
        } else {
            told.extend(complaints);
        }
    }
}
