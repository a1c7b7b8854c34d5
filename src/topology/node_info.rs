//! What a node says of itself.

use std::net::{IpAddr, SocketAddr};

use uuid::Uuid;

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
    /// The node's tokens, as text.
    pub tokens: Vec<String>,
}

impl NodeInfo {
    /// A node of which only the identity is known.
    #[must_use]
    pub fn new(host_id: Uuid) -> Self {
        Self {
            host_id,
            address: None,
            broadcast: None,
            cluster_name: None,
            datacenter: None,
            rack: None,
            release_version: None,
            partitioner: None,
            schema_version: None,
            tokens: Vec::new(),
        }
    }
}
