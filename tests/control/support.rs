//! A session to a name over a network of pipes, what its control connections dialled, and what it told.

mod dials;
mod monitor;

use std::{net::SocketAddr, time::Duration};

use messina::{
    Session,
    layers::Order,
    session::SessionBuilder,
    testkit::{Cluster, ClusterBuilder, Names, Network, Stage},
    topology::{SessionEvent, SessionEvents},
};

pub(crate) use self::{dials::Dials, monitor::Monitor};

/// How long a test waits for what must come; the clock is paused.
pub(crate) const SOON: Duration = Duration::from_secs(5);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// The network, the names in it, and what control connections dialled there.
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) names: Names,
    pub(crate) dials: Dials,
}

impl World {
    pub(crate) fn new() -> Self {
        let network = Network::new();
        Self { dials: Dials::new(&network), network, names: Names::new() }
    }

    /// A cluster here.
    pub(crate) fn cluster(&self) -> ClusterBuilder {
        Cluster::builder().network(&self.network)
    }

    /// Says where `db.test` leads from now on.
    pub(crate) fn lead(&self, addrs: impl IntoIterator<Item = SocketAddr>) {
        self.names.set("db.test", addrs);
    }

    /// A session to `db.test`, one address after the other as they are given.
    pub(crate) fn builder(&self) -> SessionBuilder {
        Session::builder()
            .contact_point("db.test")
            .resolver(self.names.clone())
            .connector(self.dials.connector())
            .candidate_order(Order::AsGiven)
            .sequential()
    }

    /// A session that is connected to every node of the cluster, which `db.test` leads to the first of.
    pub(crate) async fn session(&self, cluster: &Cluster) -> Session {
        self.lead([cluster.node(0).addr()]);
        let session = self.builder().build().await.unwrap();
        settled(cluster).await;
        session
    }
}

/// Every node has a connection of the pool, and somebody has that of the control connection.
pub(crate) async fn settled(cluster: &Cluster) {
    cluster.wait_for(SOON, |seen| seen.open() == cluster.nodes().len() + 1).await.unwrap();
    settle().await;
}

/// Lets everything happen that can happen now.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// The addresses of the nodes with an open connection that registered for events.
pub(crate) fn control_nodes(cluster: &Cluster) -> Vec<SocketAddr> {
    let connections = cluster.log().connections();
    let open = connections.iter().filter(|one| one.is_open() && one.count(Stage::Register) > 0);
    open.map(|one| one.server()).collect()
}

/// Everything that was told until now.
pub(crate) fn told(events: &mut SessionEvents) -> Vec<SessionEvent> {
    std::iter::from_fn(|| events.try_next()).collect()
}

/// Waits for an event.
pub(crate) async fn until(events: &mut SessionEvents, wanted: impl Fn(&SessionEvent) -> bool) -> SessionEvent {
    let wait = async {
        loop {
            let event = events.next().await.unwrap();
            if wanted(&event) {
                return event;
            }
        }
    };
    tokio::time::timeout(SOON, wait).await.expect("the event comes")
}
