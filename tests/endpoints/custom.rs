//! Endpoints of the application's own, and monitors that bring them.

use std::sync::Arc;

use messina::{
    Session,
    endpoint::{ContactPoint, CustomEndpoint, Endpoint},
    layers::{Address, Order},
    testkit::{Cluster, Network},
    topology::{BoxNodes, NodeInfo, SystemTables, TopologyMonitor},
};

use crate::support::{Names, SOON, connected};

/// A node behind a tunnel of its own, found by name.
#[derive(Debug)]
struct Tunnel(String);

impl CustomEndpoint for Tunnel {
    fn id(&self) -> &str {
        &self.0
    }

    fn address(&self) -> Address {
        Address::new(&format!("{}.tunnel.test", self.0), 9042).unwrap()
    }
}

fn tunnel(id: impl Into<String>) -> Endpoint {
    Endpoint::Custom(Arc::new(Tunnel(id.into())))
}

/// Reads the nodes as usual, and reaches each by a tunnel.
#[derive(Debug)]
struct Tunnels(SystemTables);

impl TopologyMonitor for Tunnels {
    fn nodes(&self) -> BoxNodes {
        self.0.nodes()
    }

    fn endpoint(&self, node: &NodeInfo) -> Option<Endpoint> {
        Some(tunnel(node.host_id.to_string()))
    }
}

/// connect D25: a topology monitor may bring endpoints of its own, as may a contact point.
/// connect 95: the stack gives them what it gives all: every address of their names.
/// connect 112: they give their address as it is, a name that nobody has looked up.
#[tokio::test(start_paused = true)]
async fn tunnels() {
    let network = Network::new();
    let cluster = Cluster::builder().nodes(2).network(&network).start().await.unwrap();
    let names = Names::default();
    let dead = network.refused();
    names.set("entry.tunnel.test", [dead, cluster.node(0).addr()]);
    for node in cluster.nodes() {
        names.set(&format!("{}.tunnel.test", node.host_id().unwrap()), [dead, node.addr()]);
    }
    let session = Session::builder()
        .contact_endpoint(ContactPoint::from_endpoint(tunnel("entry")))
        .topology_monitor(Tunnels(SystemTables::new()))
        .resolver(names.clone())
        .connector(network.connector())
        .candidate_order(Order::AsGiven)
        .build()
        .await
        .unwrap();
    connected(&cluster, 0..2, SOON).await;
    assert!(names.asked().iter().all(|name| name.ends_with(".tunnel.test:9042")), "{:?}", names.asked());
    let topology = session.topology();
    for node in topology.nodes() {
        assert_eq!(node.endpoint().unwrap().to_string(), node.host_id.to_string());
    }
}
