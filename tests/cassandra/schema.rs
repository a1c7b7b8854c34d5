//! The schema: read, written as CQL, made again, and the same; and what follows a change of it.

use std::time::Duration;

use messina::error::Kind;
use messina::protocol::ProtocolVersion;
use messina::session::SessionBuilder;
use messina::topology::schema::Keyspace;
use messina::{ResultSet, Session};

use crate::support::case::{Case, Clusters, case};
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

pub(crate) fn cases() -> Vec<Case> {
    let minutes = Duration::from_secs(180);
    let (v4, v5) = (ProtocolVersion::V4, ProtocolVersion::V5);
    vec![
        case("schema::described_and_made_again", [Spec::single()], described_and_made_again).limit(minutes),
        case("schema::columns_that_come_later_v4", [Spec::single()], move |c| columns_that_come_later(c, v4)),
        case("schema::columns_that_come_later_v5", [Spec::single()], move |c| columns_that_come_later(c, v5)),
        case("schema::all_nodes_agree", [Spec::three()], all_nodes_agree).limit(minutes),
        case("schema::the_keyspace_changes", [Spec::three()], the_keyspace_changes).limit(minutes),
    ]
}

async fn session(clusters: &Clusters, change: impl FnOnce(SessionBuilder) -> SessionBuilder) -> Session {
    let addresses: Vec<_> = clusters[0].nodes.iter().map(|node| node.native()).collect();
    let way = Way::through(Mode::Delay, &addresses).await;
    change(way.builder()).build().await.unwrap()
}

async fn execute(session: &Session, statement: &str) {
    if let Err(error) = session.execute(statement, ()).await {
        panic!("{statement}: {error}");
    }
}

const STATEMENTS: &[&str] = &[
    "CREATE KEYSPACE twice WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 1} AND durable_writes = false",
    "CREATE TYPE twice.inner (street text, zip int)",
    "CREATE TYPE twice.\"Outer\" (\"Home\" frozen<inner>, others frozen<map<text, frozen<inner>>>)",
    "CREATE TABLE twice.natives (id int, c1 timeuuid, c2 inet, a ascii, b bigint, c blob, d boolean, e date, f decimal, \
     g double, h duration, i float, j inet, k int, l smallint, m text, n time, o timestamp, p timeuuid, q tinyint, r uuid, \
     s varchar, t varint, v vector<float, 3>, fixed text static, PRIMARY KEY (id, c1, c2)) \
     WITH CLUSTERING ORDER BY (c1 DESC, c2 ASC) AND comment = 'it''s \"all\"' AND default_time_to_live = 86400 \
     AND gc_grace_seconds = 3600 AND speculative_retry = '95p'",
    "CREATE TABLE twice.\"Nested\" (\"Id\" uuid, \"select\" text, l list<int>, s set<text>, m map<int, text>, \
     fl frozen<list<frozen<set<int>>>>, t tuple<int, text, frozen<list<bigint>>>, u frozen<inner>, o \"Outer\", \
     deep map<text, frozen<map<int, frozen<list<\"Outer\">>>>>, PRIMARY KEY ((\"Id\", \"select\")))",
    "CREATE TABLE twice.counted (id int PRIMARY KEY, n counter)",
    "CREATE TABLE twice.base (id int, at timestamp, v text, w int, tags map<text, int>, PRIMARY KEY (id, at))",
    "CREATE INDEX by_v ON twice.base (v)",
    "CREATE INDEX \"ByKeys\" ON twice.base (keys(tags))",
    "CREATE CUSTOM INDEX by_w ON twice.base (w) USING 'StorageAttachedIndex'",
    "CREATE MATERIALIZED VIEW twice.by_value AS SELECT id, at, v FROM twice.base \
     WHERE v IS NOT NULL AND id IS NOT NULL AND at IS NOT NULL PRIMARY KEY (v, id, at) WITH CLUSTERING ORDER BY (id DESC, at ASC)",
    "CREATE FUNCTION twice.plus(a int, b int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java AS 'return a + b;'",
    "CREATE FUNCTION twice.\"Halve\"(a int) CALLED ON NULL INPUT RETURNS double LANGUAGE java \
     AS 'if (a == null) return 0.0; return a / 2.0;'",
    "CREATE AGGREGATE twice.half_sum(int) SFUNC plus STYPE int FINALFUNC \"Halve\" INITCOND 0",
];

/// The keyspace in every detail, but for the ids that the server gives tables.
fn details(keyspace: &Keyspace) -> String {
    let text = format!("{keyspace:#?}");
    let mut lines = Vec::new();
    let mut skipped = 0;
    for line in text.lines() {
        // `id: Some(`, the id, `),`
        if line.trim_start() == "id: Some(" {
            skipped = 3;
        }
        if skipped == 0 {
            lines.push(line);
        } else {
            skipped -= 1;
        }
    }
    lines.join("\n")
}

/// cassandra: a keyspace with every native type, nested types, indexes, a view, functions and an aggregate is read,
/// dropped, made again by its own description, and read as the same.
async fn described_and_made_again(clusters: Clusters) {
    let session = session(&clusters, |builder| builder).await;
    for statement in STATEMENTS {
        execute(&session, statement).await;
    }
    let first = session.schema().keyspace("twice").cloned().unwrap();
    assert_eq!((first.tables.len(), first.views.len(), first.types.len()), (4, 1, 2));
    assert_eq!((first.functions.len(), first.aggregates.len()), (2, 1));
    assert_eq!(first.tables["base"].indexes.len(), 3);
    assert_eq!(first.tables["natives"].columns.len(), 25);
    assert!(session.schema().skipped().is_empty(), "{:?}", session.schema().skipped());

    let text = first.describe();
    execute(&session, "DROP KEYSPACE twice").await;
    assert!(session.schema().keyspace("twice").is_none());
    for statement in text.split(";\n").map(str::trim).filter(|statement| !statement.is_empty()) {
        execute(&session, statement).await;
    }
    let second = session.schema().keyspace("twice").cloned().unwrap();
    assert_eq!(second.describe(), text);
    let (first, second) = (details(&first), details(&second));
    let same = first.lines().zip(second.lines()).find(|(one, other)| one != other);
    assert_eq!((same, first.len()), (None, second.len()));
    execute(&session, "DROP KEYSPACE twice").await;
}

/// cassandra: a statement that was prepared with `*` shows columns that a table got later, and keeps to those that stayed.
async fn columns_that_come_later(clusters: Clusters, version: ProtocolVersion) {
    let session = session(&clusters, |builder| builder.protocol_version(version)).await;
    let keyspace = format!("later_{version}").replace('.', "_").to_lowercase();
    execute(
        &session,
        &format!(
            "CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        ),
    )
    .await;
    execute(&session, &format!("CREATE TABLE {keyspace}.t (id int PRIMARY KEY, b text)")).await;
    execute(&session, &format!("INSERT INTO {keyspace}.t (id, b) VALUES (1, 'b')")).await;
    let prepared = session.prepare(format!("SELECT * FROM {keyspace}.t WHERE id = ?")).await.unwrap();
    let names = |result: &ResultSet| -> Vec<String> {
        result.columns().iter().map(|column| column.name().to_owned()).collect()
    };
    for _ in 0..3 {
        let result = session.execute(&prepared, (1,)).await.unwrap();
        assert_eq!(names(&result), ["id", "b"]);
        assert_eq!(result.one::<(i32, String)>().await.unwrap(), (1, "b".into()));
    }
    execute(&session, &format!("ALTER TABLE {keyspace}.t ADD a int")).await;
    execute(&session, &format!("UPDATE {keyspace}.t SET a = 7 WHERE id = 1")).await;
    for _ in 0..3 {
        let result = session.execute(&prepared, (1,)).await.unwrap();
        assert_eq!(names(&result), ["id", "a", "b"]);
        assert_eq!(result.one::<(i32, i32, String)>().await.unwrap(), (1, 7, "b".into()));
    }
    execute(&session, &format!("ALTER TABLE {keyspace}.t DROP b")).await;
    for _ in 0..3 {
        let result = session.execute(&prepared, (1,)).await.unwrap();
        assert_eq!(names(&result), ["id", "a"]);
        assert_eq!(result.one::<(i32, i32)>().await.unwrap(), (1, 7));
    }
    execute(&session, &format!("DROP KEYSPACE {keyspace}")).await;
}

/// cassandra: whichever of three nodes made a change, all have it when its result comes.
async fn all_nodes_agree(clusters: Clusters) {
    let session = session(&clusters, |builder| builder).await;
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 3}";
    execute(&session, &format!("CREATE KEYSPACE agreed WITH replication = {replication}")).await;
    let mut made_by = std::collections::BTreeSet::new();
    for n in 0..12 {
        let result = session.execute(format!("CREATE TABLE agreed.t{n} (id int PRIMARY KEY)"), ()).await.unwrap();
        assert!(result.schema_agreement().unwrap().agreed);
        made_by.insert(result.served_by().host_id);
        assert!(session.schema().table("agreed", &format!("t{n}")).is_some());
        // Each node knows it: a request on each, one after the other.
        let insert = format!("INSERT INTO agreed.t{n} (id) VALUES (1)");
        for _ in 0..3 {
            execute(&session, &insert).await;
        }
    }
    assert!(made_by.len() > 1, "{made_by:?}");
    execute(&session, "DROP KEYSPACE agreed").await;
}

/// cassandra: unqualified names are those of the session's keyspace, on whichever node they arrive, in each version.
async fn the_keyspace_changes(clusters: Clusters) {
    for version in [ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5] {
        let session = session(&clusters, |builder| builder.protocol_version(version)).await;
        for name in ["one", "\"Two\""] {
            let replication = "{'class': 'SimpleStrategy', 'replication_factor': 3}";
            execute(&session, &format!("CREATE KEYSPACE {name} WITH replication = {replication}")).await;
            execute(&session, &format!("CREATE TABLE {name}.t (id int PRIMARY KEY, v text)")).await;
            let insert = format!("INSERT INTO {name}.t (id, v) VALUES (?, ?)");
            session.execute(insert, (1, name.trim_matches('"'))).await.unwrap();
        }
        let read = async || {
            let mut found = std::collections::BTreeSet::new();
            for _ in 0..9 {
                let text = session.execute("SELECT v FROM t WHERE id = 1", ()).await.unwrap();
                found.insert(text.one::<(String,)>().await.unwrap().0);
                let prepared = session.execute("SELECT v FROM t WHERE id = ?", (1,)).await.unwrap();
                found.insert(prepared.one::<(String,)>().await.unwrap().0);
            }
            Vec::from_iter(found)
        };
        session.use_keyspace("one").await.unwrap();
        assert_eq!(read().await, ["one"]);
        session.use_keyspace("Two").await.unwrap();
        assert_eq!(read().await, ["Two"]);
        let wrong = session.use_keyspace("two").await.unwrap_err();
        assert_eq!((wrong.kind(), wrong.server_error().map(|error| error.code)), (Kind::Server, Some(0x2200)));
        assert_eq!(read().await, ["Two"], "nothing changed");
        execute(&session, "DROP KEYSPACE one").await;
        execute(&session, "DROP KEYSPACE \"Two\"").await;
        session.close().await;
    }
}
