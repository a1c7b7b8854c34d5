//! Which nodes hold which data, as requests look it up.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{sync::watch, time::Instant};
use uuid::Uuid;

use super::{Node, Nodes, choice::Choice, node::Place};
use crate::{
    connection::Connection,
    protocol::Sharding,
    topology::{NodeIndex, ReplicaSets, Snapshot, Strategy, Token, schema::Schema},
};

/// Beyond so many entries a table is computed where it holds up nobody.
const LARGE: usize = 20_000;

/// The replicas of every keyspace that is told, by place in one list of nodes. It never changes.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    generation: u64,
    /// By place in the snapshot, which is sorted by host id.
    host_ids: Vec<Uuid>,
    nodes: Vec<Option<Arc<Node>>>,
    /// Whether a rack is preferred, and has nodes.
    racks: bool,
    keyspaces: HashMap<String, Arc<ReplicaSets>>,
}

/// Whom a request wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) replicas: Replicas<'a>,
    pub(crate) token: Token,
    /// The first replica that can be had, rather than the lesser loaded of two: conditional writes contend less then.
    pub(crate) in_order: bool,
}

/// Who holds the data of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Replicas<'a> {
    /// By the token ring.
    Ring(&'a [NodeIndex]),
    /// By its tablet, which says the shards as well.
    Tablet(&'a [(Uuid, u16)]),
}

impl Replicas<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Ring(replicas) => replicas.len(),
            Self::Tablet(replicas) => replicas.len(),
        }
    }

    /// The shard of this node that has the tablet.
    pub(super) fn shard_at(&self, host_id: Uuid) -> Option<u16> {
        match self {
            Self::Ring(_) => None,
            Self::Tablet(replicas) => replicas.iter().find(|(id, _)| *id == host_id).map(|(_, shard)| *shard),
        }
    }
}

impl Routing {
    fn of_schema(snapshot: &Snapshot, schema: &Schema, nodes: &[Arc<Node>]) -> Self {
        let keyspaces = schema.keyspaces().filter(|keyspace| !keyspace.tablets);
        Self::new(snapshot, keyspaces.map(|keyspace| (&*keyspace.name, keyspace.replication.strategy())), nodes)
    }

    /// The table for these keyspaces.
    pub(crate) fn new<'a>(
        snapshot: &Snapshot,
        keyspaces: impl Iterator<Item = (&'a str, Strategy)>,
        nodes: &[Arc<Node>],
    ) -> Self {
        static GENERATION: AtomicU64 = AtomicU64::new(1);
        let by_id: HashMap<Uuid, &Arc<Node>> = nodes.iter().map(|node| (node.host_id(), node)).collect();
        let host_ids: Vec<_> = snapshot.nodes().iter().map(|info| info.host_id).collect();
        let racks = nodes.iter().any(|node| node.is_at(Place::Rack));
        let nodes = snapshot.nodes().iter().map(|info| by_id.get(&info.host_id).map(|node| Arc::clone(node))).collect();
        let mut by_strategy: HashMap<Strategy, Arc<ReplicaSets>> = HashMap::new();
        let keyspaces = keyspaces.map(|(name, strategy)| {
            let sets = by_strategy.entry(strategy).or_insert_with_key(|key| Arc::new(snapshot.replica_sets(key)));
            (name.to_owned(), Arc::clone(sets))
        });
        let keyspaces = keyspaces.collect();
        Self { generation: GENERATION.fetch_add(1, Ordering::Relaxed), host_ids, nodes, racks, keyspaces }
    }

    /// Differs from that of any other table; 0 is the empty one.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// The replicas of a keyspace's data, if they are known.
    pub(crate) fn replicas(&self, keyspace: &str) -> Option<&Arc<ReplicaSets>> {
        self.keyspaces.get(keyspace)
    }

    /// A connected replica of the preferred data centre that is not among `tried`: the lesser loaded of two, those of the
    /// preferred rack first while they answer; or the first in order that answers.
    #[inline]
    pub(crate) fn pick(
        &self,
        wanted: Wanted<'_>,
        tried: &[Uuid],
        now: Instant,
        turn: usize,
    ) -> Option<(Arc<Node>, Arc<Connection>)> {
        let Wanted { replicas, token, in_order } = wanted;
        let count = replicas.len();
        let start = if in_order || count == 0 { 0 } else { turn % count };
        let choose = |place| {
            let mut choice = Choice::new(now);
            for at in (start..count).chain(0..start) {
                let Some((node, shard)) = self.replica(replicas, at) else { continue };
                if !node.is_at(place) || tried.contains(&node.host_id()) {
                    continue;
                }
                let owner = |sharding: Sharding| Some(shard.unwrap_or_else(|| sharding.shard_of(token.0)));
                if choice.offer(node, turn, &owner) || in_order && choice.answers() {
                    break;
                }
            }
            choice
        };
        let near = if self.racks && !in_order { choose(Place::Rack).take_answering() } else { None };
        near.or_else(|| choose(Place::Datacenter).take())
    }

    /// Who the replica at this place is.
    pub(super) fn host_id(&self, replicas: Replicas<'_>, at: usize) -> Option<Uuid> {
        match replicas {
            Replicas::Ring(replicas) => self.host_ids.get(replicas.get(at)?.get()).copied(),
            Replicas::Tablet(replicas) => Some(replicas.get(at)?.0),
        }
    }

    /// The replica at this place, and its shard where that is known.
    #[inline]
    fn replica(&self, replicas: Replicas<'_>, at: usize) -> Option<(&Arc<Node>, Option<u16>)> {
        let (place, shard) = match replicas {
            Replicas::Ring(replicas) => (replicas.get(at)?.get(), None),
            Replicas::Tablet(replicas) => {
                let (host_id, shard) = replicas.get(at)?;
                (self.host_ids.binary_search(host_id).ok()?, Some(*shard))
            }
        };
        Some((self.nodes.get(place)?.as_ref()?, shard))
    }
}

/// Computes the table anew whenever nodes or schema change, until dropped.
pub(super) async fn keep_routing(nodes: Nodes, mut changed: watch::Receiver<()>) {
    loop {
        let topology = nodes.topology();
        let (snapshot, schema, all) = (topology.snapshot(), topology.schema(), nodes.all());
        nodes.tablets().keep(&snapshot, &schema);
        let size = snapshot.ring().len().saturating_mul(schema.strategies());
        let compute = move || Routing::of_schema(&snapshot, &schema, &all);
        let routing = if size > LARGE { tokio::task::spawn_blocking(compute).await.ok() } else { Some(compute()) };
        if let Some(routing) = routing {
            nodes.set_routing(routing);
        }
        if changed.changed().await.is_err() {
            return;
        }
    }
}
