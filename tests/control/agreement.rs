//! Schema agreement: the control node and the nodes that are connected, nobody else.

use std::time::Duration;

use messina::testkit::{Fault, Stage};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::support::{SECOND, World, settled};

/// driver.md 3: agreed at the first look: no wait.
#[tokio::test(start_paused = true)]
async fn agreed_at_once() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    let session = world.session(&cluster).await;
    let found = session.await_schema_agreement().await.unwrap();
    assert!(found.agreed && found.elapsed < SECOND / 10, "{found:?}");
    assert_eq!(found.versions.len(), 1);
}

/// driver.md 3: a look every 200 ms until they agree.
#[tokio::test(start_paused = true)]
async fn agreed_later() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    let (old, new) = (Uuid::from_u128(1), Uuid::from_u128(2));
    cluster.node(0).set(|facts| facts.schema_version = new);
    cluster.node(1).set(|facts| facts.schema_version = old);
    let waiting = tokio::spawn(async move { session.await_schema_agreement().await });
    sleep(SECOND).await;
    assert!(!waiting.is_finished());
    cluster.node(1).set(|facts| facts.schema_version = new);
    let changed = Instant::now();
    let found = waiting.await.unwrap().unwrap();
    assert!(changed.elapsed() <= Duration::from_millis(210), "{:?}", changed.elapsed());
    assert_eq!((found.agreed, found.versions), (true, vec![new]));
}

/// driver.md 3: 10 s by default, then it says who says what; a limit of zero does not look at all.
#[tokio::test(start_paused = true)]
async fn never_agreed() {
    let world = World::new();
    let cluster = world.cluster().nodes(2).start().await.unwrap();
    let session = world.session(&cluster).await;
    cluster.node(1).set(|facts| facts.schema_version = Uuid::from_u128(1));
    let started = Instant::now();
    let found = session.await_schema_agreement().await.unwrap();
    assert_eq!((found.agreed, found.versions.len(), started.elapsed().as_secs()), (false, 2, 10));
    drop(session);

    let builder = world.builder().schema_agreement(SECOND / 5, Duration::ZERO);
    let session = builder.set("advanced.control-connection.schema-agreement.warn-on-failure", "false").build().await;
    let session = session.unwrap();
    settled(&cluster).await;
    let reads = cluster.log().now().count(Stage::Peers);
    let found = session.await_schema_agreement().await.unwrap();
    assert_eq!((found.agreed, found.elapsed), (false, Duration::ZERO));
    assert_eq!(cluster.log().now().count(Stage::Peers), reads, "skipped");
}

/// cql 7: nodes that are not connected do not count; a node that is mute does not hold the wait beyond its limit.
#[tokio::test(start_paused = true)]
async fn who_counts() {
    let world = World::new();
    let cluster = world.cluster().nodes(3).start().await.unwrap();
    let session = world.session(&cluster).await;
    cluster.node(2).kill().await;
    cluster.node(2).set(|facts| facts.schema_version = Uuid::from_u128(1));
    sleep(SECOND).await;
    assert!(session.await_schema_agreement().await.unwrap().agreed, "the one that is down does not count");
    cluster.node(0).fault(Stage::Peers, Fault::Silence);
    let started = Instant::now();
    let found = session.await_schema_agreement().await.unwrap();
    assert!(!found.agreed && started.elapsed() <= 10 * SECOND, "{:?}", started.elapsed());
}
