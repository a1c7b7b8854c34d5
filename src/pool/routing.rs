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

use super::{Node, Nodes, choice::Choice};
use crate::{
    connection::Connection,
    topology::{NodeIndex, ReplicaSets, Snapshot, Strategy, Token, schema::Schema},
};

/// Beyond so many entries a table is computed where it holds up nobody.
const LARGE: usize = 20_000;

/// The replicas of every keyspace that is told, by place in one list of nodes. It never changes.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    generation: u64,
    nodes: Vec<Option<Arc<Node>>>,
    keyspaces: HashMap<String, Arc<ReplicaSets>>,
}

/// Whom a request wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) replicas: &'a [NodeIndex],
    pub(crate) token: Token,
    /// The first replica that can be had, rather than the lesser loaded of two: conditional writes contend less then.
    pub(crate) in_order: bool,
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
        let nodes = snapshot.nodes().iter().map(|info| by_id.get(&info.host_id).map(|node| Arc::clone(node))).collect();
        let mut by_strategy: HashMap<Strategy, Arc<ReplicaSets>> = HashMap::new();
        let keyspaces = keyspaces.map(|(name, strategy)| {
            let sets = by_strategy.entry(strategy).or_insert_with_key(|key| Arc::new(snapshot.replica_sets(key)));
            (name.to_owned(), Arc::clone(sets))
        });
        let keyspaces = keyspaces.collect();
        Self { generation: GENERATION.fetch_add(1, Ordering::Relaxed), nodes, keyspaces }
    }

    /// Differs from that of any other table; 0 is the empty one.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// The replicas of a keyspace's data, if they are known.
    pub(crate) fn replicas(&self, keyspace: &str) -> Option<&Arc<ReplicaSets>> {
        self.keyspaces.get(keyspace)
    }

    /// A connected replica of the preferred data centre that is not among `tried`: the lesser loaded of two, or the first
    /// in order that answers.
    #[inline]
    pub(crate) fn pick(
        &self,
        wanted: Wanted<'_>,
        tried: &[Uuid],
        now: Instant,
        turn: usize,
    ) -> Option<(Arc<Node>, Arc<Connection>)> {
        let Wanted { replicas, token, in_order } = wanted;
        let (before, from) = replicas.split_at(if in_order || replicas.is_empty() { 0 } else { turn % replicas.len() });
        let nodes = from.iter().chain(before).filter_map(|index| self.nodes.get(index.get())?.as_ref());
        let mut choice = Choice::new(now);
        for node in nodes.filter(|node| node.is_local() && !tried.contains(&node.host_id())) {
            if choice.offer(node, turn, &|| Some(token)) || in_order && choice.answers() {
                break;
            }
        }
        choice.take()
    }
}

/// Computes the table anew whenever nodes or schema change, until dropped.
pub(super) async fn keep_routing(nodes: Nodes, mut changed: watch::Receiver<()>) {
    loop {
        let topology = nodes.topology();
        let (snapshot, schema, all) = (topology.snapshot(), topology.schema(), nodes.all());
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
