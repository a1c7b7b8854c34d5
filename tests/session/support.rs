//! A session over pipes, so that the clock may be paused.

use std::ops::Deref;
use std::time::Duration;

use messina::session::SessionBuilder;
use messina::testkit::{Cluster, ClusterBuilder, Network};
use messina::{Error, Session};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A cluster, and the pipes that it can only be reached through.
pub(crate) struct Nodes {
    cluster: Cluster,
    _network: Network,
}

impl Deref for Nodes {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

/// A cluster of `nodes` nodes and a session with a connection to each.
pub(crate) async fn start(nodes: usize) -> (Nodes, Session) {
    start_with(|cluster| cluster.nodes(nodes), |session| session).await
}

/// The same, with changes to both.
pub(crate) async fn start_with(
    cluster: impl FnOnce(ClusterBuilder) -> ClusterBuilder,
    session: impl FnOnce(SessionBuilder) -> SessionBuilder,
) -> (Nodes, Session) {
    let network = Network::new();
    let cluster = cluster(Cluster::builder().network(&network)).start().await.unwrap();
    let builder = Session::builder().connector(network.connector()).contact_addr(cluster.node(0).addr()).sequential();
    let session = session(builder).build().await.unwrap();
    // One connection to each node, and the control connection.
    let nodes = cluster.nodes().len();
    cluster.wait_for(SECOND, |log| log.logins() > nodes).await.unwrap();
    settle().await;
    (Nodes { cluster, _network: network }, session)
}

/// Lets everything happen that can happen now: a paused clock moves only when nothing else does.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// The error of something that must fail.
pub(crate) fn error<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("it went well"),
        Err(error) => error,
    }
}
