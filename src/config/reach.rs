//! How nodes are reached: at the addresses that they advertise, or in one other way.

mod check;

use std::sync::Arc;

use crate::endpoint::{AddressTranslator, RouteConnection, SniProxy};

/// The table of client routes, where none is named.
pub const CLIENT_ROUTES_TABLE: &str = "system.client_routes";

/// How nodes are reached. The ways exclude each other.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Reach {
    /// At the addresses that they advertise.
    #[default]
    Direct,
    /// At what those addresses are translated into.
    Translated(Arc<dyn AddressTranslator>),
    /// Through SNI proxies; never empty.
    Sni(Vec<SniProxy>),
    /// By client routes.
    ClientRoutes(ClientRoutes),
}

/// Client routes, as a session is told of them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientRoutes {
    /// The connections whose routes are followed; never empty, no id twice. The first that has a route comes first.
    pub connections: Vec<RouteConnection>,
    /// The table, with its keyspace.
    pub table: String,
    /// Whether a node without a route is never dialled at its own address.
    pub proxy_only: bool,
}
