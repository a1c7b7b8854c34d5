//! How many connections a pool is to have of which shard, and how many it has.

use std::sync::Arc;

use crate::{connection::Connection, pool::live::Slot, protocol::Sharding};

/// What a pool is to be like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    sharding: Option<Sharding>,
    /// Per shard, or in all.
    per: usize,
    epoch: u64,
}

/// How many connections there are of each shard, or in all.
#[derive(Debug)]
pub(super) struct Counts {
    good: Vec<usize>,
    expected: Vec<usize>,
    /// Expected of a shard that cannot be chosen.
    anywhere: usize,
}

/// How many are missing of each shard.
#[derive(Debug)]
pub(super) struct Missing {
    groups: Vec<usize>,
    /// Of all that are missing, so many are on their way.
    coming: usize,
}

impl Shape {
    pub(super) fn new(size: usize, sharding: Option<Sharding>, epoch: u64) -> Self {
        let per = sharding.map_or(size, |sharding| size.div_ceil(sharding.shards().into()));
        Self { sharding, per, epoch }
    }

    pub(super) fn is_sharded(&self) -> bool {
        self.sharding.is_some()
    }

    fn groups(&self) -> usize {
        self.sharding.map_or(1, |sharding| sharding.shards().into())
    }

    pub(super) fn wanted(&self) -> usize {
        self.groups() * self.per
    }

    /// So many connections may wait aside until every shard has one.
    pub(super) fn most_aside(&self) -> usize {
        2 * self.groups()
    }

    /// The place of a connection, if it is one of those that count.
    pub(super) fn group(&self, slot: &Slot) -> Option<usize> {
        let counts = slot.epoch == self.epoch && !slot.via && slot.sharding() == self.sharding;
        counts.then(|| slot.shard.map_or(0, |info| info.shard.into()))
    }

    pub(super) fn counts(&self, slots: &[Slot]) -> Counts {
        let mut good = vec![0; self.groups()];
        for slot in slots.iter().filter(|slot| slot.connection.is_open()) {
            if let Some(count) = self.group(slot).and_then(|group| good.get_mut(group)) {
                *count += 1;
            }
        }
        Counts { expected: vec![0; good.len()], good, anywhere: 0 }
    }

    /// Whether one more in this group would be one too many.
    pub(super) fn is_full(&self, counts: &Counts, group: usize) -> bool {
        counts.good.get(group).is_some_and(|good| *good >= self.per)
    }

    /// What is there and not to be: what only stood in, as soon as it need not, and more than enough.
    pub(super) fn surplus(&self, slots: &[Slot], counts: &Counts) -> Vec<Arc<Connection>> {
        if !counts.any_good() {
            return Vec::new();
        }
        let mut over: Vec<_> = counts.good.iter().map(|good| good.saturating_sub(self.per)).collect();
        let mut open: Vec<_> = slots.iter().filter(|slot| slot.connection.is_open()).collect();
        // Those with the least to wait for go first.
        open.sort_by_key(|slot| slot.connection.in_flight());
        let goes = |slot: &&Slot| match self.group(slot) {
            None => true,
            Some(group) => match over.get_mut(group) {
                Some(over) if *over > 0 => {
                    *over -= 1;
                    true
                }
                _ => false,
            },
        };
        open.into_iter().filter(goes).map(|slot| Arc::clone(&slot.connection)).collect::<Vec<_>>()
    }

    pub(super) fn missing(&self, counts: &Counts) -> Missing {
        let there = counts.good.iter().zip(&counts.expected);
        let groups = there.map(|(good, expected)| self.per.saturating_sub(good + expected)).collect();
        Missing { groups, coming: counts.anywhere }
    }
}

impl Counts {
    /// One more is on its way, to this shard or to any.
    pub(super) fn expect(&mut self, shard: Option<u16>) {
        match shard.and_then(|shard| self.expected.get_mut(usize::from(shard))) {
            Some(expected) => *expected += 1,
            None => self.anywhere += 1,
        }
    }

    pub(super) fn any_good(&self) -> bool {
        self.good.iter().any(|good| *good > 0)
    }
}

impl Missing {
    pub(super) fn is_none(&self) -> bool {
        self.groups.iter().all(|missing| *missing == 0)
    }

    /// Each one that is missing and not on its way yet: its shard, where there are shards.
    pub(super) fn shards(&self, sharded: bool) -> impl Iterator<Item = Option<u16>> + use<> {
        let shards = (0_u16..).zip(self.groups.clone());
        let each = shards.flat_map(|(shard, missing)| std::iter::repeat_n(shard, missing));
        each.skip(self.coming).map(move |shard| sharded.then_some(shard))
    }
}
