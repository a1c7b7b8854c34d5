//! A cluster inside the process.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::log::{Log, NotSeen, Snapshot};
use super::node::Node;
use super::prime::{Maker, Prime, Primes, Request};
use super::routes::RoutesTable;
use super::{Answer, ClientRoute, ClusterBuilder, NodeFacts, Push, Rule, Stage};

/// Nodes that speak CQL, and what they have in common.
///
/// The nodes end when the cluster is dropped: their sockets are closed, no task is left.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use messina::testkit::{Cluster, Fault, Stage, rows};
///
/// let cluster = Cluster::builder().nodes(3).user("cassandra", "secret").start().await?;
/// cluster.prime("SELECT id, name FROM ks.users", rows!["id int, name text"; (7, "Ada")]);
/// cluster.node(0).fault(Stage::Startup, Fault::Silence.times(1));
/// // .. connect to `cluster.node(0).addr()` ..
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Cluster {
    pub(super) shared: Arc<Shared>,
    pub(super) nodes: Vec<Node>,
    pub(super) _tasks: Tasks,
}

/// What all nodes of a cluster share.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) log: Log,
    pub(super) primes: Primes,
    pub(super) users: Vec<(String, String)>,
    pub(super) authenticator: String,
    pub(super) keyspaces: Option<Vec<String>>,
    pub(super) routes: RoutesTable,
    pub(super) members: Vec<Arc<Mutex<NodeFacts>>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Says what the cluster is to be like, then starts it.
    pub fn builder() -> ClusterBuilder {
        ClusterBuilder::default()
    }

    /// The cluster's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One node.
    ///
    /// # Panics
    /// Where there is no node with this index.
    pub fn node(&self, index: usize) -> &Node {
        &self.nodes[index]
    }

    /// The addresses of all nodes.
    pub fn addrs(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Node::addr).collect()
    }

    /// From now on the statement has this answer, on every node.
    ///
    /// A primed text comes before the built-in system tables, so they can be primed as well.
    pub fn prime(&self, statement: impl Into<Prime>, answer: impl Into<Answer>) {
        self.shared.primes.add(statement.into(), Maker::Fixed(Arc::new(answer.into())));
    }

    /// From now on the statement is answered by this closure.
    ///
    /// ```
    /// # fn example(cluster: &messina::testkit::Cluster) {
    /// use messina::testkit::{Answer, Prime, rows};
    ///
    /// let double = Prime::new("SELECT double(?)").params("n int").columns("twice int");
    /// cluster.prime_with(double, |request| match request.value::<i32>(0) {
    ///     Some(n) => rows!["twice int"; (2 * n,)].into(),
    ///     None => Answer::error(0x2200, "n must not be null"),
    /// });
    /// # }
    /// ```
    pub fn prime_with(&self, statement: impl Into<Prime>, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) {
        self.shared.primes.add(statement.into(), Maker::Closure(Arc::new(answer)));
    }

    /// From now on `system.client_routes` has these rows; nobody is told, see [`Push::client_routes`].
    pub fn set_client_routes(&self, routes: impl IntoIterator<Item = ClientRoute>) {
        self.shared.routes.set(Some(routes.into_iter().collect()));
    }

    /// From now on there is no table of client routes.
    pub fn drop_client_routes(&self) {
        self.shared.routes.set(None);
    }

    /// Puts one fault in place of those of the stage, on every node.
    pub fn fault(&self, stage: Stage, fault: impl Into<Rule>) {
        let rule = fault.into();
        self.nodes.iter().for_each(|node| node.fault(stage, rule.clone()));
    }

    /// Takes all faults of all nodes away.
    pub fn clear_faults(&self) {
        self.nodes.iter().for_each(Node::clear_faults);
    }

    /// Sends an event from every node; says how many connections were registered for it.
    pub fn push(&self, event: &Push) -> usize {
        self.nodes.iter().map(|node| node.push(event)).sum()
    }

    /// The log.
    pub fn log(&self) -> &Log {
        &self.shared.log
    }

    /// Waits until the condition holds; the short form of [`Log::wait_for`].
    ///
    /// # Errors
    /// [`NotSeen`] when it does not hold within the limit.
    pub async fn wait_for(&self, within: Duration, condition: impl FnMut(&Snapshot) -> bool) -> Result<(), NotSeen> {
        self.shared.log.wait_for(within, condition).await
    }
}

/// The tasks of a cluster; they end with it.
#[derive(Debug, Default)]
pub(super) struct Tasks(pub(super) Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}
