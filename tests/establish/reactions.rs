//! What a session does about a node that it cannot connect to.

use std::time::Duration;

use messina::testkit::{Cluster, Network, Stage};
use tokio::time::Instant;

use crate::support::{Events, SOON, all_closed, named};

/// connect 56: a node of another cluster is forced down: not asked again for the longest delay, and then it may return.
#[tokio::test(start_paused = true)]
async fn a_node_of_another_cluster_is_forced_down() {
    let events = Events::watch();
    let network = Network::new();
    let cluster =
        Cluster::builder().name("ours").network(&network).nodes(2).node(1, |facts| facts.cluster_name = "other".into());
    let cluster = cluster.start().await.unwrap();
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    let foreign = cluster.node(1);
    foreign
        .wait_for(SOON, |seen| seen.iter().any(|one| one.count(Stage::Cluster) == 1 && !one.is_open()))
        .await
        .unwrap();
    let refused = Instant::now();
    foreign.set(|facts| facts.cluster_name = "ours".into());
    foreign.wait_for(Duration::from_secs(120), |seen| seen.len() == 2).await.unwrap();
    assert!(refused.elapsed() >= Duration::from_secs(50), "asked again after {:?}", refused.elapsed());
    assert_eq!(events.with("forced down").len(), 1);
    drop(session);
    all_closed(cluster.log()).await;
}

/// connect 56: a refused connection is an ordinary failure: tried again after about a second.
#[tokio::test(start_paused = true)]
async fn a_refused_connection_is_tried_again_soon() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
    cluster.node(1).kill().await;
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    cluster.node(0).wait_for(SOON, |seen| seen.iter().filter(|one| one.is_open()).count() == 2).await.unwrap();
    cluster.node(1).start();
    let started = Instant::now();
    cluster.node(1).wait_for(SOON, |seen| seen.iter().any(|one| one.is_open())).await.unwrap();
    assert!(started.elapsed() <= Duration::from_secs(3), "{:?}", started.elapsed());
    drop(session);
    all_closed(cluster.log()).await;
}
