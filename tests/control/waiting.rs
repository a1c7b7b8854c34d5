//! A session that waits for its cluster.

use messina::{
    error::Kind,
    testkit::{Fault, Node, Stage},
};
use tokio::time::{Instant, sleep};

use crate::support::{SECOND, SOON, World, settled};

/// driver.md 3, `advanced.reconnect-on-init`: rounds go on about every second until a contact point lets us in.
/// connect D26: nobody waits for a back-off of minutes.
#[tokio::test(start_paused = true)]
async fn waits_until_connected() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    world.lead([cluster.node(0).addr()]);
    for node in cluster.nodes() {
        node.kill().await;
    }
    let error = world.builder().build().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "not by default");
    let build = tokio::spawn(world.builder().wait_until_connected(true).build());
    sleep(60 * SECOND).await;
    let dials = world.dials.take().len();
    assert!((50..=62).contains(&dials), "{dials} rounds in a minute");
    cluster.nodes().iter().for_each(Node::start);
    let started = Instant::now();
    let session = build.await.unwrap().unwrap();
    assert!(started.elapsed() < 2 * SECOND);
    settled(&cluster).await;
    drop(session);
}

/// driver.md 3, `advanced.reconnect-on-init`: dropping the future stops it, and nothing is left.
#[tokio::test(start_paused = true)]
async fn waiting_can_be_given_up() {
    let world = World::new();
    let cluster = world.cluster().start().await.unwrap();
    cluster.node(0).fault(Stage::Options, Fault::Silence);
    world.lead([cluster.node(0).addr()]);
    let build = world.builder().set("advanced.reconnect-on-init", "true").build();
    assert!(tokio::time::timeout(30 * SECOND, build).await.is_err());
    cluster.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
    let opened = cluster.log().now().opened();
    sleep(60 * SECOND).await;
    assert_eq!(cluster.log().now().opened(), opened);
}
