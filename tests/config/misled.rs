//! A session one of whose nodes is not what it was any more.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use messina::{
    Session,
    config::TlsSettings,
    layers::{ConnectError, Order},
    session::SessionBuilder,
    testkit::{Cluster, Names, Network, Node, Scylla, TestCa, rows},
};
use tokio::time::{Instant, sleep, timeout};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const QUERY: &str = "SELECT id FROM ks.t";
/// The second node's address, as a resolver is asked for it.
pub(crate) const SECOND_NODE: &str = "10.0.0.2";

/// A session that enters by the first node; the second one's address may lead elsewhere.
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) cluster: Cluster,
    pub(crate) names: Names,
    pub(crate) refused: Vec<SocketAddr>,
    pub(crate) silent: Vec<SocketAddr>,
    pub(crate) builder: SessionBuilder,
    pub(crate) session: Session,
}

impl World {
    pub(crate) async fn new(tls: bool, scylla: bool) -> Self {
        let network = Network::new();
        let mut cluster = Cluster::builder().network(&network).nodes(3).user("ada", "pass");
        let ca = TestCa::new();
        if tls {
            cluster = cluster.tls(ca.server(["10.0.0.1", "10.0.0.2"]));
        }
        if scylla {
            cluster = cluster.scylla(Scylla::new(1));
        }
        let cluster = cluster.node(2, |facts| facts.listed = false).start().await.unwrap();
        cluster.prime(QUERY, rows!["id int"; (1,)]);
        let names = Names::new();
        let mut builder = Session::builder()
            .contact_addr(cluster.node(0).addr())
            .resolver(names.clone())
            .connector(network.connector())
            .candidate_order(Order::AsGiven)
            .credentials("ada", "pass");
        if tls {
            builder = builder.tls(TlsSettings::new(ca.client()));
        }
        let (refused, silent) =
            ((0..6).map(|_| network.refused()).collect(), (0..3).map(|_| network.black_hole()).collect());
        let session = builder.clone().build().await.unwrap();
        let world = Self { network, cluster, names, refused, silent, builder, session };
        world.connected().await;
        world
    }

    pub(crate) fn node(&self) -> &Node {
        self.cluster.node(1)
    }

    pub(crate) fn reconfigure(&self, option: &str, value: &str) {
        let config =
            self.builder.clone().set(option, value).check().unwrap_or_else(|error| panic!("{option}: {error}"));
        self.session.reconfigure(config).unwrap_or_else(|error| panic!("{option}: {error}"));
    }

    fn error(&self) -> Option<Arc<ConnectError>> {
        let id = self.node().host_id().unwrap();
        self.session.nodes().into_iter().find(|node| node.host_id == id).unwrap().last_error
    }

    pub(crate) fn is_connected(&self) -> bool {
        // The control connection is on the first.
        let at_second = |(_, server): &(SocketAddr, SocketAddr)| *server == self.node().addr();
        self.network.held().iter().any(at_second) && self.error().is_none()
    }

    /// The second node has been connected to for a while, so that a lost connection is opened again at once.
    pub(crate) async fn connected(&self) {
        until(|| self.is_connected()).await;
        sleep(5 * SECOND).await;
    }

    /// The connection to the second node is lost; says how the next connect failed.
    pub(crate) async fn fails(&self) -> String {
        self.node().reset_connections();
        until(|| self.error().is_some()).await;
        shown(&self.error().unwrap())
    }

    /// The connection to the second node is lost; says how long it takes to get another one.
    pub(crate) async fn comes_back(&self) -> Duration {
        let held = self.network.held();
        let started = Instant::now();
        self.node().reset_connections();
        until(|| self.network.held() != held).await;
        until(|| self.is_connected()).await;
        started.elapsed()
    }

    /// Its address leads to it again, and nothing is wrong with it.
    pub(crate) async fn heals(&self) {
        self.names.remove(SECOND_NODE);
        self.cluster.clear_faults();
        self.connected().await;
    }
}

/// Waits until it holds, in steps that are small beside every limit.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(90 * SECOND, wait).await.expect("it comes to hold");
}

/// Addresses with stages, and times that are not 0; how many were not tried.
fn shown(error: &ConnectError) -> String {
    if let ConnectError::Resolve { elapsed, .. } = error {
        return format!("resolve {elapsed:?}");
    }
    let one = |failed: &messina::layers::FailedAttempt| {
        let elapsed = if failed.elapsed.is_zero() { String::new() } else { format!(" {:?}", failed.elapsed) };
        format!("{} {}{elapsed}", failed.addr.ip(), failed.error.stage())
    };
    let mut all: Vec<_> = error.failed().iter().map(one).collect();
    if error.untried() > 0 {
        all.push(format!("{} untried", error.untried()));
    }
    all.join(", ")
}
