//! The connections of a node at one moment; requests read it without a lock.

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    connection::Connection,
    protocol::{ShardInfo, Sharding},
};

/// One connection of a node.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) connection: Arc<Connection>,
    /// What the server said of its shards, if it has any.
    pub(super) shard: Option<ShardInfo>,
    /// It came about by the way in, since the node's own address failed.
    pub(super) via: bool,
    /// The node's endpoint was the one of this number.
    pub(super) epoch: u64,
    pub(super) opened: Instant,
}

impl Slot {
    pub(super) fn is(&self, connection: &Arc<Connection>) -> bool {
        Arc::ptr_eq(&self.connection, connection)
    }

    pub(super) fn sharding(&self) -> Option<Sharding> {
        self.shard.map(|info| info.sharding)
    }
}

/// The connections of a node at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Live {
    pub(super) slots: Vec<Slot>,
}

impl Live {
    /// Whether one of them takes requests.
    pub(super) fn is_open(&self) -> bool {
        self.slots.iter().any(|slot| slot.connection.is_open())
    }

    /// The place of the lesser loaded of two that take requests, counted from `turn` on; of those to the shard that is
    /// wanted, while there is one. Takes no lock, and asks for the shard only where there are some.
    #[inline]
    pub(super) fn best(&self, now: Instant, turn: usize, shard: &impl Fn(Sharding) -> Option<u16>) -> Option<usize> {
        match &*self.slots {
            [] => None,
            [only] => only.connection.is_open().then_some(0),
            [first, ..] => self.best_of_shard(now, turn, first.sharding().and_then(shard)),
        }
    }

    fn best_of_shard(&self, now: Instant, turn: usize, shard: Option<u16>) -> Option<usize> {
        // Another order than that of the nodes, lest each node always use the same connection.
        let start = ((turn as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % self.slots.len();
        let open = || (start..self.slots.len()).chain(0..start).filter(|place| self.slots[*place].connection.is_open());
        let of_shard = |place: &usize| self.slots[*place].shard.map(|info| info.shard) == shard;
        let lesser = |(first, second): (usize, Option<usize>)| match second {
            Some(second) if self.load(second, now) < self.load(first, now) => second,
            _ => first,
        };
        let two = |mut places: &mut dyn Iterator<Item = usize>| Some((places.next()?, (&mut places).next()));
        let owner = shard.and_then(|_| two(&mut open().filter(of_shard)));
        owner.or_else(|| two(&mut open())).map(lesser)
    }

    #[inline]
    fn load(&self, place: usize, now: Instant) -> u64 {
        self.wait(place, now).load
    }

    /// What there is to wait for on one of them.
    #[inline]
    pub(super) fn wait(&self, place: usize, now: Instant) -> Wait {
        Wait::of(&self.slots[place].connection, now)
    }
}

/// What there is to wait for on a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// The requests that it has yet to answer, weighed by how long it has been silent while they waited: after ten milliseconds of silence
    /// fourfold, after a second ten thousandfold. So a frozen node loses its traffic to nodes that are merely busy, and
    /// also to those that stall with most of what they do since they wait for the frozen one.
    pub(super) load: u64,
    /// For how many nanoseconds nothing has been answered while something waited.
    pub(super) silent: u64,
}

impl Wait {
    #[inline]
    fn of(connection: &Connection, now: Instant) -> Self {
        let due = connection.due() as u64;
        if due == 0 {
            return Self { load: 0, silent: 0 };
        }
        let silent = connection.silent_nanos(now);
        // Nearly milliseconds, without a division; after five hours it weighs no more, so that nothing overflows.
        let weight = (silent >> 20).min(1 << 24) + 10;
        Self { load: due * (weight * weight), silent }
    }
}
