//! Which nodes hold the data of a token, by a keyspace's replication strategy.
//!
//! The rules are those of Apache Cassandra's `SimpleStrategy`, `NetworkTopologyStrategy`, `EverywhereStrategy` and
//! `LocalStrategy`. They are walked once per snapshot and strategy; a look-up then is a binary search that gives a
//! slice.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use super::{NodeIndex, NodeInfo, Snapshot, Token};

/// How a keyspace is replicated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The first nodes clockwise, wherever they are.
    Simple {
        /// How many.
        replicas: usize,
    },
    /// In each data centre the first nodes clockwise, on as many racks as possible.
    NetworkTopology {
        /// How many in which data centre.
        datacenters: BTreeMap<String, usize>,
    },
    /// Every node.
    Everywhere,
    /// Whichever node is asked.
    Local,
    /// One that is not known: no node is better than another.
    Other {
        /// The class's name.
        class: String,
    },
}

impl Strategy {
    /// Reads the `replication` column of `system_schema.keyspaces`: `class`, and `replication_factor` or the number
    /// of replicas by data centre. A number with transient replicas (`3/1`) counts the full and the transient ones.
    #[must_use]
    pub fn parse<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut class = "";
        let mut numbers = BTreeMap::new();
        for (name, value) in options {
            if name == "class" {
                class = value;
            } else if let Ok(number) = value.split('/').next().unwrap_or_default().trim().parse::<usize>() {
                numbers.insert(name.to_owned(), number);
            }
        }
        match class.rsplit('.').next().unwrap_or_default() {
            "SimpleStrategy" => {
                Self::Simple { replicas: numbers.get("replication_factor").copied().unwrap_or_default() }
            }
            "NetworkTopologyStrategy" => {
                numbers.remove("replication_factor");
                Self::NetworkTopology { datacenters: numbers }
            }
            "EverywhereStrategy" => Self::Everywhere,
            "LocalStrategy" => Self::Local,
            _ => Self::Other { class: class.to_owned() },
        }
    }
}

/// The replicas of every token under one strategy, in one snapshot. A look-up allocates nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplicaSets {
    tokens: Arc<[Token]>,
    /// Where the replicas of each place begin and end; one more than there are places.
    bounds: Vec<u32>,
    replicas: Vec<NodeIndex>,
}

impl ReplicaSets {
    /// The replicas of this token, the first one clockwise first; none where nothing is known of it.
    #[must_use]
    pub fn of(&self, token: Token) -> &[NodeIndex] {
        let place = self.tokens.partition_point(|own| *own < token);
        let place = if place == self.tokens.len() { 0 } else { place };
        let bound = |at: usize| self.bounds.get(at).map(|bound| *bound as usize);
        match (bound(place), bound(place + 1)) {
            (Some(begin), Some(end)) => self.replicas.get(begin..end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The same for every token.
    fn everywhere(replicas: Vec<NodeIndex>) -> Self {
        let bounds = vec![0, u32::try_from(replicas.len()).unwrap_or(u32::MAX)];
        Self { tokens: Arc::new([Token(i64::MIN)]), bounds, replicas }
    }
}

impl fmt::Debug for ReplicaSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplicaSets")
            .field("tokens", &self.tokens.len())
            .field("replicas", &self.replicas.len())
            .finish()
    }
}

impl Snapshot {
    /// The replicas of every token under this strategy; computed anew at each call.
    #[must_use]
    pub fn replica_sets(&self, strategy: &Strategy) -> ReplicaSets {
        let mut walk = match strategy {
            Strategy::Simple { replicas } => Walk::simple(self, *replicas),
            Strategy::NetworkTopology { datacenters } => Walk::network(self, datacenters),
            Strategy::Everywhere => {
                return ReplicaSets::everywhere((0..).map(NodeIndex).take(self.nodes().len()).collect());
            }
            Strategy::Local | Strategy::Other { .. } => return ReplicaSets::everywhere(Vec::new()),
        };
        let ring = self.ring();
        let mut sets = ReplicaSets {
            tokens: ring.shared_tokens(),
            bounds: Vec::with_capacity(ring.len() + 1),
            replicas: Vec::with_capacity(ring.len().saturating_mul(walk.wanted())),
        };
        sets.bounds.push(0);
        for place in 0..ring.len() {
            walk.from(ring.from(place), &mut sets.replicas);
            sets.bounds.push(u32::try_from(sets.replicas.len()).unwrap_or(u32::MAX));
        }
        sets
    }
}

/// Walks the ring from one place after another.
struct Walk {
    /// By node: which data centre, or none where the strategy names none.
    datacenter_of: Vec<Option<usize>>,
    /// By node: which rack, counted within its data centre.
    rack_of: Vec<usize>,
    datacenters: Vec<Datacenter>,
    /// By node: the last walk that came by.
    seen: Vec<usize>,
    walks: usize,
}

/// What is wanted in one data centre, and what a walk has found of it.
#[derive(Default)]
struct Datacenter {
    wanted: usize,
    /// By rack: the last walk that placed a replica there.
    placed: Vec<usize>,
    found: usize,
    /// How many more replicas may be placed on a rack that has one: as many as are wanted beyond one on each.
    repeats: usize,
}

impl Walk {
    /// One data centre on one rack, which all nodes are in.
    fn simple(snapshot: &Snapshot, replicas: usize) -> Self {
        let owners: BTreeSet<_> = snapshot.ring().from(0).collect();
        let all = Datacenter { wanted: replicas.min(owners.len()), placed: vec![0], ..Datacenter::default() };
        let nodes = snapshot.nodes().len();
        Self {
            datacenter_of: vec![Some(0); nodes],
            rack_of: vec![0; nodes],
            datacenters: vec![all],
            seen: vec![0; nodes],
            walks: 0,
        }
    }

    fn network(snapshot: &Snapshot, wanted: &BTreeMap<String, usize>) -> Self {
        let owners: BTreeSet<_> = snapshot.ring().from(0).collect();
        let places: HashMap<&str, usize> = wanted.keys().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        let mut racks: Vec<HashMap<Option<&str>, usize>> = vec![HashMap::new(); wanted.len()];
        let mut nodes_in = vec![0; wanted.len()];
        let (mut datacenter_of, mut rack_of) = (Vec::new(), Vec::new());
        for (index, node) in (0..).map(NodeIndex).zip(snapshot.nodes()) {
            let node: &NodeInfo = node;
            let datacenter = node.datacenter.as_deref().and_then(|name| places.get(name).copied());
            let datacenter = datacenter.filter(|_| owners.contains(&index));
            let rack = datacenter.map_or(0, |at| {
                nodes_in[at] += 1;
                let next = racks[at].len();
                *racks[at].entry(node.rack.as_deref()).or_insert(next)
            });
            datacenter_of.push(datacenter);
            rack_of.push(rack);
        }
        let datacenters = wanted.values().zip(racks).zip(nodes_in).map(|((wanted, racks), nodes)| Datacenter {
            wanted: (*wanted).min(nodes),
            placed: vec![0; racks.len()],
            ..Datacenter::default()
        });
        let datacenters = datacenters.collect();
        let seen = vec![0; datacenter_of.len()];
        Self { datacenter_of, rack_of, datacenters, seen, walks: 0 }
    }

    fn wanted(&self) -> usize {
        self.datacenters.iter().map(|datacenter| datacenter.wanted).sum()
    }

    /// Adds the replicas of the place where `owners` begin.
    fn from(&mut self, owners: impl Iterator<Item = NodeIndex>, out: &mut Vec<NodeIndex>) {
        self.walks += 1;
        let walk = self.walks;
        let mut missing = self.wanted();
        for datacenter in &mut self.datacenters {
            datacenter.found = 0;
            datacenter.repeats = datacenter.wanted.saturating_sub(datacenter.placed.len());
        }
        for owner in owners {
            if missing == 0 {
                return;
            }
            let Some(at) = self.datacenter_of.get(owner.get()).copied().flatten() else { continue };
            if std::mem::replace(&mut self.seen[owner.get()], walk) == walk {
                continue;
            }
            let datacenter = &mut self.datacenters[at];
            if datacenter.found == datacenter.wanted {
                continue;
            }
            let fresh = std::mem::replace(&mut datacenter.placed[self.rack_of[owner.get()]], walk) != walk;
            if !fresh {
                if datacenter.repeats == 0 {
                    continue;
                }
                datacenter.repeats -= 1;
            }
            out.push(owner);
            datacenter.found += 1;
            missing -= 1;
        }
    }
}
