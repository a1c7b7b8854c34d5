//! Where the partition of a request lies, and which node is asked.

use std::sync::Arc;

use scylla_cql_core::frame::types::RawValue;

use tokio::time::Instant;
use uuid::Uuid;

use super::request::Bound;
use super::{Inner, Prepared};
use crate::config::Config;
use crate::connection::Connection;
use crate::pool::{Node, Replicas, Routing, Wanted};
use crate::protocol::Values;
use crate::topology::{Murmur3, Token};

/// The token of the bound partition key; `None` if it is not bound as a whole, or part of it is null.
///
/// A key of several columns is each one's length in two bytes, the value, and a zero byte: the layout of Apache
/// Cassandra's `CompositeType`.
#[inline]
pub(super) fn token(prepared: &Prepared, values: &Values) -> Option<Token> {
    match prepared.partition_key() {
        [] => None,
        [one] => match values.iter().nth(usize::from(one.index))? {
            RawValue::Value(value) => Some(Murmur3::token(value)),
            RawValue::Null | RawValue::Unset => None,
        },
        several => {
            let mut hasher = Murmur3::new();
            for part in several {
                let RawValue::Value(value) = values.iter().nth(usize::from(part.index))? else { return None };
                // A longer part is no valid key; the server will say so.
                let length = u16::try_from(value.len()).ok()?;
                hasher.write(&length.to_be_bytes());
                hasher.write(value);
                hasher.write(&[0]);
            }
            Some(hasher.finish())
        }
    }
}

/// A node, and the connection on which a request goes there.
pub(super) type Picked = (Arc<Node>, Arc<Connection>);

impl Inner {
    /// The node for the next try of a request, with a connection: the choice of the balancing policy if there is one.
    #[inline]
    pub(super) fn pick(&self, config: &Config, bound: &Bound, tried: &[Uuid], now: Instant) -> Option<Picked> {
        match bound.options().balancing(config) {
            None => self.pick_built_in(bound, tried, now),
            Some(policy) => self.pick_by(policy, bound, tried, now),
        }
    }

    /// One that holds its data if that is known and such a node is connected, else any.
    #[inline]
    pub(super) fn pick_built_in(&self, bound: &Bound, tried: &[Uuid], now: Instant) -> Option<Picked> {
        self.pick_replica(bound, tried, now).or_else(|| self.nodes.pick(tried, now, || bound.token()))
    }

    #[inline]
    fn pick_replica(&self, bound: &Bound, tried: &[Uuid], now: Instant) -> Option<Picked> {
        let routing = self.nodes.routing();
        // Nothing is known yet.
        if routing.generation() == 0 {
            return None;
        }
        with_replicas(bound, &routing, |wanted| routing.pick(wanted?, tried, now, self.nodes.turn()))
    }
}

/// Looks up who holds the data of a request, as far as it is known.
#[inline]
pub(super) fn with_replicas<R>(bound: &Bound, routing: &Routing, look: impl FnOnce(Option<Wanted<'_>>) -> R) -> R {
    let Some((prepared, token)) = bound.target() else { return look(None) };
    let in_order = prepared.is_lwt();
    // A table's data is in tablets or on the ring; tablets are known from what the server told.
    let tablets = prepared.shared().tablets.as_ref().and_then(|tablets| tablets.load());
    if let Some(tablet) = tablets.as_ref().and_then(|tablets| tablets.of(token)) {
        return look(Some(Wanted { replicas: Replicas::Tablet(tablet.replicas()), token, in_order }));
    }
    let route = prepared.route(routing);
    let replicas = route.sets.as_ref().map(|sets| Replicas::Ring(sets.of(token)));
    look(replicas.map(|replicas| Wanted { replicas, token, in_order }))
}
