//! What a change of the schema waits for.

use std::collections::HashMap;
use std::time::Duration;

use messina::session::SessionBuilder;
use messina::testkit::{Answer, ClusterBuilder, Prime, Rows, Stage, rows};
use messina::{Session, Statement};
use tokio::time::{Instant, sleep};
use tower::util::MapRequestLayer;
use tower::{Service, ServiceExt};
use uuid::Uuid;

use crate::support::{Nodes, SECOND, start_with};

const CREATE: &str = "CREATE TABLE ks.t (id int PRIMARY KEY)";
const KEYSPACES: &str = "SELECT * FROM system_schema.keyspaces WHERE keyspace_name = 'ks'";

const OLD: Uuid = Uuid::from_u128(1);
const NEW: Uuid = Uuid::from_u128(2);

async fn start(
    cluster: impl FnOnce(ClusterBuilder) -> ClusterBuilder,
    session: impl FnOnce(SessionBuilder) -> SessionBuilder,
) -> (Nodes, Session) {
    let (cluster, session) = start_with(|builder| cluster(builder.nodes(2)), session).await;
    cluster.prime(CREATE, Answer::schema_change(["CREATED", "TABLE", "ks", "t"]));
    (cluster, session)
}

/// driver 2.1: agreed at the first look: the result says so.
#[tokio::test(start_paused = true)]
async fn agreed_at_once() {
    let (_cluster, session) = start(|cluster| cluster, |session| session).await;
    let started = Instant::now();
    let result = session.execute(CREATE, ()).await.unwrap();
    let agreement = result.schema_agreement().unwrap();
    assert!(agreement.agreed && started.elapsed() < SECOND / 10, "{agreement:?}");
    assert!(result.schema_change().is_some());
}

/// driver 2.1: the result of a change comes when the nodes agree, looked at every 200 ms.
#[tokio::test(start_paused = true)]
async fn agreed_later() {
    let (cluster, session) = start(|cluster| cluster, |session| session).await;
    cluster.node(0).set(|facts| facts.schema_version = NEW);
    let waiting = tokio::spawn(async move { session.execute(CREATE, ()).await });
    sleep(SECOND).await;
    assert!(!waiting.is_finished());
    cluster.node(1).set(|facts| facts.schema_version = NEW);
    sleep(Duration::from_millis(210)).await;
    assert!(waiting.is_finished());
    let result = waiting.await.unwrap().unwrap();
    assert_eq!(result.schema_agreement().unwrap().versions, [NEW]);
}

/// driver 3: after 10 s it says who says what; the request's own timeout does not cut the wait, and 0 s does not wait.
#[tokio::test(start_paused = true)]
async fn never_agreed() {
    let (cluster, session) = start(|cluster| cluster, |session| session).await;
    cluster.node(1).set(|facts| facts.schema_version = NEW);
    let started = Instant::now();
    let result = session.execute(Statement::new(CREATE).with_timeout(SECOND), ()).await.unwrap();
    let agreement = result.schema_agreement().unwrap();
    assert_eq!((agreement.agreed, agreement.versions.len(), started.elapsed().as_secs()), (false, 2, 10));
    drop((cluster, session));

    let (_cluster, session) =
        start(|cluster| cluster, |session| session.schema_agreement(SECOND, Duration::ZERO)).await;
    let started = Instant::now();
    let result = session.execute(CREATE, ()).await.unwrap();
    assert_eq!((result.schema_agreement().unwrap().agreed, started.elapsed()), (false, Duration::ZERO));
}

/// driver 2.1: the node that made the change is asked itself, whatever the control node has heard of it.
#[tokio::test(start_paused = true)]
async fn the_node_that_made_the_change_is_asked() {
    let far = |cluster: ClusterBuilder| {
        cluster.node(0, |facts| facts.data_center = Some("far".into())).node(1, |facts| {
            facts.data_center = Some("near".into());
        })
    };
    let (cluster, session) = start(far, |session| session.local_datacenter("near")).await;
    cluster.node(0).set(|facts| facts.schema_version = OLD);
    cluster.node(1).set(|facts| facts.schema_version = NEW);
    // The control node has not heard of the change yet.
    let heard = rows!["host_id uuid, schema_version uuid"; (cluster.node(1).host_id().unwrap(), OLD)];
    cluster.prime("SELECT host_id, schema_version FROM system.peers", heard);
    let waiting = tokio::spawn(async move { session.execute(CREATE, ()).await });
    sleep(SECOND).await;
    assert!(!waiting.is_finished(), "the control node alone would have said that all agree");
    let heard = rows!["host_id uuid, schema_version uuid"; (cluster.node(1).host_id().unwrap(), NEW)];
    cluster.prime("SELECT host_id, schema_version FROM system.peers", heard);
    cluster.node(0).set(|facts| facts.schema_version = NEW);
    let result = waiting.await.unwrap().unwrap();
    assert_eq!(result.served_by().host_id, cluster.node(1).host_id().unwrap());
    assert!(result.schema_agreement().unwrap().agreed);
}

fn keyspaces() -> Rows {
    let options = HashMap::from([("class".to_owned(), "LocalStrategy".to_owned())]);
    rows!["keyspace_name text, durable_writes boolean, replication frozen<map<text, text>>"; ("ks", true, options)]
}

/// driver 2.1: what one's own statement changed is in the session's schema when the result comes.
#[tokio::test(start_paused = true)]
async fn the_schema_is_fresh() {
    let (cluster, session) = start(|cluster| cluster, |session| session).await;
    assert!(session.schema().keyspace("ks").is_none());
    cluster.prime(KEYSPACES, keyspaces());
    let started = Instant::now();
    session.execute(CREATE, ()).await.unwrap();
    assert!(session.schema().keyspace("ks").is_some());
    assert!(started.elapsed() < SECOND / 10, "no event and no debouncing was waited for: {:?}", started.elapsed());
}

/// driver 2.1: without schema metadata nothing is read; agreement is waited for all the same.
#[tokio::test(start_paused = true)]
async fn without_schema_metadata() {
    let (cluster, session) = start(|cluster| cluster, |session| session.schema_metadata(false)).await;
    let result = session.execute(CREATE, ()).await.unwrap();
    assert!(result.schema_agreement().unwrap().agreed);
    assert_eq!(cluster.log().now().count(Stage::Schema), 0);
}

/// surface 1: each way to execute waits, once.
#[tokio::test(start_paused = true)]
async fn every_way_waits_once() {
    let layered = |session: SessionBuilder| session.request_layer(MapRequestLayer::new(|request| request));
    for with_layer in [false, true] {
        let (cluster, session) =
            start(|cluster| cluster, |session| if with_layer { layered(session) } else { session }).await;
        let prime = Prime::new("CREATE TABLE ks.u (id int PRIMARY KEY) WITH comment = ?").params("comment text");
        cluster.prime(prime, Answer::schema_change(["CREATED", "TABLE", "ks", "u"]));
        let looks = || cluster.log().now().count(Stage::Peers);
        let mut before = looks();
        let mut once = |agreed: Option<bool>| {
            let now = looks();
            assert_eq!((std::mem::replace(&mut before, now) + 1, agreed), (now, Some(true)));
        };
        let agreed = |result: &messina::ResultSet| result.schema_agreement().map(|found| found.agreed);
        once(agreed(&session.execute(CREATE, ()).await.unwrap()));
        let with_value = "CREATE TABLE ks.u (id int PRIMARY KEY) WITH comment = ?";
        once(agreed(&session.execute(with_value, ("x",)).await.unwrap()));
        let prepared = session.prepare(CREATE).await.unwrap();
        once(agreed(&session.execute(&prepared, ()).await.unwrap()));
        let request = Statement::new(CREATE).into();
        once(agreed(&session.clone().ready().await.unwrap().call(request).await.unwrap()));
    }
}
