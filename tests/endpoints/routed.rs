//! A cluster behind client routes.

use std::net::SocketAddr;

use messina::{
    Session,
    layers::Order,
    session::SessionBuilder,
    testkit::{ClientRoute, Cluster, ClusterBuilder, ConnectionLog, Network, NotSeen},
};

use crate::support::{Names, SOON, serves};

/// A cluster whose nodes advertise addresses where dials are refused, and are reached by names.
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) cluster: Cluster,
    pub(crate) names: Names,
    /// What the nodes advertise.
    pub(crate) advertised: Vec<SocketAddr>,
}

impl World {
    pub(crate) async fn new(nodes: usize) -> Self {
        Self::of(nodes, ClusterBuilder::client_routes).await
    }

    pub(crate) async fn of(nodes: usize, change: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> Self {
        let network = Network::new();
        let mut builder = Cluster::builder().nodes(nodes).network(&network);
        let advertised: Vec<_> = (0..nodes).map(|_| network.refused()).collect();
        for (index, addr) in advertised.iter().copied().enumerate() {
            builder = builder.node(index, move |facts| facts.address = Some(addr));
        }
        let cluster = change(builder).start().await.unwrap();
        let names = Names::default();
        names.set("db.test", [cluster.node(0).addr()]);
        for (index, addr) in cluster.addrs().into_iter().enumerate() {
            names.set(&format!("r{index}.test"), [addr]);
        }
        let world = Self { network, cluster, names, advertised };
        world.cluster.set_client_routes((0..nodes).map(|index| world.route(index)));
        world
    }

    /// The right route to a node.
    pub(crate) fn route(&self, index: usize) -> ClientRoute {
        let port = u16::try_from(9000 + index).unwrap();
        ClientRoute::new("vpc-1", self.id(index), format!("r{index}.test"), port)
    }

    pub(crate) fn id(&self, index: usize) -> uuid::Uuid {
        self.cluster.node(index).host_id().unwrap()
    }

    pub(crate) fn builder(&self) -> SessionBuilder {
        Session::builder()
            .contact_point("db.test")
            .client_routes("vpc-1")
            .resolver(self.names.clone())
            .connector(self.network.connector())
            .candidate_order(Order::AsGiven)
    }

    /// The statements that read routes, in order.
    pub(crate) fn reads(&self) -> Vec<String> {
        self.cluster.log().look(|seen| route_reads(seen.connections()))
    }

    /// Waits until so many were sent.
    pub(crate) async fn has_read(&self, count: usize) -> Result<(), NotSeen> {
        self.cluster.wait_for(SOON, |seen| route_reads(seen.connections()).len() >= count).await
    }

    pub(crate) fn served(&self, index: usize) -> bool {
        self.cluster.node(index).connections().iter().any(serves)
    }
}

fn route_reads(connections: &[ConnectionLog]) -> Vec<String> {
    let requests = connections.iter().flat_map(ConnectionLog::requests);
    requests.filter(|(_, text)| text.contains("client_routes")).map(|(_, text)| text.to_owned()).collect()
}
