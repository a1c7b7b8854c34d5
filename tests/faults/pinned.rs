//! What befalls a node's address after the node was identified there.

use std::time::Duration;

use messina::{
    Session,
    layers::Order,
    testkit::{Cluster, ClusterBuilder, Names, Network, Push, Scylla, rows},
};
use uuid::Uuid;

use crate::{
    scene::{QUERY, controls, until},
    world::Before,
};

const SECOND: Duration = Duration::from_secs(1);

struct Scene {
    network: Network,
    cluster: Cluster,
    names: Names,
    before: Before,
    session: Session,
}

/// A session that is connected to every listed node and has been for a while; `db.test` is the first.
async fn scene(change: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> Scene {
    let network = Network::new();
    let cluster = change(Cluster::builder().network(&network).nodes(3)).start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    let names = Names::new();
    names.set("db.test", [cluster.node(0).addr()]);
    let before = Before::session();
    let builder = Session::builder().contact_point("db.test").resolver(names.clone()).connector(network.connector());
    let session = builder.candidate_order(Order::AsGiven).build().await.unwrap();
    let listed = cluster.nodes().len() - usize::from(network.dials(cluster.node(2).addr()) == 0);
    until(SECOND, || network.held().len() > listed.min(2)).await.unwrap();
    tokio::time::sleep(5 * SECOND).await;
    Scene { network, cluster, names, before, session }
}

impl Scene {
    async fn serves(&self) {
        for _ in 0..10 {
            self.session.execute(QUERY, ()).await.unwrap();
        }
    }

    fn to(&self, index: usize) -> usize {
        let addr = self.cluster.node(index).addr();
        self.network.held().iter().filter(|(_, server)| *server == addr).count()
    }

    async fn end(self) {
        drop(self.session);
        self.before.check(&self.network).await.unwrap();
    }
}

/// connect 98: a node is dialled where it was found and nowhere else, whatever the name says by then.
#[tokio::test(start_paused = true)]
async fn the_address_dies() {
    let scene = scene(|builder| builder).await;
    // Another record of the name is alive; that is no way to the node that was found at the first.
    let nobody = scene.network.nobody();
    scene.names.set("db.test", [scene.cluster.node(0).addr(), nobody]);
    let before = scene.network.dials(scene.cluster.node(1).addr());
    scene.cluster.node(1).kill().await;
    tokio::time::sleep(60 * SECOND).await;
    scene.serves().await;
    assert!(scene.network.dials(scene.cluster.node(1).addr()) > before, "it is tried again");
    assert_eq!((scene.to(1), scene.network.dials(nobody)), (0, 0));
    assert_eq!(scene.session.topology().nodes().len(), 3, "it is still part of the cluster");
    scene.cluster.node(1).start();
    scene.cluster.push(&Push::status("UP", scene.cluster.node(1).addr()));
    until(3 * SECOND / 2, || scene.to(1) == 1).await.unwrap();
    scene.end().await;
}

/// report 50: another node answers at the address of one that is known: it is told apart before it is used.
/// report 8: connections counted for a node are to that node.
/// reviewer 40: the address that was reached is the node's only while the node answers there.
#[tokio::test(start_paused = true)]
async fn another_node_is_there() {
    let scene = scene(|builder| builder.scylla(Scylla::new(1))).await;
    let node = scene.cluster.node(1);
    let (was, other) = (node.host_id(), Some(Uuid::from_u128(0x0BAD)));
    node.kill().await;
    // The others have not heard of it: they still tell the old id.
    let stale = messina::testkit::NodeFacts::clone(&facts(&scene.cluster, 1));
    node.set(|facts| facts.host_id = other);
    let told = scene.cluster.node(0).host_id();
    scene.cluster.prime(
        "SELECT * FROM system.peers",
        rows!["peer inet, host_id uuid, rpc_address inet, data_center text, rack text";
            (stale.address.unwrap().ip(), was, stale.address.unwrap().ip(), "datacenter1", "rack1")],
    );
    node.start();
    tokio::time::sleep(30 * SECOND).await;
    scene.serves().await;
    assert_eq!(scene.to(1), 0, "what answers there is not the node that is meant");
    assert!(scene.session.topology().nodes().iter().all(|node| Some(node.host_id) != other));
    assert!(told.is_some());
    let refused: Vec<_> = node.connections().into_iter().filter(|one| one.stages().len() == 1).collect();
    assert!(!refused.is_empty(), "refused after OPTIONS");

    // Now it is told: the old one is gone, the new one is connected to.
    scene.cluster.prime(
        "SELECT * FROM system.peers",
        rows!["peer inet, host_id uuid, rpc_address inet, data_center text, rack text";
            (stale.address.unwrap().ip(), other, stale.address.unwrap().ip(), "datacenter1", "rack1")],
    );
    scene.cluster.push(&Push::topology("NEW_NODE", node.addr()));
    until(3 * SECOND, || scene.to(1) == 1).await.unwrap();
    let topology = scene.session.topology();
    assert!(topology.nodes().iter().any(|node| Some(node.host_id) == other));
    assert!(topology.nodes().iter().all(|node| Some(node.host_id) != was));
    scene.end().await;
}

fn facts(cluster: &Cluster, index: usize) -> messina::testkit::NodeFacts {
    let mut copy = None;
    cluster.node(index).set(|facts| copy = Some(facts.clone()));
    copy.unwrap()
}

/// scenario H5: the records of the name change places: what is counted for a node stays on that node, also when its
/// pool is built anew.
#[tokio::test(start_paused = true)]
async fn the_name_moves() {
    let scene = scene(|builder| builder).await;
    let held = scene.network.held();
    scene.names.set("db.test", [scene.cluster.node(2).addr(), scene.cluster.node(0).addr()]);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(scene.network.held(), held, "a name that moves disturbs no connection");
    scene.cluster.node(0).reset_connections();
    until(3 * SECOND, || scene.network.held().len() == 4 && controls(&scene.network, &scene.cluster).len() == 1)
        .await
        .unwrap();
    let ids: Vec<_> = scene.session.topology().nodes().iter().map(|node| node.host_id).collect();
    assert_eq!(ids.len(), 3);
    for (index, node) in scene.cluster.nodes().iter().enumerate() {
        let controls = controls(&scene.network, &scene.cluster).iter().filter(|addr| **addr == node.addr()).count();
        assert_eq!(scene.to(index), 1 + controls, "node {index}");
    }
    scene.serves().await;
    scene.end().await;
}
