//! Prepared statements: told again to who forgot them, and columns that change.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use messina::error::Kind;
use messina::testkit::{Answer, Fault, Prime, Rows, Scylla, Stage, rows};
use messina::{Prepared, Session, Statement};

use crate::support::{Nodes, SECOND, error, start, start_with};

const BY_ID: &str = "SELECT name FROM ks.users WHERE id = ?";

fn by_id() -> Prime {
    Prime::new(BY_ID).params("id int").partition_key([0])
}

async fn prepared_on(nodes: usize) -> (Nodes, Session) {
    let (cluster, session) = start(nodes).await;
    cluster.prime(by_id(), rows!["name text"; ("Ada",)]);
    (cluster, session)
}

async fn name(session: &Session, prepared: &Prepared) -> String {
    session.execute(prepared, (7,)).await.unwrap().one::<(String,)>().await.unwrap().0
}

fn count(cluster: &Nodes, stage: Stage) -> usize {
    cluster.nodes().iter().map(|node| node.count(stage)).sum()
}

/// driver 2.1: a node that does not know a statement is told about it once, and the request is answered there.
#[tokio::test(start_paused = true)]
async fn unprepared_is_prepared_again() {
    let (cluster, session) = prepared_on(1).await;
    let prepared = session.prepare(BY_ID).await.unwrap();
    assert_eq!(name(&session, &prepared).await, "Ada");
    cluster.node(0).forget_prepared();
    assert_eq!(name(&session, &prepared).await, "Ada");
    assert_eq!(cluster.node(0).count(Stage::Prepare), 2);
    // The refused one, and those before and after it.
    assert_eq!(cluster.node(0).count(Stage::Query), 3);
    assert_eq!(name(&session, &prepared).await, "Ada");
    assert_eq!(cluster.node(0).count(Stage::Prepare), 2);
}

/// driver 2.1: where statements are not prepared ahead, one is prepared on one node, and on each other one when it is first
/// asked.
#[tokio::test(start_paused = true)]
async fn each_node_is_told_once() {
    let (cluster, session) =
        start_with(|cluster| cluster.nodes(3), |session| session.prepare_ahead(false, false)).await;
    cluster.prime(by_id(), rows!["name text"; ("Ada",)]);
    let prepared = session.prepare(BY_ID).await.unwrap();
    assert_eq!(count(&cluster, Stage::Prepare), 1);
    for _ in 0..12 {
        assert_eq!(name(&session, &prepared).await, "Ada");
    }
    for node in cluster.nodes() {
        assert_eq!(node.count(Stage::Prepare), 1);
    }
}

/// driver 2.1: a node that forgets at once is not asked for ever.
#[tokio::test(start_paused = true)]
async fn unprepared_twice_is_an_error() {
    let (cluster, session) = prepared_on(1).await;
    let prepared = session.prepare(BY_ID).await.unwrap();
    cluster.node(0).fault(Stage::Query, Fault::Answer(Answer::unprepared(prepared.id())));
    let wrong = error(session.execute(&prepared, (7,)).await);
    assert_eq!(wrong.kind(), Kind::Server);
    assert_eq!(wrong.server_error().unwrap().code, 0x2500);
    assert_eq!(wrong.tries().len(), 2);
    assert_eq!(cluster.node(0).count(Stage::Prepare), 2);
}

/// driver 2.1: what goes wrong while a statement is prepared again is what the request fails with.
#[tokio::test(start_paused = true)]
async fn preparing_again_may_fail() {
    let (cluster, session) = prepared_on(1).await;
    let prepared = session.prepare(BY_ID).await.unwrap();
    cluster.node(0).forget_prepared();
    cluster.node(0).fault(Stage::Prepare, Fault::error(0x2200, "unconfigured table users"));
    let wrong = error(session.execute(&prepared, (7,)).await);
    assert_eq!(wrong.kind(), Kind::Server);
    assert_eq!(wrong.server_error().unwrap().message, "unconfigured table users");
    assert_eq!(wrong.tries().len(), 2);
}

/// driver 2.1: a node that cannot prepare what others could, since its schema lags behind, costs a try, not the
/// request, idempotent or not.
#[tokio::test(start_paused = true)]
async fn a_node_that_cannot_prepare_is_passed_over() {
    let (cluster, session) = prepared_on(2).await;
    let prepared = session.prepare(BY_ID).await.unwrap();
    for _ in 0..4 {
        name(&session, &prepared).await;
    }
    cluster.node(0).forget_prepared();
    cluster.node(0).fault(Stage::Prepare, Fault::error(0x2200, "keyspace ks does not exist"));
    for _ in 0..4 {
        assert_eq!(name(&session, &prepared).await, "Ada");
    }
    assert!(cluster.node(0).count(Stage::Prepare) > 1, "it was not asked");
}

/// driver 2.1: another id for the same text is told, rather than sending values to another statement.
#[tokio::test(start_paused = true)]
async fn another_id_is_an_error() {
    let (cluster, session) = prepared_on(1).await;
    let prepared = session.prepare(BY_ID).await.unwrap();
    cluster.node(0).forget_prepared();
    // Prepared, its id, an id of its columns, no markers, no columns.
    let body = [&[0, 0, 0, 4, 0, 1, b'x', 0, 1, b'y'][..], &[0; 12], &[0, 0, 0, 4], &[0; 4]].concat();
    cluster.node(0).fault(Stage::Prepare, Fault::Answer(Answer::raw(8, body)));
    let wrong = error(session.execute(&prepared, (7,)).await);
    assert_eq!(wrong.kind(), Kind::Statement);
    assert!(wrong.to_string().contains("another id"), "{wrong}");
}

/// driver 2.1: the connection is lost while a statement is prepared again: the request was refused, so it goes to
/// another node whether or not it is idempotent.
#[tokio::test(start_paused = true)]
async fn lost_while_preparing_again() {
    let (cluster, session) = prepared_on(2).await;
    let prepared = session.prepare(BY_ID).await.unwrap();
    for _ in 0..4 {
        name(&session, &prepared).await;
    }
    cluster.node(0).forget_prepared();
    cluster.node(0).fault(Stage::Prepare, Fault::Reset);
    for _ in 0..4 {
        assert_eq!(name(&session, &prepared).await, "Ada");
    }
    assert_eq!(cluster.node(0).count(Stage::Prepare), 2);
}

/// driver 2.1: each node that a request comes to may be told about the statement once.
#[tokio::test(start_paused = true)]
async fn each_node_of_one_request_is_told() {
    let (cluster, session) = prepared_on(2).await;
    let prepared = session.prepare(Statement::new(BY_ID).with_idempotence(true)).await.unwrap();
    // The first EXECUTE is answered, the one after PREPARE is lost.
    cluster.node(0).fault(Stage::Query, Fault::Reset.after(1).times(1));
    for _ in 0..3 {
        cluster.nodes().iter().for_each(|node| node.forget_prepared());
        assert_eq!(name(&session, &prepared).await, "Ada");
    }
    assert_eq!(cluster.node(0).count(Stage::Query), 2);
}

/// surface 1: text with values that many send at once is prepared once.
#[tokio::test(start_paused = true)]
async fn many_prepare_once() {
    let (cluster, session) = prepared_on(1).await;
    cluster.node(0).fault(Stage::Prepare, Fault::Delay(Duration::from_millis(10)));
    let all = join_all((0..50).map(|_| session.execute(BY_ID, (7,)))).await;
    assert!(all.into_iter().all(|result| result.is_ok()));
    assert_eq!(cluster.node(0).count(Stage::Prepare), 1);
}

/// surface 1: who waits for another's PREPARE has the time of their own, and takes over when that fails.
#[tokio::test(start_paused = true)]
async fn waiting_for_another_prepare() {
    let (cluster, session) = prepared_on(1).await;
    cluster.node(0).fault(Stage::Prepare, Fault::Silence.times(1));
    let start = tokio::time::Instant::now();
    let within = async |limit| {
        let result = session.execute(Statement::new(BY_ID).with_timeout(limit), (7,)).await;
        (start.elapsed(), result)
    };
    let (first, shorter, longer) = tokio::join!(within(SECOND * 2), within(SECOND), within(SECOND * 3));
    assert_eq!((shorter.0, error(shorter.1).kind()), (SECOND, Kind::Timeout));
    assert_eq!((first.0, error(first.1).kind()), (SECOND * 2, Kind::Timeout));
    assert_eq!((longer.0, longer.1.is_ok()), (SECOND * 2, true));
    assert_eq!(cluster.node(0).count(Stage::Prepare), 2);
}

/// surface 1: a statement that cannot be prepared is tried anew, not remembered as broken.
#[tokio::test(start_paused = true)]
async fn a_failed_prepare_is_forgotten() {
    let (cluster, session) = start(1).await;
    let wrong = error(session.execute(BY_ID, (7,)).await);
    assert_eq!(wrong.kind(), Kind::Server);
    cluster.prime(by_id(), rows!["name text"; ("Ada",)]);
    assert!(session.execute(BY_ID, (7,)).await.is_ok());
}

/// surface 1: of the statements that were prepared by themselves, the 1000 used last are kept.
#[tokio::test(start_paused = true)]
async fn the_cache_is_bounded() {
    let (cluster, session) = start(1).await;
    let text = |n: usize| format!("SELECT name FROM ks.t{n} WHERE id = ?");
    for n in 0..=1000 {
        cluster.prime(Prime::new(text(n)).params("id int"), rows!["name text"; ("Ada",)]);
    }
    for n in 0..1000 {
        session.execute(text(n), (7,)).await.unwrap();
    }
    session.execute(text(0), (7,)).await.unwrap();
    assert_eq!(count(&cluster, Stage::Prepare), 1000);
    session.execute(text(1000), (7,)).await.unwrap();
    assert_eq!(count(&cluster, Stage::Prepare), 1001);
    session.execute(text(0), (7,)).await.unwrap();
    assert_eq!(count(&cluster, Stage::Prepare), 1001, "used lately, so kept");
    session.execute(text(1), (7,)).await.unwrap();
    assert_eq!(count(&cluster, Stage::Prepare), 1002, "not used for the longest time, so dropped");
}

/// Executes [`BY_ID`] twice, with one more column the second time; gives how the columns came.
async fn columns_change(cluster: &Nodes, session: &Session) {
    cluster.prime(by_id(), rows!["name text"; ("Ada",)]);
    let prepared = session.prepare(BY_ID).await.unwrap();
    for _ in 0..2 {
        assert_eq!(name(session, &prepared).await, "Ada");
    }
    let before = prepared.result_metadata();
    cluster.prime(by_id(), rows!["name text, born int"; ("Ada", 1815)]);
    for _ in 0..3 {
        let row = session.execute(&prepared, (7,)).await.unwrap().one::<(String, i32)>().await.unwrap();
        assert_eq!(row, ("Ada".into(), 1815));
    }
    let after = prepared.result_metadata();
    assert_eq!((before.columns().len(), after.columns().len()), (1, 2));
    // Kept, not made anew for every answer.
    name_and_born(session, &prepared).await;
    assert!(Arc::ptr_eq(&after, &prepared.result_metadata()));
}

async fn name_and_born(session: &Session, prepared: &Prepared) {
    session.execute(prepared, (7,)).await.unwrap().one::<(String, i32)>().await.unwrap();
}

/// cql 3: columns that change are followed, on v5 by their id, on v4 since they come with every answer, and on ScyllaDB
/// by its extension.
#[tokio::test(start_paused = true)]
async fn columns_are_followed() {
    for version in [3, 4, 5] {
        let (cluster, session) = start_with(|cluster| cluster.versions([version]), |session| session).await;
        columns_change(&cluster, &session).await;
    }
    let scylla = Scylla::new(0).with("SCYLLA_USE_METADATA_ID", "");
    let (cluster, session) = start_with(|cluster| cluster.scylla(scylla), |session| session).await;
    columns_change(&cluster, &session).await;
}

/// cql 3: another client prepares the statement again after the columns changed: on v4 the server tells nobody, so the
/// columns must not be left out.
#[tokio::test(start_paused = true)]
async fn columns_that_another_client_learned() {
    let (cluster, session) = start_with(|cluster| cluster.versions([4]), |session| session).await;
    cluster.prime(by_id(), rows!["a int, b text"; (1, "b")]);
    let prepared = session.prepare(BY_ID).await.unwrap();
    session.execute(&prepared, (7,)).await.unwrap().one::<(i32, String)>().await.unwrap();
    // As many columns as before, of other types.
    cluster.prime(by_id(), rows!["a text, b int"; ("a", 2)]);
    let row = session.execute(&prepared, (7,)).await.unwrap().one::<(String, i32)>().await.unwrap();
    assert_eq!(row, ("a".into(), 2));
}

/// surface 1: a keyspace beside the statement needs v5; before, it is an error that says so.
#[tokio::test(start_paused = true)]
async fn a_keyspace_beside_the_statement() {
    let statement = Statement::new(BY_ID).with_keyspace("ks");
    let (cluster, session) = start(1).await;
    cluster.prime(by_id(), rows!["name text"; ("Ada",)]);
    assert!(session.execute(&statement, (7,)).await.is_ok());
    assert!(session.execute(BY_ID, (7,)).await.is_ok());
    assert_eq!(count(&cluster, Stage::Prepare), 2, "another keyspace may be another statement");

    let (cluster, session) = start_with(|cluster| cluster.versions([4]), |session| session).await;
    cluster.prime(by_id(), rows!["name text"; ("Ada",)]);
    let wrong = error(session.execute(&statement, (7,)).await);
    assert_eq!(wrong.kind(), Kind::Statement);
    assert!(wrong.to_string().contains("a keyspace beside the statement needs protocol"), "{wrong}");
}

/// surface 1: values that do not fit are told by name and type, and nothing is sent.
#[tokio::test(start_paused = true)]
async fn values_that_do_not_fit() {
    let (cluster, session) = prepared_on(1).await;
    let prepared = session.prepare(BY_ID).await.unwrap();
    for wrong in [
        error(session.execute(&prepared, ("seven",)).await),
        error(session.execute(BY_ID, ("seven",)).await),
        error(prepared.bind(("seven",))),
    ] {
        assert_eq!(wrong.kind(), Kind::Values);
        assert!(wrong.to_string().contains("id"), "{wrong}");
    }
    assert_eq!(error(session.execute(&prepared, ()).await).kind(), Kind::Values);
    assert_eq!(cluster.node(0).count(Stage::Query), 0);
}

/// surface 1: values are serialized once, however often the request is sent.
#[tokio::test(start_paused = true)]
async fn a_request_is_sent_again_and_again() {
    let (cluster, session) = start(1).await;
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    cluster.prime_with(by_id().columns("name text"), move |request| {
        assert_eq!(request.value::<i32>(0), Some(7));
        counted.fetch_add(1, Ordering::Relaxed);
        Rows::new("name text").row(("Ada",)).into()
    });
    let request = session.prepare(BY_ID).await.unwrap().bind((7,)).unwrap();
    for _ in 0..3 {
        let row = session.execute_request(&request.clone()).await.unwrap().one::<(String,)>().await.unwrap();
        assert_eq!(row.0, "Ada");
    }
    assert_eq!(seen.load(Ordering::Relaxed), 3);
}
