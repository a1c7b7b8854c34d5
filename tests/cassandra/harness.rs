//! The harness itself: clusters are what their specs say, and nodes can be frozen, killed and brought back.

use std::io::ErrorKind;
use std::time::Duration;

use crate::support::case::{Case, Clusters, case};
use crate::support::cluster::Cluster;
use crate::support::raw::{OPTIONS, READY, RESULT, Raw, SUPPORTED};
use crate::support::spec::Spec;
use crate::support::trace;
use crate::support::way::{Mode, Way, cluster_name, told_once};

pub(crate) fn cases() -> Vec<Case> {
    let minutes = Duration::from_secs(180);
    vec![
        case("harness::three_nodes_know_each_other", [Spec::three()], three_nodes_know_each_other),
        case("harness::two_data_centres", [Spec::two_data_centres()], two_data_centres),
        case("harness::a_node_freezes_dies_and_returns", [Spec::own("mortal"), Spec::single()], freezes_dies_returns)
            .limit(minutes),
    ]
}

fn ask(cluster: &Cluster, node: usize, query: &str) -> String {
    let mut raw = Raw::connect(cluster.nodes[node].native(), 4).unwrap();
    assert_eq!(raw.startup(&[]).unwrap().opcode, READY);
    let answer = raw.query(query).unwrap();
    assert_eq!(answer.opcode, RESULT, "{}", answer.text());
    answer.text()
}

/// cassandra: three nodes on addresses of their own with one port, each with two peers.
async fn three_nodes_know_each_other(clusters: Clusters) {
    for node in 0..3 {
        let peers = ask(&clusters[0], node, "SELECT rack FROM system.peers_v2");
        let others: Vec<String> =
            (0..3).filter(|other| *other != node).map(|other| format!("rack{}", other + 1)).collect();
        assert!(others.iter().all(|rack| peers.contains(rack)), "node {node} sees {peers:?}");
    }
    ask(&clusters[0], 0, "CREATE KEYSPACE three WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3}");
}

/// cassandra: data centres come from `cassandra-rackdc.properties`.
async fn two_data_centres(clusters: Clusters) {
    assert!(ask(&clusters[0], 0, "SELECT data_center FROM system.local").contains("north"));
    assert!(ask(&clusters[0], 0, "SELECT data_center FROM system.peers_v2").contains("south"));
}

/// cassandra: a frozen node accepts and is silent, and is passed over when it comes first under a name; a killed one refuses, a restarted one has its host id and data.
async fn freezes_dies_returns(clusters: Clusters) {
    let node = &clusters[0].nodes[0];
    let host_id = ask(&clusters[0], 0, "SELECT host_id FROM system.local");

    node.freeze().unwrap();
    let mut raw = Raw::connect(node.native(), 4).unwrap();
    raw.patience(Duration::from_millis(300)).unwrap();
    let silence = raw.call(1, OPTIONS, &[]).unwrap_err();
    assert!(matches!(silence.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{silence}");
    for mode in [Mode::Delay, Mode::Sequential] {
        let way = Way::through(mode, &[node.native(), clusters[1].native()]).await;
        let session = way.impatient().build().await.unwrap();
        assert_eq!(cluster_name(&session).await.unwrap(), "messina");
        told_once(node.native(), "no answer within", mode);
        trace::clear();
    }
    node.thaw().unwrap();
    raw.patience(Duration::from_secs(5)).unwrap();
    assert_eq!(raw.receive().unwrap().opcode, SUPPORTED);

    node.kill().unwrap();
    assert_eq!(Raw::connect(node.native(), 4).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    node.restart().unwrap();
    assert_eq!(ask(&clusters[0], 0, "SELECT host_id FROM system.local"), host_id);

    node.stop().unwrap();
    assert_eq!(Raw::connect(node.native(), 4).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    node.restart().unwrap();
    assert_eq!(ask(&clusters[0], 0, "SELECT host_id FROM system.local"), host_id);
}
