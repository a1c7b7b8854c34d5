//! Which node each try of a request goes to, where the application decides it.

use std::{fmt, time::Duration};

use uuid::Uuid;

use crate::topology::{NodeIndex, NodeInfo, Snapshot, Token};

/// Chooses the node for each try of a request, in place of the session.
///
/// Asked for the first try and for each further one, also for the nodes of speculative execution; not for a further
/// page, which comes from the node that gave the one before, nor for a try that the [`RetryPolicy`](super::RetryPolicy)
/// wants at the same node. A node that is not connected is passed over: the policy is asked again as though it had been
/// tried. The end of the choice is `None`, a node that has been tried, or one that is not in the snapshot: the request
/// then waits for room at a node that had none, or fails.
///
/// ```
/// use messina::{policy::{BalancingPolicy, NodeChoice}, topology::NodeIndex};
///
/// /// Leaves one rack alone, as long as there are others.
/// #[derive(Debug)]
/// struct Without {
///     rack: String,
/// }
///
/// impl BalancingPolicy for Without {
///     fn pick(&self, choice: &NodeChoice<'_>) -> Option<NodeIndex> {
///         let wanted = |node: &NodeIndex| choice.node(*node).is_some_and(|info| info.rack.as_ref() != Some(&self.rack));
///         let near = choice.nodes().filter(|node| choice.is_local(*node));
///         choice
///             .best_of(choice.replicas().filter(wanted))
///             .or_else(|| choice.best_of(near.filter(wanted)))
///             .or_else(|| choice.built_in())
///     }
/// }
/// ```
pub trait BalancingPolicy: fmt::Debug + Send + Sync + 'static {
    /// The node for the next try. It must not block, since the request's limit is not looked at meanwhile, and need not
    /// allocate: every part of the choice is looked up when it is asked for. A panic is one of the task that waits for the
    /// request, or for the rows of a stream.
    fn pick(&self, choice: &NodeChoice<'_>) -> Option<NodeIndex>;
}

/// A choice among the nodes of the cluster, for one try of a request.
#[derive(Clone, Copy)]
pub struct NodeChoice<'a> {
    snapshot: &'a Snapshot,
    target: Target<'a>,
    tried: &'a [Uuid],
    turn: usize,
    among: Among<'a>,
}

/// What a request concerns, as far as it is known before it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Target<'a> {
    pub(crate) token: Option<Token>,
    /// Keyspace and name.
    pub(crate) table: Option<(&'a str, &'a str)>,
    pub(crate) conditional: bool,
}

/// How busy a node is with the requests of this session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeLoad {
    /// Requests that wait for its answer.
    pub in_flight: usize,
    /// How long it has answered none of them; zero if none waits.
    pub silent: Duration,
}

/// The pools of the nodes, as a choice looks at them.
pub(crate) trait Members {
    fn replicas(&self) -> usize;
    fn replica(&self, place: usize) -> Option<NodeIndex>;
    fn load(&self, node: NodeIndex) -> Option<NodeLoad>;
    fn is_local(&self, node: NodeIndex) -> bool;
    fn best_of(&self, nodes: &mut dyn Iterator<Item = NodeIndex>) -> Option<NodeIndex>;
    fn built_in(&self) -> Option<NodeIndex>;
}

#[derive(Clone, Copy)]
enum Among<'a> {
    Pools(&'a dyn Members),
    /// Every node takes requests, these hold the data.
    Idle(&'a [NodeIndex]),
}

impl<'a> NodeChoice<'a> {
    /// A first try of a request without a token, where every node is connected and idle; for tests of one's own policies.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, target: Target::default(), tried: &[], turn: 0, among: Among::Idle(&[]) }
    }

    /// The same of a request whose data is at this token and these replicas, in order.
    #[must_use]
    pub fn with_replicas(mut self, token: Token, replicas: &'a [NodeIndex]) -> Self {
        self.target.token = Some(token);
        self.among = Among::Idle(replicas);
        self
    }

    /// The same after these nodes have been tried.
    #[must_use]
    pub fn after(mut self, tried: &'a [Uuid]) -> Self {
        self.tried = tried;
        self
    }

    pub(crate) fn among(
        snapshot: &'a Snapshot,
        target: Target<'a>,
        tried: &'a [Uuid],
        turn: usize,
        members: &'a dyn Members,
    ) -> Self {
        Self { snapshot, target, tried, turn, among: Among::Pools(members) }
    }

    /// The cluster; a [`NodeIndex`] is a place in it.
    #[must_use]
    pub fn snapshot(&self) -> &'a Snapshot {
        self.snapshot
    }

    /// A node; `None` if it is not in the snapshot.
    #[must_use]
    pub fn node(&self, node: NodeIndex) -> Option<&'a NodeInfo> {
        Some(&**self.snapshot.at(node)?)
    }

    /// Where on the token ring the partition lies, if the statement is prepared and binds the whole partition key.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        self.target.token
    }

    /// Keyspace and name of the table that a prepared statement concerns, if it binds a value.
    #[must_use]
    pub fn table(&self) -> Option<(&'a str, &'a str)> {
        self.target.table
    }

    /// Whether the server marked the statement as conditional (ScyllaDB): then all clients should ask the same replica.
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        self.target.conditional
    }

    /// The nodes that were tried, or passed over since they were not connected.
    #[must_use]
    pub fn tried(&self) -> &'a [Uuid] {
        self.tried
    }

    /// Every node, beginning with another one each time.
    pub fn nodes(&self) -> impl Iterator<Item = NodeIndex> + use<'a> {
        from_turn(self.turn, self.snapshot.nodes().len())
            .map(|place| NodeIndex(u32::try_from(place).unwrap_or(u32::MAX)))
    }

    /// The nodes that hold the data; none if they are not known. Those of a conditional statement come in the order of the
    /// token ring or tablet, others begin with another one each time.
    pub fn replicas(&self) -> impl Iterator<Item = NodeIndex> + use<'a> {
        let among = self.among;
        let count = match among {
            Among::Pools(members) => members.replicas(),
            Among::Idle(replicas) => replicas.len(),
        };
        let turn = if self.target.conditional { 0 } else { self.turn };
        from_turn(turn, count).filter_map(move |place| match among {
            Among::Pools(members) => members.replica(place),
            Among::Idle(replicas) => replicas.get(place).copied(),
        })
    }

    /// How busy a node is; `None` if it has no connection that takes requests.
    #[must_use]
    pub fn load(&self, node: NodeIndex) -> Option<NodeLoad> {
        match self.among {
            Among::Pools(members) => members.load(node),
            Among::Idle(_) => self.node(node).map(|_| NodeLoad { in_flight: 0, silent: Duration::ZERO }),
        }
    }

    /// Whether a node is in the data centre that the session prefers; all are where it prefers none.
    #[must_use]
    pub fn is_local(&self, node: NodeIndex) -> bool {
        match self.among {
            Among::Pools(members) => members.is_local(node),
            Among::Idle(_) => self.node(node).is_some(),
        }
    }

    /// The one of these nodes that the session itself would take: the lesser loaded of the first two that are connected
    /// and have not been tried, or of a few more while those are silent; of a conditional statement the first that
    /// answers. It goes through them until it has found it, so they must come to an end.
    #[must_use]
    pub fn best_of(&self, nodes: impl IntoIterator<Item = NodeIndex>) -> Option<NodeIndex> {
        let mut nodes = nodes.into_iter();
        match self.among {
            Among::Pools(members) => members.best_of(&mut nodes),
            Among::Idle(_) => {
                nodes.find(|node| self.node(*node).is_some_and(|info| !self.tried.contains(&info.host_id)))
            }
        }
    }

    /// What the session would choose without a policy: a replica if it can, near nodes before others.
    #[must_use]
    pub fn built_in(&self) -> Option<NodeIndex> {
        match self.among {
            Among::Pools(members) => members.built_in(),
            Among::Idle(_) => self.best_of(self.replicas()).or_else(|| self.best_of(self.nodes())),
        }
    }
}

/// The places below `count`, beginning with the one whose turn it is.
fn from_turn(turn: usize, count: usize) -> impl Iterator<Item = usize> {
    let start = turn.checked_rem(count).unwrap_or(0);
    (start..count).chain(0..start)
}

impl fmt::Debug for NodeChoice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeChoice").field("target", &self.target).field("tried", &self.tried).finish_non_exhaustive()
    }
}
