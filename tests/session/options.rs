//! What a statement says beside its text.

use messina::error::Kind;
use messina::session::Payload;
use messina::testkit::{Answer, Stage, rows};
use messina::{Consistency, Statement};

use crate::support::{error, start, start_with};

const SELECT: &str = "SELECT n FROM ks.t";

/// surface 1: consistency and timestamp come from the statement, else from the session; the default is LOCAL_QUORUM.
#[tokio::test(start_paused = true)]
async fn consistency_and_timestamp() {
    let (cluster, session) = start(1).await;
    let echo = |request: &messina::testkit::Request| -> Answer {
        rows!["c int, t bigint"; (i32::from(request.consistency), request.timestamp)].into()
    };
    cluster.prime_with(SELECT, echo);
    let asked = async |statement: Statement| {
        session.execute(statement, ()).await.unwrap().one::<(i32, Option<i64>)>().await.unwrap()
    };
    assert_eq!(asked(Statement::new(SELECT)).await.0, Consistency::LocalQuorum as i32);
    let statement = Statement::new(SELECT).with_consistency(Consistency::One).with_timestamp(17);
    assert_eq!(asked(statement).await, (Consistency::One as i32, Some(17)));

    let (cluster, session) = start_with(|cluster| cluster, |session| session.consistency(Consistency::All)).await;
    cluster.prime_with(SELECT, echo);
    let row = session.execute(SELECT, ()).await.unwrap().one::<(i32, Option<i64>)>().await.unwrap();
    assert_eq!(row.0, Consistency::All as i32);
}

/// surface 1: options of a statement hold for what is prepared from it, and a request may change them.
#[tokio::test(start_paused = true)]
async fn options_of_what_is_prepared() {
    let (cluster, session) = start(1).await;
    cluster.prime_with(messina::testkit::Prime::new(SELECT).columns("c int"), |request| {
        rows!["c int"; (i32::from(request.consistency),)].into()
    });
    let prepared = session.prepare(Statement::new(SELECT).with_consistency(Consistency::Two)).await.unwrap();
    let asked = session.execute(&prepared, ()).await.unwrap().one::<(i32,)>().await.unwrap();
    assert_eq!(asked.0, Consistency::Two as i32);
    let request = prepared.bind(()).unwrap();
    let changed = request.clone().with_consistency(Consistency::Three);
    for (request, consistency) in [(request, Consistency::Two), (changed, Consistency::Three)] {
        let asked = session.execute_request(&request).await.unwrap().one::<(i32,)>().await.unwrap();
        assert_eq!(asked.0, consistency as i32);
    }
    // The same text prepared without options has those of the session.
    let prepared = session.prepare(SELECT).await.unwrap();
    let asked = session.execute(&prepared, ()).await.unwrap().one::<(i32,)>().await.unwrap();
    assert_eq!(asked.0, Consistency::LocalQuorum as i32);
}

/// cql 3: what the server is to take for now, with text, prepared and batch; before v5 it cannot be said.
#[tokio::test(start_paused = true)]
async fn now_in_seconds() {
    let (cluster, session) = start(1).await;
    let prime = messina::testkit::Prime::new(SELECT).columns("n int");
    cluster.prime_with(prime, |request| rows!["n int"; (request.now_in_seconds,)].into());
    let statement = || Statement::new(SELECT).with_now_in_seconds(17);
    let asked = async |session: &messina::Session, request: messina::Request| {
        session.execute_request(&request).await.unwrap().one::<(Option<i32>,)>().await.unwrap().0
    };
    assert_eq!(asked(&session, statement().into()).await, Some(17));
    let prepared = session.prepare(statement()).await.unwrap();
    assert_eq!(asked(&session, prepared.bind(()).unwrap()).await, Some(17));
    assert_eq!(asked(&session, prepared.bind(()).unwrap().with_now_in_seconds(-3)).await, Some(-3));
    let batch = messina::Batch::logged().with(SELECT, ()).with_now_in_seconds(18);
    let row = session.execute(batch, ()).await.unwrap().one::<(Option<i32>,)>().await.unwrap();
    assert_eq!(row.0, Some(18));
    assert_eq!(asked(&session, Statement::new(SELECT).into()).await, None);

    let (_cluster, session) = start_with(|cluster| cluster.versions([4]), |session| session).await;
    let wrong = error(session.execute(statement(), ()).await);
    assert_eq!(wrong.kind(), Kind::Statement);
    assert!(format!("{wrong:#?}{wrong}").contains("now in seconds"), "{wrong:?}");
}

/// surface 1: a custom payload reaches the server; before v4 it cannot be said.
#[tokio::test(start_paused = true)]
async fn a_payload() {
    let mut payload = Payload::new();
    payload.push("key", Some("value".into()));
    let statement = Statement::new(SELECT).with_payload(payload);
    let (cluster, session) = start(1).await;
    cluster.prime_with(SELECT, |request| {
        assert_eq!(request.payload, [("key".to_owned(), "value".into())]);
        rows!["n int"; (1,)].into()
    });
    session.execute(&statement, ()).await.unwrap();

    let (_cluster, session) = start_with(|cluster| cluster.versions([3]), |session| session).await;
    assert_eq!(error(session.execute(&statement, ()).await).kind(), Kind::Statement);
}

/// surface 1: `USE` would change one connection of many; it is refused, however it is written, and nothing is sent.
#[tokio::test(start_paused = true)]
async fn use_is_refused() {
    let (cluster, session) = start(1).await;
    for text in ["USE ks", "use \"Ks\"", "  \n Use\tks", "-- why\nUSE ks", "/* a */ // b\r\n use ks", "use"] {
        for wrong in [
            error(session.execute(text, ()).await),
            error(session.execute(text, (1,)).await),
            error(session.prepare(text).await),
            error(session.execute_request(&Statement::new(text).into()).await),
        ] {
            assert_eq!(wrong.kind(), Kind::Statement, "{text:?}");
            assert!(wrong.to_string().contains("keyspace(..)"), "{wrong}");
        }
    }
    assert_eq!(cluster.node(0).count(Stage::Query), 0);
    for text in ["USER", "SELECT use FROM t", "-- USE", "/* USE ks", "use_it"] {
        cluster.prime(text, Answer::void());
        session.execute(text, ()).await.unwrap();
    }
}
