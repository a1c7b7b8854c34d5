//! Requests of each kind, as a real server answers them: batches, conditional writes, traces, warnings, errors.

use std::time::Duration;

use futures_util::future::join_all;
use messina::error::Kind;
use messina::protocol::ProtocolVersion;
use messina::protocol::response::server_error::code;
use messina::session::PagingState;
use messina::session::{ErrorDetail, ServerError};
use messina::value::Counter;
use messina::{Batch, Consistency, Session, Statement};

use crate::support::case::{Case, Clusters, case};
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

pub(crate) fn cases() -> Vec<Case> {
    let single = || [Spec::single()];
    let (v3, v4, v5) = (ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5);
    vec![
        case("requests::batches_v3", single(), move |c| batches(c, v3)),
        case("requests::batches_v4", single(), move |c| batches(c, v4)),
        case("requests::batches_v5", single(), move |c| batches(c, v5)),
        case("requests::conditional_writes", single(), conditional_writes),
        case("requests::a_trace", single(), a_trace),
        case("requests::warnings", single(), warnings),
        case("requests::errors", single(), errors),
        case("requests::resumed", single(), resumed),
    ]
}

async fn session(clusters: &Clusters, version: ProtocolVersion) -> Session {
    let way = Way::through(Mode::Delay, &[clusters[0].native()]).await;
    let session = way.builder().protocol_version(version).build().await.unwrap();
    let create = "CREATE KEYSPACE IF NOT EXISTS requests WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.execute(create, ()).await.unwrap();
    session
}

async fn table(session: &Session, name: &str, columns: &str) {
    session.execute(format!("CREATE TABLE requests.{name} ({columns})"), ()).await.unwrap();
}

/// cassandra: logged, unlogged and counter batches of text and prepared statements, with values and without; mixed
/// counters are the server's error; what a batch of one partition asks first decides whether it is applied.
async fn batches(clusters: Clusters, version: ProtocolVersion) {
    let session = session(&clusters, version).await;
    let name = format!("batches_{version:?}").to_lowercase();
    table(&session, &name, "part int, id int, v text, PRIMARY KEY (part, id)").await;
    table(&session, &format!("{name}_counts"), "id int PRIMARY KEY, n counter").await;
    let insert = format!("INSERT INTO requests.{name} (part, id, v) VALUES (?, ?, ?)");
    let prepared = session.prepare(&*insert).await.unwrap();
    for batch in [Batch::logged(), Batch::unlogged()] {
        let batch = batch
            .with(&prepared, (1, 1, "prepared"))
            .with(&*insert, (1, 2, "text with values"))
            .with(format!("INSERT INTO requests.{name} (part, id, v) VALUES (1, 3, 'text')"), ())
            .with(&prepared, (1, 4, None::<String>));
        session.execute(batch, ()).await.unwrap();
        let all = format!("SELECT id, v FROM requests.{name} WHERE part = 1");
        let rows = session.execute(&all, ()).await.unwrap().all::<(i32, Option<String>)>().await.unwrap();
        let expected = [(1, Some("prepared")), (2, Some("text with values")), (3, Some("text")), (4, None)];
        assert_eq!(rows, expected.map(|(id, v)| (id, v.map(str::to_owned))));
        session.execute(format!("DELETE FROM requests.{name} WHERE part = 1"), ()).await.unwrap();
    }

    let count = session.prepare(format!("UPDATE requests.{name}_counts SET n = n + ? WHERE id = ?")).await.unwrap();
    let batch =
        Batch::counter().with(&count, (Counter(5), 1)).with(&count, (Counter(-2), 1)).with(&count, (Counter(1), 2));
    session.execute(batch, ()).await.unwrap();
    let counts = format!("SELECT n FROM requests.{name}_counts WHERE id = ?");
    for (id, n) in [(1, 3), (2, 1)] {
        let found = session.execute(&counts, (id,)).await.unwrap().one::<(Counter,)>().await.unwrap().0;
        assert_eq!(found, Counter(n));
    }
    let mixed = Batch::logged().with(&count, (Counter(1), 1)).with(&prepared, (1, 1, "x"));
    let wrong = session.execute(mixed, ()).await.map(drop).unwrap_err();
    assert_eq!((wrong.kind(), wrong.find::<ServerError>().unwrap().code), (Kind::Server, code::INVALID), "{wrong}");

    let conditional = |expected: &str| {
        let update = format!("UPDATE requests.{name} SET v = 'new' WHERE part = 7 AND id = 1 IF v = '{expected}'");
        Batch::unlogged().with(update, ()).with(&prepared, (7, 2, "beside"))
    };
    session.execute(&prepared, (7, 1, "old")).await.unwrap();
    assert!(!session.execute(conditional("other"), ()).await.unwrap().applied().unwrap());
    assert!(session.execute(conditional("old"), ()).await.unwrap().applied().unwrap());
    let rows = session.execute(format!("SELECT v FROM requests.{name} WHERE part = 7"), ()).await.unwrap();
    assert_eq!(rows.all::<(String,)>().await.unwrap(), [("new".to_owned(),), ("beside".to_owned(),)]);
}

/// cassandra: conditional writes say whether they were applied and, if not, what is there; those of many tasks at once
/// take effect one after the other.
async fn conditional_writes(clusters: Clusters) {
    let session = session(&clusters, ProtocolVersion::V5).await;
    table(&session, "conditional", "id int PRIMARY KEY, v int").await;
    let insert = session.prepare("INSERT INTO requests.conditional (id, v) VALUES (?, ?) IF NOT EXISTS").await.unwrap();
    assert!(session.execute(&insert, (1, 0)).await.unwrap().applied().unwrap());
    let again = session.execute(&insert, (1, 9)).await.unwrap();
    assert!(!again.applied().unwrap());
    assert_eq!(again.one::<(bool, i32, i32)>().await.unwrap(), (false, 1, 0));

    let read = session.prepare("SELECT v FROM requests.conditional WHERE id = 1").await.unwrap();
    let write = session.prepare("UPDATE requests.conditional SET v = ? WHERE id = 1 IF v = ?").await.unwrap();
    let open = std::cell::Cell::new(0);
    let add = async || {
        loop {
            let serial = read.bind(()).unwrap().with_consistency(Consistency::Serial);
            let (v,) = session.execute_request(&serial).await.unwrap().one::<(i32,)>().await.unwrap();
            match session.execute(&write, (v + 1, v)).await {
                Ok(result) if result.applied().unwrap() => return,
                Ok(_) => {}
                // With so many at once the server may lose its patience.
                Err(error) => {
                    assert_eq!(error.find::<ServerError>().unwrap().code, code::WRITE_TIMEOUT, "{error}");
                    open.set(open.get() + 1);
                }
            }
        }
    };
    join_all((0..4).map(|_| add())).await;
    let (v,) = session.execute(&read, ()).await.unwrap().one::<(i32,)>().await.unwrap();
    let open = open.get();
    assert!((4..=4 + open).contains(&v), "{v} after four additions, and {open} that may have been done");
}

/// cassandra: a traced request has a trace with its coordinator and steps; another one has none.
async fn a_trace(clusters: Clusters) {
    let session = session(&clusters, ProtocolVersion::V5).await;
    let statement = Statement::new("SELECT cluster_name FROM system.local");
    let traced = session.execute(statement.clone().with_tracing(true), ()).await.unwrap();
    let trace = session.trace(traced.tracing_id().unwrap()).await.unwrap();
    assert_eq!(trace.coordinator, Some(clusters[0].native().ip()));
    assert!(trace.events.len() > 1 && trace.duration > Duration::ZERO, "{trace:?}");
    assert!(trace.events.iter().all(|event| event.source == trace.coordinator && !event.activity.is_empty()));
    assert_eq!(session.execute(statement, ()).await.unwrap().tracing_id(), None);
}

/// cassandra: what the server warns of comes with the result.
async fn warnings(clusters: Clusters) {
    let session = session(&clusters, ProtocolVersion::V4).await;
    table(&session, "warned", "id int PRIMARY KEY, v text").await;
    let insert = session.prepare("INSERT INTO requests.warned (id, v) VALUES (?, ?)").await.unwrap();
    let mut batch = Batch::unlogged();
    for id in 0..20 {
        batch.push(&insert, (id, "x".repeat(1000)));
    }
    let result = session.execute(batch, ()).await.unwrap();
    assert!(result.warnings().iter().any(|warning| warning.contains("requests.warned")), "{:?}", result.warnings());
    assert!(session.execute(&insert, (1, "x".to_owned())).await.unwrap().warnings().is_empty());
}

/// cassandra: errors of the server are told with their code, its words, and what it says beside them.
async fn errors(clusters: Clusters) {
    let session = session(&clusters, ProtocolVersion::V5).await;
    table(&session, "wrong", "id int PRIMARY KEY, v text").await;
    let found = async |statement: &str| {
        let error = session.execute(statement, ()).await.map(drop).unwrap_err();
        assert_eq!((error.kind(), error.tries().len()), (Kind::Server, 1), "{error}");
        let found: &ServerError = error.find().unwrap();
        assert!(error.to_string().contains(&found.message), "{error}");
        found.clone()
    };
    for (statement, code, words) in [
        ("SELEC v FROM requests.wrong", code::SYNTAX, "SELEC"),
        ("SELECT nothing FROM requests.wrong", code::INVALID, "nothing"),
        ("SELECT v FROM nowhere.wrong", code::INVALID, "nowhere"),
        ("CREATE KEYSPACE k WITH replication = {'class': 'NoStrategy'}", code::CONFIG, "NoStrategy"),
    ] {
        let error = found(statement).await;
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    let exists = found("CREATE TABLE requests.wrong (id int PRIMARY KEY)").await;
    assert_eq!(exists.code, code::ALREADY_EXISTS);
    let detail = ErrorDetail::AlreadyExists { keyspace: "requests".to_owned(), table: "wrong".to_owned() };
    assert_eq!(exists.detail, detail);
    // One node cannot give an answer of two.
    let two = Statement::new("SELECT v FROM requests.wrong WHERE id = 1").with_consistency(Consistency::Two);
    let error = session.execute(two, ()).await.map(drop).unwrap_err();
    let found = error.find::<ServerError>().unwrap();
    assert_eq!(found.code, code::UNAVAILABLE, "{error}");
    assert!(matches!(found.detail, ErrorDetail::Unavailable { required: 2, alive: 1, .. }), "{found:?}");
}

/// cassandra: a paging state goes on where its page ended, also in another session; one of another version is refused.
async fn resumed(clusters: Clusters) {
    let first = session(&clusters, ProtocolVersion::V5).await;
    table(&first, "resumed", "part int, id int, PRIMARY KEY (part, id)").await;
    let insert = first.prepare("INSERT INTO requests.resumed (part, id) VALUES (1, ?)").await.unwrap();
    for done in join_all((0..25).map(|id| first.execute(&insert, (id,)))).await {
        done.unwrap();
    }
    let select = Statement::new("SELECT id FROM requests.resumed WHERE part = 1").with_page_size(10);
    let page = async |session: &Session, state: Option<PagingState>| {
        let result = session.execute(select.clone().with_paging_state(state), ()).await.unwrap();
        let ids: Vec<i32> = result.page().rows::<(i32,)>().unwrap().map(|row| row.unwrap().0).collect();
        (ids, result.page().paging_state())
    };
    let (ids, state) = page(&first, None).await;
    assert_eq!(ids, (0..10).collect::<Vec<_>>());
    let second = session(&clusters, ProtocolVersion::V5).await;
    let (ids, state_two) = page(&second, state.clone()).await;
    assert_eq!(ids, (10..20).collect::<Vec<_>>());
    let (ids, end) = page(&first, state_two).await;
    assert_eq!((ids, end), ((20..25).collect(), None));
    let other = session(&clusters, ProtocolVersion::V4).await;
    let wrong = other.execute(select.with_paging_state(state), ()).await.map(drop).unwrap_err();
    assert_eq!(wrong.kind(), Kind::Statement, "{wrong}");
}
