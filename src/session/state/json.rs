//! The state of a session, and its reconnection plan, as serde sees them: every key is always there, `null` where there is
//! nothing to say.

use std::time::Duration;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{ControlState, NodesTold, SessionState, table};
use crate::{
    control::{LeftOut, PlannedEntry, ReconnectionPlan},
    pool::{ConnectionState, NodeState, Standing},
};

/// A struct under its keys, in their order.
macro_rules! keys {
    ($serializer:expr, $name:literal, { $($key:literal: $value:expr),* $(,)? }) => {{
        let count = [$($key),*].len();
        let mut keys = $serializer.serialize_struct($name, count)?;
        $(keys.serialize_field($key, &$value)?;)*
        keys.end()
    }};
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn text(value: &Option<impl ToString>) -> Option<String> {
    value.as_ref().map(ToString::to_string)
}

impl Serialize for SessionState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        keys!(serializer, "SessionState", {
            "cluster": self.cluster,
            "protocol": self.protocol.map(|version| version.as_u8()),
            "contact_points": self.contact_points,
            "closed": self.closed,
            "control": self.control,
            "told": self.told,
            "nodes": self.nodes,
            "skipped": self.skipped.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}

impl Serialize for ControlState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        keys!(serializer, "ControlState", {
            "host_id": self.host_id.to_string(),
            "address": self.addr.to_string(),
            "age_ms": ms(self.age),
            "events": self.events,
        })
    }
}

impl Serialize for NodesTold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        keys!(serializer, "NodesTold", {
            "host_id": self.host_id.to_string(),
            "address": self.addr.to_string(),
            "age_ms": ms(self.age),
        })
    }
}

impl Serialize for NodeState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let forced_down = match &self.standing {
            Standing::ForcedDown { reason, .. } => Some(table::one_line(reason)),
            _ => None,
        };
        keys!(serializer, "NodeState", {
            "host_id": self.host_id.to_string(),
            "endpoint": self.endpoint.to_string(),
            "pin": text(&self.pin),
            "pinned_for_ms": self.pinned_for().map(ms),
            "via": text(&self.via),
            "datacenter": self.datacenter,
            "rack": self.rack,
            "local": self.local,
            "scylla": self.scylla,
            "state": table::standing(&self.standing),
            "forced_down_because": forced_down,
            "shards": self.shards,
            "wanted": self.wanted,
            "opening": self.opening,
            "connections": self.connections,
            "shard_port_blocked_for_ms": self.shard_port_blocked_for.map(ms),
            "next_attempt_in_ms": self.next_attempt_in.map(ms),
            "last_error": self.last_error.as_ref().map(|error| table::one_line(error)),
        })
    }
}

impl Serialize for ConnectionState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        keys!(serializer, "ConnectionState", {
            "address": self.peer.to_string(),
            "shard": self.shard,
            "use": table::purpose(self),
            "protocol": self.version.as_u8(),
            "compression": text(&self.compression),
            "in_flight": self.in_flight,
            "orphans": self.orphans,
            "age_ms": ms(self.age),
            "last_answer_ms": ms(self.last_answer),
        })
    }
}

impl Serialize for ReconnectionPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        keys!(serializer, "ReconnectionPlan", { "entries": self.entries, "left_out": self.left_out })
    }
}

impl Serialize for PlannedEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (host_id, endpoint, contact_point, connected) = match self {
            Self::Node { host_id, endpoint, connected } => {
                (Some(host_id.to_string()), Some(endpoint.to_string()), None, Some(*connected))
            }
            Self::ContactPoint { name, .. } => (None, None, Some(&**name), None),
        };
        keys!(serializer, "PlannedEntry", {
            "host_id": host_id,
            "endpoint": endpoint,
            "contact_point": contact_point,
            "connected": connected,
            "why": self.why(),
        })
    }
}

impl Serialize for LeftOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let host_id = match self {
            Self::Node { host_id, .. } | Self::LeftAlone { host_id, .. } => Some(host_id.to_string()),
            Self::FallbackIsOff | Self::MonitorFindsNodes => None,
        };
        keys!(serializer, "LeftOut", { "host_id": host_id, "why": self.to_string() })
    }
}
