//! A session over pipes, and what it says of its pools.

use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use messina::{
    Session,
    endpoint::{CustomEndpoint, Endpoint},
    layers::{Address, Candidate, FixedResolver, LocalBind, Name, Order, Resolved, Transport},
    session::{NodeState, Purpose, SessionBuilder},
    testkit::{Cluster, ClusterBuilder, ConnectionLog, EventKind, Log, Network, Node, NotSeen, Pipe, Stage, rows},
    topology::{BoxNodes, NodeInfo, SystemTables, TopologyMonitor},
};
use uuid::Uuid;

pub(crate) const QUERY: &str = "SELECT id FROM ks.t";
pub(crate) const SECOND: Duration = Duration::from_secs(1);
/// How long a test waits for what must come; the clock is paused.
pub(crate) const SOON: Duration = Duration::from_secs(5);

/// Answers `db.test` with these addresses.
pub(crate) fn resolver(addrs: impl IntoIterator<Item = SocketAddr>) -> FixedResolver {
    FixedResolver::new().with(Name::new("db.test").unwrap(), addrs.into_iter().map(Resolved::from))
}

/// A session to these addresses over pipes, whose name is `db.test`.
pub(crate) fn named(network: &Network, addrs: impl IntoIterator<Item = SocketAddr>) -> SessionBuilder {
    Session::builder()
        .contact_point("db.test")
        .resolver(resolver(addrs))
        .connector(network.connector())
        .candidate_order(Order::AsGiven)
        .sequential()
}

/// A cluster in a network of pipes, and a builder of sessions that enter by its first node.
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) cluster: Cluster,
}

impl World {
    pub(crate) async fn start(change: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> Self {
        let network = Network::new();
        let cluster = change(Cluster::builder().network(&network)).start().await.unwrap();
        cluster.prime(QUERY, rows!["id int"; (1,)]);
        Self { network, cluster }
    }

    pub(crate) async fn of(nodes: usize) -> Self {
        Self::start(|cluster| cluster.nodes(nodes)).await
    }

    pub(crate) fn builder(&self) -> SessionBuilder {
        named(&self.network, [self.node(0).addr()])
    }

    pub(crate) fn node(&self, index: usize) -> &Node {
        self.cluster.node(index)
    }

    /// Waits until so many connections are open in all, and done with their handshake.
    pub(crate) async fn open(&self, connections: usize) {
        self.open_within(SOON, connections).await;
    }

    pub(crate) async fn open_within(&self, limit: Duration, connections: usize) {
        let done = |one: &&ConnectionLog| one.is_open() && one.count(Stage::Cluster) == 1;
        let seen = self.cluster.wait_for(limit, |seen| {
            seen.open() == connections && seen.connections().iter().filter(done).count() == connections
        });
        let open = |seen: &NotSeen| {
            seen.to_string().lines().map(|line| line.chars().take(300).collect()).collect::<Vec<String>>()
        };
        seen.await.unwrap_or_else(|seen| panic!("{:#?}", open(&seen)));
        settle().await;
    }

    /// What the session says of a node.
    pub(crate) fn state(&self, session: &Session, index: usize) -> NodeState {
        let host_id = self.node(index).host_id().unwrap();
        state_of(session, host_id)
    }

    pub(crate) async fn all_closed(&self) {
        all_closed(self.cluster.log()).await;
    }
}

pub(crate) fn state_of(session: &Session, host_id: Uuid) -> NodeState {
    session.nodes().into_iter().find(|node| node.host_id == host_id).expect("the node is known")
}

/// How many connections serve each shard.
pub(crate) fn shards(node: &NodeState) -> Vec<usize> {
    let mut shards = vec![0; node.shards.unwrap_or(1).into()];
    for connection in node.connections.iter().filter(|one| one.purpose == Purpose::Serving) {
        shards[usize::from(connection.shard.unwrap_or(0))] += 1;
    }
    shards
}

/// Lets everything happen that can happen now: a paused clock moves only when nothing else does.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Fails where paused time stands still for long: what goes on and on without a pause keeps the clock from moving.
pub(crate) async fn in_moving_time<T>(what: impl Future<Output = T>) -> T {
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let (late, is_late) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        if is_done.recv_timeout(20 * SECOND) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = late.send(());
        }
    });
    tokio::select! {
        result = what => {
            drop(done);
            result
        }
        Ok(()) = is_late => panic!("for 20 s of real time the clock has not come as far"),
    }
}

pub(crate) async fn all_closed(log: &Log) {
    log.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
}

/// The shipped monitor, whose nodes are all dialled at one name.
#[derive(Debug)]
pub(crate) struct ByName {
    inner: SystemTables,
    endpoint: Endpoint,
}

impl ByName {
    /// Nodes that are dialled themselves, at this name.
    pub(crate) fn direct(name: &str) -> Self {
        Self { inner: SystemTables::new(), endpoint: Address::parse(name, 9042).unwrap().into() }
    }

    /// Nodes that are reached through something that has this name.
    pub(crate) fn proxied(name: &str) -> Self {
        let address = Address::parse(name, 9042).unwrap();
        let endpoint = Endpoint::Custom(Arc::new(Proxy { id: format!("proxy {name}"), address }));
        Self { inner: SystemTables::new(), endpoint }
    }
}

impl TopologyMonitor for ByName {
    fn nodes(&self) -> BoxNodes {
        self.inner.nodes()
    }

    fn endpoint(&self, _node: &NodeInfo) -> Option<Endpoint> {
        Some(self.endpoint.clone())
    }
}

#[derive(Debug)]
struct Proxy {
    id: String,
    address: Address,
}

impl CustomEndpoint for Proxy {
    fn id(&self) -> &str {
        &self.id
    }

    fn address(&self) -> Address {
        self.address.clone()
    }
}

/// Dials into a network, where some addresses lead to others, each dial to the next one.
#[derive(Clone, Debug)]
pub(crate) struct Balancer {
    network: Network,
    table: Arc<Mutex<HashMap<SocketAddr, VecDeque<SocketAddr>>>>,
}

impl Balancer {
    pub(crate) fn new(network: &Network) -> Self {
        Self { network: network.clone(), table: Arc::default() }
    }

    /// From now on `from` leads to these in turn.
    pub(crate) fn lead(&self, from: SocketAddr, to: impl IntoIterator<Item = SocketAddr>) {
        self.table.lock().unwrap().insert(from, to.into_iter().collect());
    }

    fn next(&self, addr: SocketAddr) -> SocketAddr {
        let mut table = self.table.lock().unwrap();
        let Some(turns) = table.get_mut(&addr) else { return addr };
        turns.rotate_left(1);
        *turns.back().unwrap()
    }
}

impl<T: LocalBind + Send + 'static> tower::Service<Candidate<T>> for Balancer {
    type Response = Transport<T, Pipe>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, candidate: Candidate<T>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let to = this.next(candidate.addr());
            let pipe = this.network.dial_from(to, candidate.target().ports()).await?;
            Ok(Transport::new(candidate, pipe))
        })
    }
}

/// A resolver whose answer for every name can be changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    addrs: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Records {
    pub(crate) fn set(&self, addrs: impl IntoIterator<Item = SocketAddr>) {
        *self.addrs.lock().unwrap() = addrs.into_iter().collect();
    }
}

impl tower::Service<Address> for Records {
    type Response = Vec<Resolved>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Vec<Resolved>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Address) -> Self::Future {
        let answer = match address {
            Address::Socket(addr) => vec![Resolved::from(addr)],
            Address::Name(..) => self.addrs.lock().unwrap().iter().copied().map(Resolved::from).collect(),
        };
        std::future::ready(Ok(answer))
    }
}

/// The most connections that were between their opening and the end of their handshake at the same time.
pub(crate) fn most_opening(connections: &[ConnectionLog]) -> usize {
    let mut edges = Vec::new();
    for connection in connections {
        let begun = connection.events().first().map(|event| event.at);
        let done = connection
            .events()
            .iter()
            .find(|event| matches!(&event.kind, EventKind::Request(Stage::Cluster, _) | EventKind::Closed(_)));
        if let (Some(begun), Some(done)) = (begun, done) {
            edges.extend([(begun, 1_i32), (done.at, -1)]);
        }
    }
    // At the same moment an end comes before a beginning.
    edges.sort_unstable();
    let mut now = 0;
    edges
        .into_iter()
        .map(|(_, step)| {
            now += step;
            now
        })
        .max()
        .unwrap_or(0)
        .try_into()
        .unwrap()
}
