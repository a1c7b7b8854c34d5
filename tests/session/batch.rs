//! Batches: what is sent, what is prepared, and what is refused before anything is sent.

use std::sync::{Arc, Mutex};

use messina::error::Kind;
use messina::testkit::{Answer, Fault, Prime, Stage, rows};
use messina::{Batch, Consistency, Statement};

use crate::support::{Nodes, error, start, start_with};

const USER: &str = "INSERT INTO ks.users (id, name) VALUES (?, ?)";
const NAME: &str = "INSERT INTO ks.names (name, id) VALUES (?, ?)";
const LOG: &str = "UPDATE ks.log SET last = 7 WHERE k = 0";

type Seen = Arc<Mutex<Vec<(String, u16, Option<i64>)>>>;

/// Remembers each statement of a batch as a node sees it.
fn record(cluster: &Nodes) -> Seen {
    let seen = Seen::default();
    for prime in
        [Prime::new(USER).params("id int, name text"), Prime::new(NAME).params("name text, id int"), LOG.into()]
    {
        let seen = Arc::clone(&seen);
        cluster.prime_with(prime, move |request| {
            let values: Vec<_> = request
                .value::<i32>(0)
                .map(|id| id.to_string())
                .into_iter()
                .chain(request.value::<String>(0))
                .chain(request.value::<i32>(1).map(|id| id.to_string()))
                .chain(request.value::<String>(1))
                .collect();
            let line = format!("{} {}", request.text.split(' ').nth(2).unwrap(), values.join(","));
            seen.lock().unwrap().push((line, request.consistency, request.timestamp));
            Answer::void()
        });
    }
    seen
}

fn batch() -> Batch {
    Batch::logged().with(USER, (7, "Ada")).with(NAME, ("Ada", 7)).with(LOG, ())
}

fn prepares(cluster: &Nodes) -> usize {
    cluster.nodes().iter().map(|node| node.count(Stage::Prepare)).sum()
}

/// driver 2.1: text and prepared statements mixed go out as one request, with the options of the batch.
#[tokio::test(start_paused = true)]
async fn mixed_statements_are_one_request() {
    let (cluster, session) = start(1).await;
    let seen = record(&cluster);
    let prepared = session.prepare(USER).await.unwrap();
    let batch = Batch::unlogged()
        .with(&prepared, (8, "Bob"))
        .with(Statement::new(NAME).with_consistency(Consistency::One), ("Bob", 8))
        .with(LOG, ())
        .with_consistency(Consistency::Quorum)
        .with_timestamp(42);
    let before = cluster.node(0).count(Stage::Query);
    session.execute(&batch, ()).await.unwrap();
    assert_eq!(cluster.node(0).count(Stage::Query), before + 1);
    let quorum = Consistency::Quorum as u16;
    let expected = [("ks.users 8,Bob", 42), ("ks.names Bob,8", 42), ("ks.log ", 42)];
    // The second word of an UPDATE is its table.
    let seen: Vec<_> = seen.lock().unwrap().drain(..).collect();
    assert_eq!(seen.len(), 3);
    for ((line, consistency, timestamp), (want, at)) in seen.iter().zip(expected) {
        if !line.starts_with("SET") {
            assert_eq!(line, want);
        }
        assert_eq!((*consistency, *timestamp), (quorum, Some(at)));
    }
}

/// driver 2.1: text with values is prepared once for the session, however often the batch is sent.
#[tokio::test(start_paused = true)]
async fn texts_are_prepared_once() {
    let (cluster, session) = start(1).await;
    let seen = record(&cluster);
    for _ in 0..3 {
        session.execute(batch(), ()).await.unwrap();
    }
    assert_eq!(prepares(&cluster), 2);
    assert_eq!(seen.lock().unwrap().len(), 9);
}

/// driver 2.1: a bound batch is sent again without preparing, and by tower.
#[tokio::test(start_paused = true)]
async fn a_bound_batch_is_a_request() {
    use tower::ServiceExt;

    let (cluster, session) = start(1).await;
    let seen = record(&cluster);
    let request = session.bind_batch(&batch()).await.unwrap();
    session.execute_request(&request).await.unwrap();
    session.clone().oneshot(request.with_consistency(Consistency::All)).await.unwrap();
    let all = Consistency::All as u16;
    assert_eq!(seen.lock().unwrap().iter().filter(|(_, consistency, _)| *consistency == all).count(), 3);
    assert_eq!(prepares(&cluster), 2);
}

/// driver 2.1: a node that forgot several statements of a batch is told all of them, once.
#[tokio::test(start_paused = true)]
async fn unprepared_tells_all_statements() {
    let (cluster, session) = start(1).await;
    let seen = record(&cluster);
    let request = session.bind_batch(&batch()).await.unwrap();
    cluster.node(0).forget_prepared();
    session.execute_request(&request).await.unwrap();
    assert_eq!(prepares(&cluster), 4);
    assert_eq!(seen.lock().unwrap().len(), 3);
}

/// driver 2.1: a batch whose outcome is unknown is repeated only if it says that this does no harm.
#[tokio::test(start_paused = true)]
async fn idempotence_is_that_of_the_batch() {
    let (cluster, session) = start(3).await;
    record(&cluster);
    let request = session.bind_batch(&batch()).await.unwrap();
    cluster.fault(Stage::Query, Fault::Close.times(1));
    let lost = error(session.execute_request(&request).await);
    assert_eq!((lost.kind(), lost.tries().len()), (Kind::Connection, 1));
    cluster.clear_faults();
    cluster.fault(Stage::Query, Fault::Close.times(1));
    let request = request.with_idempotence(true);
    let _ = session.execute_request(&request).await;
    let sent: usize = cluster.nodes().iter().map(|node| node.count(Stage::Query)).sum();
    assert!(sent >= 3, "the idempotent batch went to another node: {sent}");
}

/// driver 2.1: what cannot be sent is refused with the statement named, before anything is sent.
#[tokio::test(start_paused = true)]
async fn bad_batches_are_refused() {
    let (cluster, session) = start_with(|cluster| cluster.versions([4]), |session| session).await;
    record(&cluster);
    let refused = async |batch: Batch| error(session.execute(batch, ()).await);

    let empty = refused(Batch::logged()).await;
    assert_eq!((empty.kind(), empty.to_string().contains("at least one")), (Kind::Statement, true));

    let wrong = refused(Batch::logged().with(LOG, ()).with(USER, ("seven", "Ada"))).await;
    assert_eq!(wrong.kind(), Kind::Values);
    assert!(wrong.to_string().contains("statement 1 of the batch"), "{wrong}");

    let use_it = refused(Batch::logged().with("USE ks", ())).await;
    assert!(use_it.to_string().contains("statement 0"), "{use_it}");

    let values = error(session.execute(batch(), (1,)).await);
    assert_eq!(values.kind(), Kind::Values);

    let keyspace = refused(Batch::logged().with(LOG, ()).with_keyspace("ks")).await;
    assert_eq!(keyspace.kind(), Kind::Statement);
    assert!(keyspace.report().to_string().contains("v5"), "{}", keyspace.report());

    let mut many = Batch::unlogged();
    for _ in 0..=u16::MAX {
        many.push(LOG, ());
    }
    let many = refused(many).await;
    assert_eq!(many.kind(), Kind::Statement);
    assert!(many.report().to_string().contains("65536"), "{}", many.report());
    assert_eq!(cluster.node(0).count(Stage::Query), 0);
}

/// driver 2.1: a conditional batch answers rows, which tell whether it was applied.
#[tokio::test(start_paused = true)]
async fn conditional_batches_tell() {
    let (cluster, session) = start(1).await;
    cluster.prime(LOG, rows!["[applied] boolean"; (false,)]);
    let result = session.execute(Batch::logged().with(LOG, ()), ()).await.unwrap();
    assert!(!result.applied().unwrap());
}
