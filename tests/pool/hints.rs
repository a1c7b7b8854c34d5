//! What the server, or the control connection, says of nodes.

use messina::testkit::Push;
use tokio::time::Instant;

use crate::support::{SECOND, SOON, World};

/// connect D26: the back-off of a node begins anew when the server reports it up.
#[tokio::test(start_paused = true)]
async fn a_report_of_up_ends_the_back_off() {
    let world = World::of(2).await;
    let session = world.builder().build().await.unwrap();
    world.open(3).await;
    world.node(1).kill().await;
    // Long enough for delays of about a minute.
    tokio::time::sleep(300 * SECOND).await;
    let wait = world.state(&session, 1).next_attempt_in.unwrap();
    world.node(1).start();
    if wait < 10 * SECOND {
        world.node(1).kill().await;
        tokio::time::sleep(20 * SECOND).await;
        world.node(1).start();
    }
    let started = Instant::now();
    world.node(0).push(&Push::status("UP", world.node(1).addr()));
    world.node(1).wait_for(SOON, |seen| seen.iter().any(|one| one.is_open())).await.unwrap();
    assert!(started.elapsed() < 3 * SECOND, "{:?}", started.elapsed());
    drop(session);
}

/// connect D26: so it does when the control connection is back.
#[tokio::test(start_paused = true)]
async fn the_control_connection_ends_the_back_off() {
    let world = World::of(2).await;
    let session = world.builder().build().await.unwrap();
    world.open(3).await;
    for node in world.cluster.nodes() {
        node.kill().await;
    }
    tokio::time::sleep(300 * SECOND).await;
    let started = Instant::now();
    world.cluster.nodes().iter().for_each(|node| node.start());
    world.cluster.wait_for(SOON, |seen| seen.open() == 3).await.unwrap();
    // A round for the control connection comes about every second.
    assert!(started.elapsed() < 3 * SECOND, "{:?}", started.elapsed());
    drop(session);
}
