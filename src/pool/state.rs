//! What a session tells of its nodes and connections.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use messina_layers::{ConnectError, HostAddr};
use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    endpoint::Endpoint,
    protocol::{Compression, ProtocolVersion},
};

/// Whether a node can be used, as far as its connections tell.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Standing {
    /// No connect to it has ended yet.
    Unknown,
    /// It has a connection.
    Up,
    /// It has none; it is being connected to, or will be.
    Down,
    /// It is not the server that it should be, and is asked again late.
    ForcedDown {
        /// Why.
        reason: Arc<ConnectError>,
        /// When it is asked again.
        until: Instant,
    },
    /// It is left alone: nodes of its data centre get no connections.
    Ignored,
}

/// A node and its connections at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeState {
    /// Who it is.
    pub host_id: Uuid,
    /// How it is dialled: what it advertises.
    pub endpoint: Endpoint,
    /// The address that a name is held to.
    pub pin: Option<HostAddr>,
    /// The address by which it is reached while its own fails.
    pub via: Option<SocketAddr>,
    /// Its data centre.
    pub datacenter: Option<String>,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it is in the data centre that requests prefer.
    pub local: bool,
    /// Whether it is ScyllaDB, as far as a connection told.
    pub scylla: Option<bool>,
    /// Whether it can be used.
    pub standing: Standing,
    /// How many shards it has, if it told.
    pub shards: Option<u16>,
    /// How many connections it is to have.
    pub wanted: usize,
    /// Its connections.
    pub connections: Vec<ConnectionState>,
    /// How many are being opened.
    pub opening: usize,
    /// For how long its shard-aware port is not used, since the shards reached were others than those asked for.
    pub shard_port_blocked_for: Option<Duration>,
    /// Why the last connect failed, unless one succeeded since.
    pub last_error: Option<Arc<ConnectError>>,
    /// When the next connect begins, if one is waited for.
    pub next_attempt_in: Option<Duration>,
}

/// A connection at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectionState {
    /// The address at its other end.
    pub peer: SocketAddr,
    /// The shard at its other end.
    pub shard: Option<u16>,
    /// What it is good for.
    pub purpose: Purpose,
    /// Requests on it: waiting, answered and not taken yet, and orphans.
    pub in_flight: usize,
    /// Requests that were given up while their answer is still due.
    pub orphans: usize,
    /// How long it has been open.
    pub age: Duration,
    /// How long ago the last answer came.
    pub last_answer: Duration,
    /// The protocol version.
    pub version: ProtocolVersion,
    /// The compression.
    pub compression: Option<Compression>,
}

/// What a connection is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// It serves requests.
    Serving,
    /// It serves until one to the node's own or new address does.
    Provisional,
    /// It reached a shard that has enough, and waits so that the next one reaches another.
    Aside,
}
