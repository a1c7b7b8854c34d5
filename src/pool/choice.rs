//! Which of the nodes that may answer a request is asked.

use std::sync::Arc;

use arc_swap::Guard;
use tokio::time::Instant;

use super::{
    Node,
    live::{Live, Wait},
};
use crate::{connection::Connection, protocol::Sharding};

/// In nanoseconds, as everything here.
const MILLI: u64 = 1_000_000;
/// A node that says nothing for so long while requests wait on it is asked whether it lives. Until it answers, others are
/// taken if there are any: when a node freezes, those that wait for it may be as silent with what they were asked, but
/// they answer this.
const SILENCE: u64 = 20 * MILLI;
/// Of two nodes the lesser loaded is taken, unless it too lets requests wait for so long without any answer: then the
/// third is looked at.
const HESITATION: u64 = 8 * MILLI;
/// Where the order of the nodes matters, one is passed over when it has been silent for so long.
const LONG: u64 = 500 * MILLI;
/// So many nodes are looked at even then.
const MOST: u8 = 4;

/// The lesser loaded of the first two connected nodes that are offered, or of a few more while that one is silent.
pub(super) struct Choice<'a> {
    now: Instant,
    looked_at: u8,
    best: Option<Candidate<'a>>,
}

/// A node, and the place of a connection among those that were looked at.
struct Candidate<'a> {
    node: &'a Arc<Node>,
    live: Guard<Arc<Live>>,
    place: usize,
    wait: Wait,
    /// What it is compared by: whether it is asked if it lives, and its load.
    rank: (bool, u64),
}

impl<'a> Choice<'a> {
    /// For a request that is sent at `now`.
    #[inline]
    pub(super) fn new(now: Instant) -> Self {
        Self { now, looked_at: 0, best: None }
    }

    /// Looks at a node; answers whether the choice is made. The shard is that of [`Live::best`].
    #[inline]
    pub(super) fn offer(&mut self, node: &'a Arc<Node>, turn: usize, shard: &impl Fn(Sharding) -> Option<u16>) -> bool {
        let live = node.live();
        let Some(place) = live.best(self.now, turn, shard) else { return false };
        let wait = live.wait(place, self.now);
        let rank = (node.is_suspected(), wait.load);
        let other = Candidate { node, live, place, wait, rank };
        self.looked_at += 1;
        match &mut self.best {
            Some(best) if other.rank < best.rank => std::mem::replace(best, other).look_closer(self.now),
            Some(_) => other.look_closer(self.now),
            None => self.best = Some(other),
        }
        self.looked_at >= 2 && (!self.is_dubious() || self.looked_at >= MOST)
    }

    /// Whether a node was found that has not been silent for long.
    #[inline]
    pub(super) fn answers(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.wait.silent < LONG)
    }

    /// The same, unless it is silent or was asked whether it lives: where few nodes are looked at, as in a rack, others are
    /// to be looked at then.
    #[inline]
    pub(super) fn take_answering(self) -> Option<(Arc<Node>, Arc<Connection>)> {
        let best = self.best.as_ref()?;
        if best.rank.0 || best.wait.silent >= SILENCE {
            best.look_closer(self.now);
            return None;
        }
        self.take()
    }

    /// The node alone, for one who may yet take another.
    pub(super) fn node(self) -> Option<&'a Arc<Node>> {
        let best = self.best?;
        best.look_closer(self.now);
        Some(best.node)
    }

    #[inline]
    fn is_dubious(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.rank.0 || best.wait.silent >= HESITATION)
    }

    /// The node and its connection; `None` if none was connected.
    #[inline]
    pub(super) fn take(self) -> Option<(Arc<Node>, Arc<Connection>)> {
        let best = self.best?;
        // There was no better one; but it is known by this alone that something is wrong.
        best.look_closer(self.now);
        Some((Arc::clone(best.node), Arc::clone(&best.live.slots[best.place].connection)))
    }
}

impl Candidate<'_> {
    /// A node that is silent may merely be busy with something long: then it answers when it is asked, and gets its share
    /// again. If it does not, its connections end, and with them the wait of what is on them.
    #[inline]
    fn look_closer(&self, now: Instant) {
        if self.wait.silent >= SILENCE {
            self.node.suspect(now);
        }
    }
}
