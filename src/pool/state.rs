//! What a session tells of its nodes and connections.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use messina_layers::{ConnectError, HostAddr};
use tokio::time::Instant;
use uuid::Uuid;

use super::{Node, live::Slot};
use crate::{
    endpoint::Endpoint,
    protocol::{Compression, ProtocolVersion, Sharding},
    topology::Refusal,
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

impl Standing {
    /// Why such a node must not be the control node; `None` if it may.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::ForcedDown { .. } => Some(Refusal::ForcedDown),
            Self::Ignored => Some(Refusal::Ignored),
            Self::Unknown | Self::Up | Self::Down => None,
        }
    }
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

impl Node {
    /// What is known of it now.
    pub(crate) fn state(&self) -> NodeState {
        let now = Instant::now();
        let via = self.via();
        let live = self.live();
        let facts = self.facts();
        let purpose = |slot: &Slot| match slot.via || slot.epoch != facts.epoch {
            true => Purpose::Provisional,
            false => Purpose::Serving,
        };
        let serving = live.slots.iter().map(|slot| ConnectionState::new(slot, purpose(slot), now));
        let aside = facts.aside.iter().map(|slot| ConnectionState::new(slot, Purpose::Aside, now));
        let left = |until: Option<Instant>| Some(until?.saturating_duration_since(now)).filter(|left| !left.is_zero());
        NodeState {
            host_id: self.host_id(),
            endpoint: facts.endpoint.target().clone(),
            pin: facts.endpoint.pin(),
            via,
            datacenter: facts.info.datacenter.clone(),
            rack: facts.info.rack.clone(),
            local: self.is_local(),
            scylla: facts.scylla,
            standing: facts.standing.clone(),
            shards: live.slots.last().and_then(|slot| slot.sharding()).map(Sharding::shards),
            wanted: facts.wanted,
            connections: serving.chain(aside).collect(),
            opening: facts.opening,
            shard_port_blocked_for: left(facts.blocked),
            last_error: self.last_error(),
            next_attempt_in: left(facts.next_attempt),
        }
    }
}

impl NodeState {
    /// For how long a connection has kept to the pin: the age of the oldest one there.
    #[must_use]
    pub fn pinned_for(&self) -> Option<Duration> {
        let pin = self.pin?;
        let held = self.connections.iter().filter(|connection| HostAddr::from(connection.peer) == pin);
        held.map(|connection| connection.age).max()
    }
}

impl ConnectionState {
    fn new(slot: &Slot, purpose: Purpose, now: Instant) -> Self {
        let connection = &slot.connection;
        Self {
            peer: connection.peer(),
            shard: slot.shard.map(|info| info.shard),
            purpose,
            in_flight: connection.in_flight(),
            orphans: connection.orphans(),
            age: now.saturating_duration_since(slot.opened),
            last_answer: now.saturating_duration_since(connection.last_answer()),
            version: connection.dialect().version,
            compression: connection.compression(),
        }
    }
}
