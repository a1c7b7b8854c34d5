//! What a node says of itself.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use scylla_cql_core::deserialize::row::ColumnIterator;
use uuid::Uuid;

use super::{
    Skipped, Token,
    row::{Row, RowError},
};
use crate::{endpoint::Endpoint, protocol::response::Rows};

/// What a node says of itself in `system.local`, or of another in its peers table.
///
/// Columns: the CQL schema of Apache Cassandra's `system` keyspace; a column that a server lacks is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeInfo {
    /// The identity of the node, for its whole life.
    pub host_id: Uuid,
    /// Where clients should connect, if the row tells.
    pub address: Option<SocketAddr>,
    /// How the node is dialled, where that is not at its address; see [`NodeInfo::endpoint`].
    pub endpoint: Option<Endpoint>,
    /// Where other nodes reach it.
    pub broadcast: Option<IpAddr>,
    /// The cluster's name; in `system.local` only.
    pub cluster_name: Option<String>,
    /// The data centre.
    pub datacenter: Option<String>,
    /// The rack.
    pub rack: Option<String>,
    /// The server's version.
    pub release_version: Option<String>,
    /// The partitioner's class name; in `system.local` only.
    pub partitioner: Option<String>,
    /// The version of the schema that the node has.
    pub schema_version: Option<Uuid>,
    /// The node's tokens.
    pub tokens: Arc<[Token]>,
    /// Tokens that are none of the Murmur3 partitioner, as they were told.
    pub odd_tokens: Vec<String>,
}

impl NodeInfo {
    /// A node of which only the identity is known.
    #[must_use]
    pub fn new(host_id: Uuid) -> Self {
        Self {
            host_id,
            address: None,
            endpoint: None,
            broadcast: None,
            cluster_name: None,
            datacenter: None,
            rack: None,
            release_version: None,
            partitioner: None,
            schema_version: None,
            tokens: Arc::default(),
            odd_tokens: Vec::new(),
        }
    }

    /// How the node is dialled: as a topology monitor says, or else at its address.
    #[must_use]
    pub fn endpoint(&self) -> Option<Endpoint> {
        self.endpoint.clone().or_else(|| self.address.map(Endpoint::from))
    }
}

impl NodeInfo {
    /// Reads `system.local`; `None` if there is no row. `port` stands in where the row has none.
    ///
    /// # Errors
    /// If a column has an unexpected type or value, or the node has no host id.
    pub fn from_local(rows: &Rows, port: u16) -> Result<Option<Self>, RowError> {
        let Some(columns) = rows.raw().next() else { return Ok(None) };
        let columns = columns.map_err(|error| RowError::new("system.local", "?", error))?;
        let row = Row::read("system.local", columns)?;
        let mut node = Self::common(&row)?;
        node.cluster_name = row.get("cluster_name")?;
        node.partitioner = row.get("partitioner")?;
        node.broadcast = row.get("broadcast_address")?;
        let port = port_of(&row, "rpc_port")?.unwrap_or(port);
        node.address = usable(row.get("rpc_address")?).or(usable(node.broadcast)).map(|ip| (ip, port).into());
        Ok(Some(node))
    }

    /// Reads a row of `system.peers_v2` or `system.peers`. `port` stands in where the row has none.
    ///
    /// # Errors
    /// If a column has an unexpected type or value, the node has no host id, or no address that could be dialled.
    pub(super) fn from_peer(table: &'static str, columns: ColumnIterator<'_, '_>, port: u16) -> Result<Self, Skipped> {
        let row = Row::read(table, columns).map_err(|error| error.skipped("an unknown host"))?;
        Self::peer(&row, port).map_err(|error| error.skipped(row.host()))
    }

    fn peer(row: &Row<'_>, port: u16) -> Result<Self, RowError> {
        let mut node = Self::common(row)?;
        node.broadcast = row.get("peer")?;
        let port = port_of(row, "native_port")?.unwrap_or(port);
        let advertised = row.get("native_address")?.or(row.get("rpc_address")?);
        // 0.0.0.0 means every interface of the node: the address by which its peers know it is one of them.
        let ip = usable(advertised).or_else(|| usable(node.broadcast).filter(|_| advertised.is_some()));
        let column = if row.has("native_address") { "native_address" } else { "rpc_address" };
        let ip = ip.ok_or_else(|| row.error(column, "no address that could be dialled"))?;
        node.address = Some((ip, port).into());
        Ok(node)
    }

    fn common(row: &Row<'_>) -> Result<Self, RowError> {
        let host_id = row.get::<Uuid>("host_id")?.ok_or_else(|| row.error("host_id", "the node reports no host id"))?;
        let mut node = Self::new(host_id);
        node.datacenter = row.get("data_center")?;
        node.rack = row.get("rack")?;
        node.release_version = row.get("release_version")?;
        node.schema_version = row.get("schema_version")?;
        let mut tokens = Vec::new();
        for text in row.get::<Vec<&str>>("tokens")?.unwrap_or_default() {
            match text.parse() {
                Ok(token) => tokens.push(token),
                Err(_) => node.odd_tokens.push(text.to_owned()),
            }
        }
        node.tokens = tokens.into();
        Ok(node)
    }
}

/// An address that means something to others: 0.0.0.0 and :: do not.
fn usable(ip: Option<IpAddr>) -> Option<IpAddr> {
    ip.filter(|ip| !ip.is_unspecified())
}

fn port_of(row: &Row<'_>, column: &str) -> Result<Option<u16>, RowError> {
    match row.get::<i32>(column)? {
        None => Ok(None),
        Some(port) => match u16::try_from(port) {
            Ok(port) if port > 0 => Ok(Some(port)),
            _ => Err(row.error(column, format_args!("{port} is not a port"))),
        },
    }
}
