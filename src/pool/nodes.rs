//! The nodes that requests choose from.

mod draining;

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, Guard};
use messina_layers::HostAddr;
use tokio::{sync::Notify, time::Instant};
use uuid::Uuid;

use self::draining::Draining;
use super::{Node, Standing, choice::Choice, node::Place, routing::Routing, tablets::AllTablets};
use crate::{
    connection::{Closed, Connection},
    control::Known,
    protocol::Sharding,
    topology::{Refusal, SessionEvent, Token, Topology},
};

/// The nodes of the cluster; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    topology: Topology,
    nodes: ArcSwap<Vec<Arc<Node>>>,
    turn: AtomicUsize,
    order: RandomState,
    changed: Notify,
    draining: Draining,
    routing: ArcSwap<Routing>,
    tablets: AllTablets,
    /// Whether a rack is preferred, and has nodes.
    racks: AtomicBool,
    closed: AtomicBool,
}

impl Nodes {
    /// No nodes yet; what happens to them is told there.
    pub(crate) fn new(topology: Topology) -> Self {
        Self { shared: Arc::new(Shared { topology, ..Shared::default() }) }
    }

    /// Replaces the list.
    pub(crate) fn replace(&self, nodes: Vec<Arc<Node>>) {
        if !self.shared.closed.load(Ordering::Acquire) {
            self.shared.racks.store(nodes.iter().any(|node| node.is_at(Place::Rack)), Ordering::Relaxed);
            self.shared.nodes.store(Arc::new(nodes));
            self.shared.topology.touch();
        }
        self.tell();
    }

    pub(super) fn topology(&self) -> &Topology {
        &self.shared.topology
    }

    pub(crate) fn set_routing(&self, routing: Routing) {
        if !self.shared.closed.load(Ordering::Acquire) {
            self.shared.routing.store(Arc::new(routing));
        }
    }

    /// Which nodes hold which data. Takes no lock.
    #[inline]
    pub(crate) fn routing(&self) -> Guard<Arc<Routing>> {
        self.shared.routing.load()
    }

    /// Which tablets of which tables are known.
    pub(crate) fn tablets(&self) -> &AllTablets {
        &self.shared.tablets
    }

    /// A number that is another one for each request.
    #[inline]
    pub(crate) fn turn(&self) -> usize {
        self.shared.turn.fetch_add(1, Ordering::Relaxed)
    }

    /// All nodes.
    pub(crate) fn all(&self) -> Arc<Vec<Arc<Node>>> {
        self.shared.nodes.load_full()
    }

    /// Every node that is not left alone, those with a connection first, and near ones before others: where a control
    /// connection may be looked for.
    ///
    /// Among equals each session has an order of its own, lest all clients meet at one node.
    pub(crate) fn known(&self) -> Vec<Known> {
        let nodes = self.all();
        let known = nodes.iter().filter(|node| !matches!(node.standing(), Standing::Ignored));
        let known = known.map(|node| {
            let (host_id, connected) = (node.host_id(), node.is_connected());
            let place = (!connected, !node.is_local(), self.shared.order.hash_one(host_id), host_id);
            (place, Known { host_id, endpoint: node.endpoint(), connected })
        });
        let mut known: Vec<_> = known.collect();
        known.sort_by_key(|(place, _)| *place);
        known.into_iter().map(|(_, known)| known).collect()
    }

    /// Why a node must not be the control node; `None` if it may.
    pub(crate) fn refuses(&self, host_id: Uuid) -> Option<Refusal> {
        let nodes = self.all();
        let place = nodes.binary_search_by_key(&host_id, |node| node.host_id()).ok()?;
        nodes[place].standing().refusal()
    }

    /// Tells those who wait that a connection came, went or failed.
    pub(super) fn tell(&self) {
        self.shared.changed.notify_waiters();
    }

    /// A node has a connection that it had not.
    pub(super) fn up(&self, host_id: Uuid) {
        self.shared.topology.tell(SessionEvent::NodeUp { host_id });
    }

    /// A node has no connection any more, or could not be connected to.
    pub(super) fn down(&self, host_id: Uuid) {
        self.shared.topology.tell(SessionEvent::NodeDown { host_id });
    }

    /// A node is held to another address of its name.
    pub(super) fn pinned(&self, host_id: Uuid, before: Option<HostAddr>, addr: HostAddr) {
        self.shared.topology.tell(SessionEvent::PinChanged { host_id, from: before, to: Some(addr) });
    }

    /// Takes a connection out of service: it ends when nothing is in flight on it any more, or at the limit.
    pub(super) fn drain(&self, host_id: Uuid, connection: &Arc<Connection>, limit: Option<Duration>) {
        self.shared.draining.add(host_id, connection, limit);
    }

    /// Ends every connection, those out of service too; requests in flight have until the limit.
    pub(crate) fn close(&self, limit: Duration) -> Vec<impl Future<Output = Closed> + Send + use<>> {
        self.shared.closed.store(true, Ordering::Release);
        let nodes = self.shared.nodes.swap(Arc::default());
        self.shared.routing.store(Arc::default());
        let serving = nodes.iter().flat_map(|node| node.end());
        // Each begins to close when it is called, so that none waits for another.
        let closing = serving.chain(self.shared.draining.take()).map(|connection| connection.close(limit)).collect();
        self.tell();
        closing
    }

    /// Waits until `ready` gives something, looked at after each change. Wants a limit around it.
    pub(crate) async fn wait_for<R>(&self, ready: impl Fn(&[Arc<Node>]) -> Option<R>) -> R {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            // Registered before looking, so that no change falls in between.
            changed.as_mut().enable();
            if let Some(result) = ready(&self.all()) {
                return result;
            }
            changed.await;
        }
    }

    /// Waits until a node has a connection, or every node is known not to get one soon; answers which.
    ///
    /// A connection that was lost is opened again at once, so this ends within the limits of one connect.
    pub(crate) async fn wait_for_connection(&self) -> bool {
        self.wait_for(|nodes| {
            if nodes.iter().any(|node| node.is_connected()) {
                Some(true)
            } else if nodes.iter().all(|node| node.was_tried()) {
                Some(false)
            } else {
                None
            }
        })
        .await
    }

    /// Waits until `pick` gives a node for a request, or no node is about to get its connection.
    pub(crate) async fn wait_for_node<R>(&self, pick: impl Fn() -> Option<R>) -> Option<R> {
        self.wait_for(|nodes| match pick() {
            Some(picked) => Some(Some(picked)),
            None if nodes.iter().all(|node| node.was_tried()) => Some(None),
            None => None,
        })
        .await
    }

    /// Whether a node is about to get its connection.
    pub(crate) fn any_opening(&self) -> bool {
        self.shared.nodes.load().iter().any(|node| !node.was_tried())
    }

    /// The lesser loaded of two connected nodes (see [`Choice`]) that are not among `tried`, with a connection, for a request that is sent
    /// at `now`: the one to the shard that owns its token, where there is one.
    ///
    /// Nodes of the preferred rack come first while they answer, then those of the preferred data centre; the others are
    /// asked only while none of these is connected.
    #[inline]
    pub(crate) fn pick(
        &self,
        tried: &[Uuid],
        now: Instant,
        token: impl Fn() -> Option<Token>,
    ) -> Option<(Arc<Node>, Arc<Connection>)> {
        let nodes = self.shared.nodes.load();
        let turn = self.turn();
        let shard = |sharding: Sharding| Some(sharding.shard_of(token()?.0));
        let choose = |place| {
            let mut choice = Choice::new(now);
            for i in 0..nodes.len() {
                let node = &nodes[turn.wrapping_add(i) % nodes.len()];
                if !node.is_at(place) || tried.contains(&node.host_id()) {
                    continue;
                }
                if choice.offer(node, turn, &shard) {
                    break;
                }
            }
            choice
        };
        let near = if self.shared.racks.load(Ordering::Relaxed) { choose(Place::Rack).take_answering() } else { None };
        near.or_else(|| choose(Place::Datacenter).take()).or_else(|| choose(Place::Elsewhere).take())
    }
}
