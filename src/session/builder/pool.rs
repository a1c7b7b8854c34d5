//! Connections of a node.

use std::{ops::RangeInclusive, time::Duration};

use super::SessionBuilder;
use crate::config::IdentifiedFallback;

/// How many connections a node gets, and how they are opened again.
impl SessionBuilder {
    /// Opens so many connections to a node of the local data centre, and so many to any other; 1 and 1 by default.
    ///
    /// Rounded up to the same number for every shard of a ScyllaDB node. 0 leaves the other nodes alone.
    pub fn connections_per_node(mut self, local: usize, remote: usize) -> Self {
        (self.draft.pool.local_size, self.draft.pool.remote_size) = (local, remote);
        self
    }

    /// Whether a ScyllaDB node's shards are chosen by the local port, where the node has a port for that; true by
    /// default. A connection that reaches another shard than wanted turns that off for the node, for five minutes.
    pub fn shard_awareness(mut self, enabled: bool) -> Self {
        self.draft.pool.shard_aware = enabled;
        self
    }

    /// The local ports from which a shard is chosen; 10000 to 65535 by default.
    pub fn shard_ports(mut self, ports: RangeInclusive<u16>) -> Self {
        self.draft.pool.shard_ports = ports;
        self
    }

    /// Opens at most so many connections at a time, for the whole session and to one node; 256 and no limit of its own
    /// by default. An open connection does not count.
    pub fn max_concurrent_connects(mut self, session: usize, node: Option<usize>) -> Self {
        (self.draft.pool.max_connects, self.draft.pool.max_connects_per_host) = (session, node);
        self
    }

    /// Where else a node is looked for when the address that it is held to fails; nowhere by default.
    pub fn identified_fallback(mut self, fallback: IdentifiedFallback) -> Self {
        self.draft.pool.identified_fallback = fallback;
        self
    }

    /// Waits this long before a node is tried again, doubled with each failure up to the second; 1 s and 60 s by
    /// default, both varied by 15 %.
    pub fn reconnect_delays(mut self, base: Duration, max: Duration) -> Self {
        (self.draft.pool.base_delay, self.draft.pool.max_delay) = (base, max);
        self
    }
}
