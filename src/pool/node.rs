//! A node: who it is, its connections, and what is known of them.

mod filled;

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use messina_layers::{ConnectError, Pinned};
use tokio::{sync::Notify, time::Instant};
use uuid::Uuid;

use super::{
    doubt::Doubt,
    live::{Live, Slot},
    state::Standing,
};
use crate::{
    connection::Connection,
    control::Way,
    endpoint::Endpoint,
    metrics::{NodeMetrics, SessionMetrics},
    topology::NodeInfo,
};

/// Where a node stands, as requests prefer nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the preferred data centre, in the preferred rack.
    Rack,
    /// In the preferred data centre, or there is none.
    Datacenter,
    /// In another data centre.
    Elsewhere,
}

/// A member of the cluster with its connections.
pub(crate) struct Node {
    host_id: Uuid,
    place: Place,
    live: ArcSwap<Live>,
    last_error: ArcSwapOption<ConnectError>,
    tried: AtomicBool,
    doubt: Doubt,
    pub(super) facts: Mutex<Facts>,
    metrics: NodeMetrics,
    woken: Notify,
}

/// What is known of a node, beside what requests look at.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) info: Arc<NodeInfo>,
    pub(super) endpoint: Pinned<Endpoint>,
    /// Grows with each other endpoint.
    pub(super) epoch: u64,
    /// The way in that led to this node, until its own address answers.
    pub(super) way: Option<Way>,
    pub(super) wish: Wish,
    pub(super) standing: Standing,
    pub(super) scylla: Option<bool>,
    /// Connections to shards that have enough.
    pub(super) aside: Vec<Slot>,
    pub(super) wanted: usize,
    pub(super) opening: usize,
    pub(super) blocked: Option<Instant>,
    pub(super) next_attempt: Option<Instant>,
    /// It gets no connections any more.
    over: bool,
}

/// What the task that fills the pool is asked to do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    /// Connect without waiting out the back-off.
    pub(super) now: bool,
    /// Even if the node is forced down.
    pub(super) even_forced: bool,
    /// Ask every connection whether it lives.
    pub(super) check: bool,
}

impl Node {
    /// A node that is not connected yet.
    pub(crate) fn new(info: Arc<NodeInfo>, endpoint: Endpoint, place: Place, metrics: &SessionMetrics) -> Self {
        let facts = Facts {
            endpoint: Pinned::new(endpoint),
            epoch: 0,
            way: None,
            wish: Wish::default(),
            standing: Standing::Unknown,
            scylla: None,
            aside: Vec::new(),
            wanted: 0,
            opening: 0,
            blocked: None,
            next_attempt: None,
            over: false,
            info,
        };
        Self {
            host_id: facts.info.host_id,
            place,
            live: ArcSwap::default(),
            last_error: ArcSwapOption::empty(),
            tried: AtomicBool::new(false),
            doubt: Doubt::default(),
            metrics: metrics.node(facts.info.host_id),
            facts: Mutex::new(facts),
            woken: Notify::new(),
        }
    }

    /// A node whose one connection was made elsewhere.
    pub(crate) fn over_connection(host_id: Uuid, connection: Connection, metrics: &SessionMetrics) -> Self {
        let endpoint = Endpoint::from(connection.peer());
        let node = Self::new(Arc::new(NodeInfo::new(host_id)), endpoint, Place::Datacenter, metrics);
        connection.observe(node.metrics.connection());
        let connection = Arc::new(connection);
        let slot = Slot { connection, shard: None, via: false, epoch: 0, opened: Instant::now() };
        node.change(|slots| slots.push(slot));
        node.tried.store(true, Ordering::Release);
        node
    }

    pub(crate) fn host_id(&self) -> Uuid {
        self.host_id
    }

    /// What it counts.
    pub(crate) fn metrics(&self) -> &NodeMetrics {
        &self.metrics
    }

    /// How it is dialled: what it advertises, with the pin of a name that was resolved.
    pub(crate) fn endpoint(&self) -> Pinned<Endpoint> {
        self.facts().endpoint.clone()
    }

    /// Whether this is the address that it tells clients to use.
    pub(super) fn advertises(&self, addr: SocketAddr) -> bool {
        self.facts().info.address == Some(addr)
    }

    /// Whether it can be used.
    pub(super) fn standing(&self) -> Standing {
        self.facts().standing.clone()
    }

    /// Whether it is in the data centre that requests prefer.
    pub(crate) fn is_local(&self) -> bool {
        self.place != Place::Elsewhere
    }

    /// Whether it stands there; in the preferred rack is in the preferred data centre too.
    #[inline]
    pub(crate) fn is_at(&self, place: Place) -> bool {
        self.place == place || (place == Place::Datacenter && self.place == Place::Rack)
    }

    /// Where it stands.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// A connection that takes requests, if there is one.
    pub(crate) fn connection(&self) -> Option<Arc<Connection>> {
        let live = self.live.load();
        let best = live.best(Instant::now(), 0, &|_| None)?;
        Some(Arc::clone(&live.slots[best].connection))
    }

    /// The shard that a connection of this node leads to, where the node has shards.
    pub(crate) fn shard_of(&self, connection: &Arc<Connection>) -> Option<u16> {
        self.live.load().slots.iter().find(|slot| slot.is(connection))?.shard.map(|info| info.shard)
    }

    /// Every connection that takes requests.
    pub(crate) fn connections(&self) -> Vec<Arc<Connection>> {
        let live = self.live.load();
        live.slots.iter().map(|slot| &slot.connection).filter(|one| one.is_open()).cloned().collect()
    }

    /// Every connection that takes requests, and none is being added: one that is not among them comes later.
    pub(crate) fn settled_connections(&self) -> Vec<Arc<Connection>> {
        let _facts = self.facts();
        self.connections()
    }

    /// Whether it has a connection that takes requests. Takes no lock.
    pub(crate) fn is_connected(&self) -> bool {
        self.live.load().is_open()
    }

    /// Its connections, for a short look. Takes no lock.
    #[inline]
    pub(super) fn live(&self) -> Guard<Arc<Live>> {
        self.live.load()
    }

    /// Why the last connect failed, unless one succeeded since.
    pub(crate) fn last_error(&self) -> Option<Arc<ConnectError>> {
        self.last_error.load_full()
    }

    /// Whether the first connect since it was made, or since its last connection was lost, has ended, either way.
    pub(crate) fn was_tried(&self) -> bool {
        if !self.tried.load(Ordering::Acquire) {
            return false;
        }
        // Connections that take no more requests are about to be replaced, whether that has been seen yet or not.
        let live = self.live.load();
        live.slots.is_empty() || live.is_open()
    }

    pub(super) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("host_id", &self.host_id).field("place", &self.place).finish_non_exhaustive()
    }
}
