//! Client routes, as ScyllaDB's table tells them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use scylla_cql_core::value::CqlValue;
use uuid::Uuid;

/// The event type that tells of changed routes.
pub(super) const CLIENT_ROUTES_CHANGE: &str = "CLIENT_ROUTES_CHANGE";

/// A row of `system.client_routes`; see [`Cluster::set_client_routes`](super::Cluster::set_client_routes).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientRoute {
    /// The connection's id.
    pub connection_id: String,
    /// The node's host id.
    pub host_id: Uuid,
    /// Where the route leads; `None` is a null.
    pub address: Option<String>,
    /// The port of CQL; `None` is a null.
    pub port: Option<i32>,
    /// The port of CQL inside TLS; `None` is a null.
    pub tls_port: Option<i32>,
}

impl ClientRoute {
    /// A route with both ports the same.
    pub fn new(connection_id: impl Into<String>, host_id: Uuid, address: impl Into<String>, port: u16) -> Self {
        let port = Some(i32::from(port));
        Self { connection_id: connection_id.into(), host_id, address: Some(address.into()), port, tls_port: port }
    }

    /// Changes the row, into one that makes no sense if need be.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// The table of a cluster; `None` is a server that has none.
#[derive(Debug, Default)]
pub(super) struct RoutesTable(Mutex<Option<Vec<ClientRoute>>>);

type Cell = (&'static str, &'static str, Option<CqlValue>);

impl RoutesTable {
    pub(super) fn set(&self, rows: Option<Vec<ClientRoute>>) {
        *self.lock() = rows;
    }

    /// The columns, and the rows that a statement asks for.
    pub(super) fn select(&self, text: &str) -> Option<(Vec<Cell>, Vec<Vec<Cell>>)> {
        let rows = self.lock().clone()?;
        let (connections, hosts) = (listed(text, "connection_id"), listed(text, "host_id"));
        let wanted = |list: &Option<Vec<String>>, value: &str| {
            list.as_ref().is_none_or(|list| list.iter().any(|one| one == value))
        };
        let rows = rows
            .into_iter()
            .filter(|row| wanted(&connections, &row.connection_id) && wanted(&hosts, &row.host_id.to_string()));
        let nobody = ClientRoute {
            connection_id: String::new(),
            host_id: Uuid::nil(),
            address: None,
            port: None,
            tls_port: None,
        };
        Some((cells(nobody), rows.map(cells).collect()))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<ClientRoute>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cells(row: ClientRoute) -> Vec<Cell> {
    vec![
        ("connection_id", "text", Some(CqlValue::Text(row.connection_id))),
        ("host_id", "uuid", Some(CqlValue::Uuid(row.host_id))),
        ("address", "text", row.address.map(CqlValue::Text)),
        ("alternator_https_port", "int", None),
        ("alternator_port", "int", None),
        ("port", "int", row.port.map(CqlValue::Int)),
        ("tls_port", "int", row.tls_port.map(CqlValue::Int)),
    ]
}

/// What stands in `column IN (..)`, without quotes.
fn listed(text: &str, column: &str) -> Option<Vec<String>> {
    let (_, rest) = text.split_once(&format!("{column} IN ("))?;
    let mut items = Vec::new();
    let (mut item, mut quoted) = (String::new(), false);
    for c in rest.chars() {
        match c {
            // Two quotes inside quotes are one: it was closed a moment ago, and is opened again.
            '\'' => {
                if !quoted && !item.trim().is_empty() {
                    item.push('\'');
                }
                quoted = !quoted;
            }
            ',' if !quoted => items.push(std::mem::take(&mut item).trim().to_owned()),
            ')' if !quoted => {
                items.push(item.trim().to_owned());
                return Some(items);
            }
            c => item.push(c),
        }
    }
    None
}
