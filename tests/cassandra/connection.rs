//! The connection alone against a real server: every version, bodies of all sizes, many at once, some given up.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::{join_all, poll_immediate};
use messina::connection::{Compression, Connection, Limits, Opening, ReplyError};
use messina::protocol::request::{Options, Query, QueryParams, Startup};
use messina::protocol::response::{Response, ResultResponse, parse};
use messina::protocol::{Dialect, Envelope, Opcode, ProtocolVersion};
use scylla_cql_core::frame::types::Consistency;
use scylla_cql_core::value::{CqlValue, Row};
use tokio::net::TcpStream;

use crate::support::case::{Case, Clusters, case};
use crate::support::spec::Spec;

const LIMIT: Duration = Duration::from_secs(5);

pub(crate) fn cases() -> Vec<Case> {
    let all = [
        ("v3", ProtocolVersion::V3, None),
        ("v4", ProtocolVersion::V4, None),
        ("v4_lz4", ProtocolVersion::V4, Some(Compression::Lz4)),
        ("v4_snappy", ProtocolVersion::V4, Some(Compression::Snappy)),
        ("v5", ProtocolVersion::V5, None),
        ("v5_lz4", ProtocolVersion::V5, Some(Compression::Lz4)),
    ];
    let one = |(name, version, compression)| {
        case(&format!("connection::{name}"), [Spec::single()], move |c| serves(c, name, version, compression))
    };
    let mut cases: Vec<Case> = all.into_iter().map(one).collect();
    for version in [ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5] {
        let name = format!("connection::system_tables_{version:?}").to_lowercase();
        cases.push(case(&name, [Spec::single()], move |c| system_tables(c, version)));
    }
    cases
}

async fn open(node: SocketAddr, version: ProtocolVersion, compression: Option<Compression>) -> Connection {
    let io = TcpStream::connect(node).await.unwrap();
    let mut opening = Opening::new(io, node, version, Limits::default());
    let supported = opening.request(&Options, LIMIT).await.unwrap();
    assert_eq!(opcode(&supported), Opcode::Supported);
    opening.negotiate(version, compression);
    let startup = match compression {
        None => Startup::new(),
        Some(Compression::Lz4) => Startup::new().with("COMPRESSION", "lz4"),
        Some(Compression::Snappy) => Startup::new().with("COMPRESSION", "snappy"),
    };
    let ready = opening.request(&startup, LIMIT).await.unwrap();
    assert_eq!(opcode(&ready), Opcode::Ready, "{ready:?}");
    opening.accept()
}

async fn ask(connection: &Connection, text: &str) -> Result<Envelope, ReplyError> {
    connection.try_send(&Query::new(text, QueryParams::default()))?.await
}

fn opcode(envelope: &Envelope) -> Opcode {
    envelope.header.opcode().unwrap()
}

async fn done(connection: &Connection, text: &str) -> Envelope {
    let answer = ask(connection, text).await.unwrap();
    assert_eq!(opcode(&answer), Opcode::Result, "{}", String::from_utf8_lossy(&answer.body));
    answer
}

/// cassandra: the connection alone in every version, with and without compression.
/// cql 2: what is larger than a segment travels in several, both ways.
async fn serves(clusters: Clusters, name: &str, version: ProtocolVersion, compression: Option<Compression>) {
    let connection = open(clusters[0].native(), version, compression).await;
    let c = &connection;
    done(c, "CREATE KEYSPACE IF NOT EXISTS connection WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").await;
    done(c, &format!("CREATE TABLE connection.{name} (id int PRIMARY KEY, body text)")).await;

    // Sizes around the limits of a segment and of a copied body; `c` compresses, the rest does not much.
    for (id, size) in [0, 1, 1_000, 70_000, 131_071, 131_072, 400_000].into_iter().enumerate() {
        for body in ["c".repeat(size), noise(size)] {
            done(c, &format!("INSERT INTO connection.{name} (id, body) VALUES ({id}, '{body}')")).await;
            let answer = done(c, &format!("SELECT body FROM connection.{name} WHERE id = {id}")).await;
            assert!(answer.body.ends_with(body.as_bytes()), "{size} bytes came back otherwise");
        }
    }

    // Many at once, every third given up after it was sent.
    let texts: Vec<String> =
        (0..300).map(|n| format!("SELECT (int) {n} FROM connection.{name} WHERE id = 0")).collect();
    let asked = texts.iter().enumerate().map(|(n, text)| async move {
        let mut answer = Box::pin(ask(c, text));
        if n % 3 == 0 {
            assert!(poll_immediate(&mut answer).await.is_none(), "answered before it was sent");
            return;
        }
        let answer = answer.await.unwrap();
        assert!(answer.body.ends_with(&i32::try_from(n).unwrap().to_be_bytes()), "the answer of another: {answer:?}");
    });
    join_all(asked).await;
    // The server answers in any order; what was given up is answered sooner or later, and then forgotten.
    for _ in 0..1_000 {
        if c.orphans() == 0 {
            break;
        }
        done(c, "SELECT key FROM system.local").await;
    }
    assert_eq!((c.in_flight(), c.orphans()), (0, 0));
}

/// cassandra: every row of every system table is read, in every version, by name of table from the schema itself.
async fn system_tables(clusters: Clusters, version: ProtocolVersion) {
    let connection = open(clusters[0].native(), version, None).await;
    let names = rows(&connection, version, "SELECT keyspace_name, table_name FROM system_schema.tables").await;
    let mut read = 0;
    for row in names {
        let (Some(CqlValue::Text(keyspace)), Some(CqlValue::Text(table))) = (&row.columns[0], &row.columns[1]) else {
            panic!("not two texts: {row:?}");
        };
        if keyspace.starts_with("system") {
            rows(&connection, version, &format!("SELECT * FROM {keyspace}.\"{table}\" LIMIT 100")).await;
            read += 1;
        }
    }
    assert!(read > 40, "only {read} tables");
}

async fn rows(connection: &Connection, version: ProtocolVersion, text: &str) -> Vec<Row> {
    // Some of these tables are meant for three nodes.
    let params = QueryParams { consistency: Consistency::One, ..QueryParams::default() };
    let answer = connection.try_send(&Query::new(text, params)).unwrap().await.unwrap();
    let answer = parse(answer, Dialect::new(version), None).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Response::Result(ResultResponse::Rows(rows)) = answer.response else {
        panic!("{text}: {:?}", answer.response);
    };
    let typed = rows.typed::<Row>().unwrap_or_else(|error| panic!("{text}: {error}"));
    typed.map(|row| row.unwrap_or_else(|error| panic!("{text}: {error}"))).collect()
}

/// Letters that repeat nothing.
fn noise(size: usize) -> String {
    let mut state = 1_u32;
    let letter = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'A' + u8::try_from((state >> 24) % 58).unwrap()).to_string().replace('\\', "z")
    };
    (0..size).map(letter).collect()
}
