//! One row of the table of routes: usable, or the reason why not.

use std::sync::Arc;

use messina_layers::Address;
use thiserror::Error;
use uuid::Uuid;

use super::{RouteConnection, RouteKey};

/// A row as it was read; a null is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteRow {
    /// The connection's id.
    pub connection_id: Option<String>,
    /// The node's host id.
    pub host_id: Option<Uuid>,
    /// A name or an IP literal.
    pub address: Option<String>,
    /// The port of CQL.
    pub port: Option<i32>,
    /// The port of CQL inside TLS.
    pub tls_port: Option<i32>,
}

impl RouteRow {
    /// What the row belongs to, if it says so.
    #[must_use]
    pub fn key(&self) -> Option<RouteKey> {
        Some(RouteKey { connection_id: Arc::from(self.connection_id.as_deref()?), host_id: self.host_id? })
    }

    /// Where it leads through `connection`, with TLS or without.
    ///
    /// # Errors
    /// If the address is blank, no host, or has a port, or the port is missing or none.
    pub fn address(&self, connection: &RouteConnection, tls: bool) -> Result<Address, UnusableRoute> {
        let (column, port) = if tls { ("tls_port", self.tls_port) } else { ("port", self.port) };
        let Some(port) = port else {
            return Err(UnusableRoute::new(column, "is null, and there is no other port for this"));
        };
        let port = match u16::try_from(port) {
            Ok(port) if port > 0 => port,
            _ => return Err(UnusableRoute::new(column, format!("{port} is no port, which is 1 to 65535"))),
        };
        // The address in the table need not even make sense where it is replaced.
        if let Some(host) = connection.host() {
            return Ok(host.with_port(port));
        }
        let Some(address) = self.address.as_deref() else {
            return Err(UnusableRoute::new("address", "is null"));
        };
        if address.trim().is_empty() {
            return Err(UnusableRoute::new("address", "is blank"));
        }
        let parsed = Address::new(address, port);
        parsed.map_err(|error| UnusableRoute::new("address", format!("no host without a port: {error}")))
    }
}

/// Why a route cannot be used: which column, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{column}: {problem}")]
pub struct UnusableRoute {
    column: &'static str,
    problem: String,
}

impl UnusableRoute {
    pub(super) fn new(column: &'static str, problem: impl Into<String>) -> Self {
        Self { column, problem: problem.into() }
    }

    /// The column.
    #[must_use]
    pub fn column(&self) -> &'static str {
        self.column
    }
}
