//! What keeps a session connected: heartbeats, reopening, the local data centre.

use std::time::Duration;

use messina::{
    Statement,
    testkit::{Cluster, Fault, Network, Stage, rows},
};
use tokio::time::Instant;

use crate::support::{Events, SOON, all_closed, named};

const QUERY: &str = "SELECT id FROM ks.t";

async fn cluster(network: &Network, nodes: usize) -> Cluster {
    let cluster = Cluster::builder().network(network).nodes(nodes).start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    cluster
}

/// report 28: a half-open connection is noticed by a heartbeat, and replaced; so is the control connection.
#[tokio::test(start_paused = true)]
async fn a_mute_peer_is_noticed() {
    let network = Network::new();
    let cluster = cluster(&network, 1).await;
    let session = named(&network, [cluster.node(0).addr()])
        .heartbeat(Duration::from_secs(10), Duration::from_secs(2))
        .build()
        .await
        .unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    let started = Instant::now();
    cluster.node(0).fault(Stage::Heartbeat, Fault::Silence.times(2));
    cluster.wait_for(Duration::from_secs(60), |seen| seen.opened() == 4).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(11), "{:?}", started.elapsed());
    assert!(started.elapsed() <= Duration::from_secs(14), "{:?}", started.elapsed());
    session.execute(QUERY, ()).await.unwrap();
    drop(session);
}

/// report 28: answered heartbeats cost no connection.
#[tokio::test(start_paused = true)]
async fn an_idle_session_stays_connected() {
    let network = Network::new();
    let cluster = cluster(&network, 1).await;
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    cluster.wait_for(Duration::from_secs(600), |seen| seen.count(Stage::Heartbeat) >= 10).await.unwrap();
    assert_eq!(cluster.log().now().opened(), 2);
    drop(session);
}

/// report 36: a connection that served is opened again at once, and requests wait for it.
#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_opened_again_at_once() {
    let network = Network::new();
    let cluster = cluster(&network, 1).await;
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    tokio::time::advance(Duration::from_secs(2)).await;
    cluster.node(0).fault(Stage::Query, Fault::Close.times(1));
    session.execute(QUERY, ()).await.unwrap_err();
    let started = Instant::now();
    let one: (i32,) = session.execute(QUERY, ()).await.unwrap().one().await.unwrap();
    assert_eq!(one, (1,));
    assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
    drop(session);
    all_closed(cluster.log()).await;
}

/// report 38: a connection retired for its orphans is replaced before it is gone: no request fails.
#[tokio::test(start_paused = true)]
async fn a_retired_connection_is_replaced() {
    let network = Network::new();
    let cluster = cluster(&network, 1).await;
    let session = named(&network, [cluster.node(0).addr()]).requests_per_connection(16, 2).build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    tokio::time::advance(Duration::from_secs(2)).await;
    cluster.node(0).fault(Stage::Query, Fault::Silence.times(4));
    let impatient = Statement::new(QUERY).with_timeout(Duration::from_millis(10));
    for _ in 0..4 {
        let error = session.execute(&impatient, ()).await.unwrap_err();
        assert!(error.is_timeout(), "{error}");
    }
    for _ in 0..20 {
        session.execute(QUERY, ()).await.unwrap();
    }
    assert!(cluster.log().now().opened() >= 3);
    drop(session);
}

/// surface 1: requests go to the local data centre, inferred from the first node and logged.
#[tokio::test(start_paused = true)]
async fn the_local_data_centre_is_preferred() {
    let events = Events::watch();
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(3).node(2, |facts| facts.data_center = Some("far".into()));
    let cluster = cluster.start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 4).await.unwrap();
    for _ in 0..30 {
        session.execute(QUERY, ()).await.unwrap();
    }
    assert_eq!(cluster.node(2).count(Stage::Query), 0);
    assert!(cluster.node(0).count(Stage::Query) > 0 && cluster.node(1).count(Stage::Query) > 0);
    assert_eq!(events.with("local data centre").len(), 1);

    // While no local node is connected, the others serve.
    cluster.node(0).kill().await;
    cluster.node(1).kill().await;
    session.execute(&Statement::new(QUERY).with_idempotence(true), ()).await.unwrap();
    assert!(cluster.node(2).count(Stage::Query) > 0);
    drop(session);
    all_closed(cluster.log()).await;
}

/// connect 145: one warning when the local data centre matches no node.
#[tokio::test(start_paused = true)]
async fn a_local_data_centre_without_nodes_is_told_once() {
    let events = Events::watch();
    let network = Network::new();
    let cluster = cluster(&network, 2).await;
    let session = named(&network, [cluster.node(0).addr()]).local_datacenter("nowhere").build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 3).await.unwrap();
    session.execute(QUERY, ()).await.unwrap();
    let warned = events.with("no node is in the local data centre");
    assert_eq!(warned.len(), 1);
    assert_eq!(warned[0].field("local"), "nowhere");
    drop(session);
    all_closed(cluster.log()).await;
}
