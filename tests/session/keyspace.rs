//! The keyspace of a session, changed while it runs.

use std::time::Duration;

use messina::error::Kind;
use messina::session::SessionBuilder;
use messina::testkit::{ClusterBuilder, ConnectionLog, Fault, Prime, Stage, rows};
use messina::{Error, Session};
use tokio::time::Instant;

use crate::support::{Nodes, SECOND, error, settle, start_with};

const BY_ID: &str = "SELECT name FROM users WHERE id = ?";

async fn start(nodes: usize, session: impl FnOnce(SessionBuilder) -> SessionBuilder) -> (Nodes, Session) {
    let cluster = |cluster: ClusterBuilder| cluster.nodes(nodes).keyspaces(["ks", "Other", "third"]);
    let (cluster, session) = start_with(cluster, session).await;
    cluster.prime(Prime::new(BY_ID).params("id int").partition_key([0]), rows!["name text"; ("Ada",)]);
    (cluster, session)
}

/// The text of the last `USE` on every connection that is open and serves requests.
fn used(cluster: &Nodes) -> Vec<Option<String>> {
    let connections = cluster.log().connections();
    let pool = connections.iter().filter(|one| one.is_open() && one.count(Stage::Register) == 0);
    let last = |texts: Vec<&str>| texts.last().map(|text| (*text).to_owned());
    pool.map(|one| last(one.requests().filter(|(stage, _)| *stage == Stage::Keyspace).map(|(_, text)| text).collect()))
        .collect()
}

/// surface 1: every connection is told, and those that come later are opened in the keyspace; the name is quoted.
/// driver 2.1: `use` spread to all connections.
#[tokio::test(start_paused = true)]
async fn every_connection_is_told() {
    for version in [3, 4, 5] {
        let (cluster, session) = start(3, |session| {
            session.keyspace("ks").connections_per_node(2, 1).protocol_version(version.to_string().parse().unwrap())
        })
        .await;
        settle().await;
        assert_eq!(used(&cluster), vec![Some("USE \"ks\"".into()); 6]);
        assert_eq!(session.keyspace().as_deref(), Some("ks"));
        session.use_keyspace("Other").await.unwrap();
        assert_eq!(used(&cluster), vec![Some("USE \"Other\"".into()); 6]);
        assert_eq!(session.keyspace().as_deref(), Some("Other"));
        cluster.nodes().iter().for_each(messina::testkit::Node::reset_connections);
        tokio::time::sleep(3 * SECOND).await;
        assert_eq!(used(&cluster), vec![Some("USE \"Other\"".into()); 6]);
    }
}

/// surface 1: a keyspace that does not exist is a typed error, and changes nothing; neither does what is no name.
#[tokio::test(start_paused = true)]
async fn a_keyspace_that_does_not_exist() {
    let (cluster, session) = start(3, |session| session.keyspace("ks")).await;
    let wrong: Error = error(session.use_keyspace("nowhere").await);
    assert_eq!(wrong.kind(), Kind::Server);
    assert_eq!(wrong.server_error().map(|error| error.code), Some(0x2200));
    assert!(wrong.to_string().starts_with("the keyspace \"nowhere\" cannot be used"), "{wrong}");
    let asked = used(&cluster).iter().filter(|text| text.as_deref() == Some("USE \"nowhere\"")).count();
    assert_eq!(asked, 1, "one node was asked, and stays where it was");
    assert_eq!(session.keyspace().as_deref(), Some("ks"));
    let wrong = error(session.use_keyspace("a b").await);
    assert_eq!((wrong.kind(), session.keyspace().as_deref()), (Kind::Config, Some("ks")));
}

/// surface 1: text that was prepared in the keyspace before is prepared in the new one.
#[tokio::test(start_paused = true)]
async fn text_is_prepared_again() {
    let (cluster, session) = start(1, |session| session.keyspace("ks")).await;
    session.execute(BY_ID, (7,)).await.unwrap();
    session.execute(BY_ID, (7,)).await.unwrap();
    assert_eq!(cluster.node(0).count(Stage::Prepare), 1);
    session.use_keyspace("Other").await.unwrap();
    session.execute(BY_ID, (7,)).await.unwrap();
    assert_eq!(cluster.node(0).count(Stage::Prepare), 2);
}

/// driver 3: `set-keyspace-timeout` limits it; a connection that cannot be told is replaced by one that is.
#[tokio::test(start_paused = true)]
async fn a_mute_connection_is_replaced() {
    let (cluster, session) = start(3, |session| session.keyspace_timeout(SECOND)).await;
    cluster.node(1).fault(Stage::Keyspace, Fault::Silence.times(1));
    let started = Instant::now();
    session.use_keyspace("Other").await.unwrap();
    assert!(started.elapsed() >= SECOND && started.elapsed() < 3 * SECOND, "{:?}", started.elapsed());
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(used(&cluster), vec![Some("USE \"Other\"".into()); 3]);
    let opened = cluster.log().connections().iter().filter(|one| one.server() == cluster.node(1).addr()).count();
    assert_eq!(opened, 2, "the first one went");
}

/// design 6: a connection that was being opened meanwhile does not come up in the keyspace before.
#[tokio::test(start_paused = true)]
async fn a_connection_that_was_being_opened() {
    let (cluster, session) = start(2, |session| session.keyspace("ks")).await;
    // Its USE is answered late, after the change.
    cluster.node(1).fault(Stage::Keyspace, Fault::Delay(SECOND).times(1));
    cluster.node(1).reset_connections();
    let asks = |seen: &[&ConnectionLog]| seen.iter().filter(|one| one.count(Stage::Keyspace) > 0).count() == 2;
    cluster.node(1).wait_for(3 * SECOND, asks).await.unwrap();
    session.use_keyspace("Other").await.unwrap();
    assert_eq!(used(&cluster), [Some("USE \"Other\"".into()), Some("USE \"ks\"".into())], "one is on its way");
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(used(&cluster), vec![Some("USE \"Other\"".into()); 2]);
    for _ in 0..4 {
        session.execute(BY_ID, (7,)).await.unwrap();
    }
}

/// surface 1: dropping the future does not leave half of the connections behind, and changes come one after the other.
#[tokio::test(start_paused = true)]
async fn dropped_and_at_the_same_time() {
    let (cluster, session) = start(3, |session| session).await;
    cluster.fault(Stage::Keyspace, Fault::Delay(Duration::from_millis(100)));
    let mut dropped = Box::pin(session.use_keyspace("ks"));
    assert!(futures_util::poll!(dropped.as_mut()).is_pending());
    drop(dropped);
    let (second, third) = tokio::join!(session.use_keyspace("Other"), session.use_keyspace("third"));
    second.unwrap();
    third.unwrap();
    let used = used(&cluster);
    assert!(used.iter().all(|text| *text == used[0]) && used.len() == 3, "{used:?}");
    assert_eq!(used[0].as_deref(), Some(&*format!("USE \"{}\"", session.keyspace().unwrap())));
}

/// surface 1: without a connection, and after the end of the session.
#[tokio::test(start_paused = true)]
async fn nobody_to_ask() {
    let (cluster, session) = start(1, |session| session).await;
    cluster.node(0).kill().await;
    settle().await;
    assert_eq!(error(session.use_keyspace("ks").await).kind(), Kind::NoConnection);
    session.close().await;
    assert_eq!(error(session.use_keyspace("ks").await).kind(), Kind::Closed);
}
