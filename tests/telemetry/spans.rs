//! Spans, and warnings that are given once.

use std::time::Duration;

use messina::{
    Session,
    connection::Compression,
    testkit::{Answer, Cluster, Fault, Network, Stage},
};
use tokio::time::sleep;

use crate::{
    log::Log,
    scene::{Scene, WRITE},
};

/// Spans of a connect, of its attempts, of a request with its node and shard, and of the control connection.
#[tokio::test(start_paused = true)]
async fn spans() {
    let log = Log::watch();
    let scene = Scene::start().await;
    let session = scene.session().build().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    session.execute(WRITE, ()).await.unwrap();
    let spans = log.spans();
    let request = spans.iter().find(|span| span.starts_with("request{")).expect("a request");
    let mut nodes = (0..3).map(|node| scene.host_id(node));
    assert!(nodes.any(|node| request.contains(&format!("node={node}"))), "{request}");
    for expected in ["connect{target=db.test:9042}", "attempt{peer.addr=10.9.0.1:9042}", "control{}"] {
        assert!(spans.iter().any(|span| span == expected), "{expected} is not among {spans:#?}");
    }
}

/// A server that cannot compress as wanted is warned of once, whatever the number of connections.
#[tokio::test(start_paused = true)]
async fn no_compression_is_told_once() {
    let log = Log::watch();
    let network = Network::new();
    let mut cluster = Cluster::builder().nodes(3).network(&network);
    for node in 0..3 {
        cluster = cluster.node(node, |facts| facts.compression.clear());
    }
    let cluster = cluster.start().await.unwrap();
    let builder = Session::builder().contact_addr(cluster.node(0).addr()).connector(network.connector());
    let session = builder.compression(Compression::Lz4).build().await.unwrap();
    sleep(Duration::from_secs(5)).await;
    for node in 0..3 {
        cluster.node(node).reset_connections();
    }
    sleep(Duration::from_secs(60)).await;
    assert_eq!(log.warned("cannot compress as wanted"), 1);
    drop(session);
}

/// A node that refuses the login is warned of once, and once more if it let us in meanwhile.
#[tokio::test(start_paused = true)]
async fn a_refused_login_is_told_once() {
    let log = Log::watch();
    let network = Network::new();
    let cluster = Cluster::builder().nodes(2).network(&network).user("ada", "pass").start().await.unwrap();
    let refuse = || Fault::Answer(Answer::error(0x0100, "no"));
    cluster.node(1).fault(Stage::Auth, refuse());
    let builder = Session::builder().contact_addr(cluster.node(0).addr()).connector(network.connector());
    let session = builder.credentials("ada", "pass").build().await.unwrap();
    sleep(Duration::from_secs(300)).await;
    assert_eq!(log.warned("the node refused the login"), 1);
    cluster.clear_faults();
    sleep(Duration::from_secs(120)).await;
    cluster.node(1).fault(Stage::Auth, refuse());
    cluster.node(1).reset_connections();
    sleep(Duration::from_secs(300)).await;
    assert_eq!(log.warned("the node refused the login"), 2);
    drop(session);
}

/// driver 2.1: a clock that was set back is told of, every ten seconds at most, while timestamps run ahead of it.
#[test]
fn a_clock_set_back_is_told() {
    let log = Log::watch();
    let timestamps = messina::policy::MonotonicTimestamps::new();
    let second = 1_000_000;
    let told = |clock| {
        timestamps.next_at(clock);
        log.warned("ahead of the clock")
    };
    let begin = 100 * second;
    assert_eq!(told(begin), 0);
    assert_eq!(told(begin - second / 2), 0, "half a second is nothing");
    assert_eq!(told(begin - 30 * second), 1);
    assert_eq!(told(begin - 21 * second), 1, "not ten seconds later");
    assert_eq!(told(begin - 20 * second), 2);
    assert_eq!(told(begin + second), 2, "it has caught up");
}
