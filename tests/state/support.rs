//! A session over pipes, so that the clock may be paused.

use std::time::Duration;

use messina::{
    Session,
    session::{NodeState, SessionBuilder, SessionState},
    testkit::{Cluster, ClusterBuilder, Names, Network},
};

/// How long a test waits for what must come.
pub(crate) const SOON: Duration = Duration::from_secs(5);

/// A cluster behind the name `db.test`, and the pipes that it can only be reached through.
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) cluster: Cluster,
    pub(crate) names: Names,
}

impl World {
    pub(crate) async fn new(cluster: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> Self {
        let network = Network::new();
        let cluster = cluster(Cluster::builder().network(&network)).start().await.unwrap();
        let names = Names::new();
        names.set("db.test", [cluster.node(0).addr()]);
        Self { network, cluster, names }
    }

    pub(crate) fn builder(&self) -> SessionBuilder {
        Session::builder()
            .contact_point("db.test")
            .resolver(self.names.clone())
            .connector(self.network.connector())
            .sequential()
    }

    /// The node of this index, as the session knows it.
    pub(crate) fn node(&self, state: &SessionState, index: usize) -> NodeState {
        let host_id = self.cluster.node(index).host_id().unwrap();
        let found = state.nodes.iter().find(|node| node.host_id == host_id);
        found.unwrap_or_else(|| panic!("node {index} is not in the state:\n{state}")).clone()
    }
}

/// Waits until the state is like this.
pub(crate) async fn until(session: &Session, mut holds: impl FnMut(&SessionState) -> bool) -> SessionState {
    for _ in 0..2000 {
        let state = session.state();
        if holds(&state) {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("not seen; at last\n{}", session.state());
}

/// Whether each node has as many connections as it is to have.
pub(crate) fn full(state: &SessionState) -> bool {
    state.nodes.iter().all(|node| node.wanted > 0 && node.connections.len() >= node.wanted)
}
