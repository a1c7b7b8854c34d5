//! What a node says about itself.

use std::net::SocketAddr;

use uuid::Uuid;

use super::ServerTls;
use super::wire::response::digest;

/// Everything a node tells its clients about itself, and its peers tell about it.
///
/// Changed before the start by [`ClusterBuilder::node`](super::ClusterBuilder::node), later by
/// [`Node::set`](super::Node::set); what is read after the change sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeFacts {
    /// The cluster's name.
    pub cluster_name: String,
    /// The host id; `None` is a null.
    pub host_id: Option<Uuid>,
    /// The data centre; `None` is a null.
    pub data_center: Option<String>,
    /// The rack; `None` is a null.
    pub rack: Option<String>,
    /// The server's version.
    pub release_version: String,
    /// The partitioner's class name.
    pub partitioner: String,
    /// The version of the schema.
    pub schema_version: Uuid,
    /// The tokens.
    pub tokens: Vec<i64>,
    /// The address that the node tells clients to use; `None` is a null.
    pub address: Option<SocketAddr>,
    /// Whether the other nodes list it among their peers.
    pub listed: bool,
    /// The protocol versions that it speaks, of 3, 4 and 5.
    pub versions: Vec<u8>,
    /// Whether SUPPORTED lists them.
    pub lists_versions: bool,
    /// Whether there is a table `system.peers_v2`.
    pub has_peers_v2: bool,
    /// What SUPPORTED offers as compression.
    pub compression: Vec<String>,
    /// Event types that REGISTER accepts beside the three that every server knows.
    pub events: Vec<String>,
    /// What it shows in the TLS handshake; `None` is a node without TLS.
    pub tls: Option<ServerTls>,
    /// What makes it a Scylla node.
    pub scylla: Option<Scylla>,
}

impl NodeFacts {
    pub(super) fn new(cluster: &str, index: usize, nodes: usize, address: SocketAddr) -> Self {
        let mut id = digest(format!("{cluster}/{index}").as_bytes());
        // Four and eight: the marks of a random UUID.
        id[6] = id[6] & 0x0F | 0x40;
        id[8] = id[8] & 0x3F | 0x80;
        let step = (1_i128 << 64) / (nodes as i128 * TOKENS);
        let token = |k: i128| i128::from(i64::MIN) + (k * nodes as i128 + index as i128) * step;
        Self {
            cluster_name: cluster.into(),
            host_id: Some(Uuid::from_bytes(id)),
            data_center: Some("datacenter1".into()),
            rack: Some("rack1".into()),
            release_version: "5.0.4".into(),
            partitioner: "org.apache.cassandra.dht.Murmur3Partitioner".into(),
            schema_version: Uuid::from_u128(0x5c4e_0000_0000_1000_8000_0000_0000_0001),
            tokens: (0..TOKENS).filter_map(|k| i64::try_from(token(k)).ok()).collect(),
            address: Some(address),
            listed: true,
            versions: vec![3, 4, 5],
            lists_versions: true,
            has_peers_v2: true,
            compression: vec!["lz4".into(), "snappy".into()],
            events: Vec::new(),
            tls: None,
            scylla: None,
        }
    }

    /// `3/v3, 4/v4`.
    pub(super) fn version_list(&self) -> Vec<String> {
        self.versions.iter().map(|version| format!("{version}/v{version}")).collect()
    }
}

/// How many tokens each node owns.
const TOKENS: i128 = 4;

/// The keys that a Scylla node adds to SUPPORTED.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scylla {
    /// How many shards there are; 0 leaves the shard keys out.
    pub shards: u16,
    /// Whether the host id is told.
    pub host_id: bool,
    /// Whether there is a second port, where the client's own port chooses the shard: any free one on loopback, 19042 or,
    /// with TLS, 19142 in a network of pipes.
    pub shard_aware: bool,
    /// The shard-aware port that is told; set at the start where the node opens one.
    pub shard_aware_port: Option<u16>,
    /// The same, for TLS.
    pub shard_aware_port_ssl: Option<u16>,
    /// The bits of the token that sharding ignores.
    pub ignore_msb: u8,
    /// Other keys, such as `TABLETS_ROUTING_V1`.
    pub extra: Vec<(String, String)>,
}

impl Scylla {
    /// A node with this many shards that tells its host id.
    pub fn new(shards: u16) -> Self {
        Self {
            shards,
            host_id: true,
            shard_aware: false,
            shard_aware_port: None,
            shard_aware_port_ssl: None,
            ignore_msb: 12,
            extra: Vec::new(),
        }
    }

    /// Opens a shard-aware port beside the ordinary one.
    pub fn shard_aware(mut self) -> Self {
        self.shard_aware = true;
        self
    }

    /// Adds a key.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.extra.push((key.into(), value.into()));
        self
    }

    /// The shard-aware port in a network of pipes.
    pub(super) fn network_port(&self) -> Option<u16> {
        self.shard_aware_port.or(self.shard_aware_port_ssl).filter(|_| self.shard_aware)
    }

    pub(super) fn keys(&self, shard: u16, host_id: Option<Uuid>, partitioner: &str) -> Vec<(String, Vec<String>)> {
        let mut keys = Vec::new();
        let mut key = |name: &str, value: String| keys.push((name.to_owned(), vec![value]));
        if self.shards > 0 {
            key("SCYLLA_SHARD", shard.to_string());
            key("SCYLLA_NR_SHARDS", self.shards.to_string());
            key("SCYLLA_PARTITIONER", partitioner.to_owned());
            key("SCYLLA_SHARDING_ALGORITHM", "biased-token-round-robin".into());
            key("SCYLLA_SHARDING_IGNORE_MSB", self.ignore_msb.to_string());
        }
        if let Some(port) = self.shard_aware_port {
            key("SCYLLA_SHARD_AWARE_PORT", port.to_string());
        }
        if let Some(port) = self.shard_aware_port_ssl {
            key("SCYLLA_SHARD_AWARE_PORT_SSL", port.to_string());
        }
        if let Some(id) = host_id.filter(|_| self.host_id) {
            key("SCYLLA_HOST_ID", id.to_string());
        }
        for (name, value) in &self.extra {
            key(name, value.clone());
        }
        keys
    }
}
