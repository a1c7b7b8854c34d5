//! The shards of a ScyllaDB node, as SUPPORTED tells them.
//!
//! Keys and formula: ScyllaDB's `docs/dev/protocol-extensions.md`, "Intranode sharding". The keys of sharding may be
//! absent on a ScyllaDB node, so the product is recognised by any of its keys.

use super::response::Supported;

const PARTITIONER: &str = "Murmur3Partitioner";
const ALGORITHM: &str = "biased-token-round-robin";

/// How a node spreads tokens over its shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sharding {
    shards: u16,
    ignore_msb: u8,
}

/// What one connection to a ScyllaDB node was told about shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardInfo {
    /// How the node is sharded.
    pub sharding: Sharding,
    /// The shard at the other end of this connection.
    pub shard: u16,
    /// The port where the client's own port chooses the shard.
    pub port: Option<u16>,
    /// The same, for TLS.
    pub port_ssl: Option<u16>,
}

impl Sharding {
    /// So many shards, and so many of a token's highest bits that sharding ignores; `None` if that cannot be.
    #[must_use]
    pub fn new(shards: u16, ignore_msb: u8) -> Option<Self> {
        (shards > 0 && ignore_msb < 64).then_some(Self { shards, ignore_msb })
    }

    /// How many shards there are; at least 1.
    #[must_use]
    pub fn shards(self) -> u16 {
        self.shards
    }

    /// The shard that owns a token.
    #[must_use]
    pub fn shard_of(self, token: i64) -> u16 {
        let biased = (token as u64) ^ (1 << 63);
        let scaled = u128::from(biased << self.ignore_msb) * u128::from(self.shards);
        // Less than the number of shards, which fits.
        (scaled >> 64) as u16
    }
}

impl ShardInfo {
    /// Reads SUPPORTED; `None` for a node without shards, and for one that is sharded in an unknown way.
    #[must_use]
    pub fn read(supported: &Supported) -> Option<Self> {
        let shards = number(supported, "SCYLLA_NR_SHARDS")?;
        let shard = number(supported, "SCYLLA_SHARD")?;
        let murmur3 = supported.first("SCYLLA_PARTITIONER").is_none_or(|class| class.ends_with(PARTITIONER));
        let known = murmur3 && supported.first("SCYLLA_SHARDING_ALGORITHM") == Some(ALGORITHM);
        if shard >= shards || !known {
            return None;
        }
        let sharding = Sharding::new(shards, number(supported, "SCYLLA_SHARDING_IGNORE_MSB")?)?;
        let port = |key| number(supported, key).filter(|port| *port != 0);
        Some(Self {
            sharding,
            shard,
            port: port("SCYLLA_SHARD_AWARE_PORT"),
            port_ssl: port("SCYLLA_SHARD_AWARE_PORT_SSL"),
        })
    }
}

/// Whether a server is ScyllaDB, by any of the keys that only it has.
#[must_use]
pub fn is_scylla(supported: &Supported) -> bool {
    supported.iter().any(|(key, _)| key.starts_with("SCYLLA_") || key.starts_with("TABLETS_ROUTING_"))
}

fn number<N: std::str::FromStr>(supported: &Supported, key: &str) -> Option<N> {
    supported.first(key)?.parse().ok()
}
