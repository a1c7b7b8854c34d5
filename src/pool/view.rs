//! The nodes, as a balancing policy looks at them.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use uuid::Uuid;

use super::{Node, choice::Choice, routing::Wanted};
use crate::{
    connection::Connection,
    policy::{Members, NodeLoad},
    pool::Routing,
    protocol::Sharding,
    topology::{NodeIndex, Snapshot, Token},
};

/// The nodes and whom a request wants, at one moment.
pub(crate) struct View<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// Sorted by host id.
    pub(crate) nodes: &'a [Arc<Node>],
    pub(crate) routing: &'a Routing,
    /// Where its data is, if that is known.
    pub(crate) wanted: Option<Wanted<'a>>,
    pub(crate) token: Option<Token>,
    pub(crate) in_order: bool,
    pub(crate) tried: &'a [Uuid],
    pub(crate) now: Instant,
    pub(crate) turn: usize,
    /// The choice that is made without a policy.
    pub(crate) built_in: &'a dyn Fn() -> Option<Uuid>,
}

impl View<'_> {
    fn node(&self, index: NodeIndex) -> Option<&Arc<Node>> {
        let host_id = self.snapshot.at(index)?.host_id;
        let place = self.nodes.binary_search_by_key(&host_id, |node| node.host_id()).ok()?;
        self.nodes.get(place)
    }

    /// The shard of a node that has the data: its tablet says so, or else the token.
    fn shard(&self, node: &Node) -> impl Fn(Sharding) -> Option<u16> {
        let tablet = self.wanted.and_then(|wanted| wanted.replicas.shard_at(node.host_id()));
        let token = self.token;
        move |sharding| tablet.or_else(|| Some(sharding.shard_of(token?.0)))
    }

    /// A connection of the node; `None` if there is none.
    pub(crate) fn take(&self, index: NodeIndex) -> Option<(Arc<Node>, Arc<Connection>)> {
        let node = self.node(index)?;
        let live = node.live();
        let place = live.best(self.now, self.turn, &self.shard(node))?;
        Some((Arc::clone(node), Arc::clone(&live.slots[place].connection)))
    }
}

impl Members for View<'_> {
    fn replicas(&self) -> usize {
        self.wanted.map_or(0, |wanted| wanted.replicas.len())
    }

    fn replica(&self, place: usize) -> Option<NodeIndex> {
        self.snapshot.index(self.routing.host_id(self.wanted?.replicas, place)?)
    }

    fn load(&self, index: NodeIndex) -> Option<NodeLoad> {
        let live = self.node(index)?.live();
        let silent = live.wait(live.best(self.now, self.turn, &|_| None)?, self.now).silent;
        let in_flight = live.slots.iter().map(|slot| slot.connection.due()).sum();
        Some(NodeLoad { in_flight, silent: Duration::from_nanos(silent) })
    }

    fn is_local(&self, index: NodeIndex) -> bool {
        self.node(index).is_some_and(|node| node.is_local())
    }

    fn best_of(&self, nodes: &mut dyn Iterator<Item = NodeIndex>) -> Option<NodeIndex> {
        let mut choice = Choice::new(self.now);
        for index in nodes {
            let Some(node) = self.node(index).filter(|node| !self.tried.contains(&node.host_id())) else { continue };
            if choice.offer(node, self.turn, &self.shard(node)) || self.in_order && choice.answers() {
                break;
            }
        }
        self.snapshot.index(choice.node()?.host_id())
    }

    fn built_in(&self) -> Option<NodeIndex> {
        self.snapshot.index((self.built_in)()?)
    }
}
