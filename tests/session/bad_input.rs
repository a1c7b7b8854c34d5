//! What an application or a server does wrong, and the error that names it.

use std::collections::HashMap;

use messina::error::Kind;
use messina::testkit::{Answer, Prime, Stage, rows};
use messina::{Batch, Error, SerializeRow, Session, Statement};

use crate::support::{Nodes, error, start, start_with};

const INSERT: &str = "INSERT INTO ks.files (id, content) VALUES (?, ?)";

async fn files() -> (Nodes, Session) {
    let (cluster, session) = start(1).await;
    cluster.prime(Prime::new(INSERT).of("ks", "files").params("id int, content blob"), Answer::void());
    (cluster, session)
}

/// The error of values that were refused before anything was sent; its text in one line.
async fn refused(cluster: &Nodes, result: Result<impl Sized, Error>) -> String {
    let wrong = error(result);
    assert_eq!((wrong.kind(), cluster.node(0).count(Stage::Query)), (Kind::Values, 0), "{wrong}");
    wrong.to_string()
}

/// surface 1: too few and too many values are told with both numbers.
#[tokio::test(start_paused = true)]
async fn a_wrong_number_of_values() {
    let (cluster, session) = files().await;
    for (text, given) in [
        (refused(&cluster, session.execute(INSERT, (7,)).await).await, "1"),
        (refused(&cluster, session.execute(INSERT, (7, vec![1_u8], 3)).await).await, "3"),
    ] {
        assert!(text.contains(given) && text.contains('2'), "{text}");
    }
}

/// surface 1: a value of the wrong type is told with its column and both types.
#[tokio::test(start_paused = true)]
async fn a_value_of_the_wrong_type() {
    let (cluster, session) = files().await;
    let text = refused(&cluster, session.execute(INSERT, (7, "text")).await).await;
    for word in ["content", "Blob", "str"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// surface 1: a name that the statement has not, or the values have not, is told.
#[tokio::test(start_paused = true)]
async fn an_unknown_name() {
    #[derive(SerializeRow)]
    #[scylla(crate = messina)]
    struct File {
        id: i32,
        contents: Vec<u8>,
    }
    let (cluster, session) = files().await;
    let file = File { id: 7, contents: vec![1] };
    let text = refused(&cluster, session.execute(INSERT, &file).await).await;
    assert!(text.contains("content"), "{text}");
    let map = HashMap::from([("id", 7), ("size", 8)]);
    let text = refused(&cluster, session.execute(INSERT, map).await).await;
    assert!(text.contains("content"), "{text}");
}

/// driver 3: a page has at least one row, of a statement and of a session.
#[tokio::test(start_paused = true)]
async fn a_page_size_of_zero() {
    let (cluster, session) = files().await;
    let wrong = error(session.execute(Statement::new("SELECT id FROM ks.files").with_page_size(0), ()).await);
    assert_eq!((wrong.kind(), cluster.node(0).count(Stage::Query)), (Kind::Statement, 0));
    assert!(wrong.to_string().contains("page size"), "{wrong}");
    let wrong = Session::builder().contact_point("db.test").page_size(0).check().unwrap_err().to_string();
    assert!(wrong.contains("basic.request.page-size") && wrong.contains('0'), "{wrong}");
}

/// driver 3: a negative limit is told with its option, the value and what is allowed.
#[test]
fn a_negative_timeout() {
    let builder = Session::builder().contact_point("db.test").set("basic.request.timeout", "-1 s");
    let wrong = builder.check().unwrap_err().to_string();
    for word in ["basic.request.timeout", "-1 s", "a number with its unit"] {
        assert!(wrong.contains(word), "{word}: {wrong}");
    }
}

/// driver 2.1: counters mixed with other writes are refused by the server, in its words.
#[tokio::test(start_paused = true)]
async fn a_batch_of_mixed_counters() {
    let (cluster, session) = files().await;
    let words = "Cannot include a counter statement in a logged batch";
    cluster.prime("UPDATE ks.visits SET n = n + 1 WHERE id = 7", Answer::error(0x2200, words));
    let batch = Batch::logged().with(INSERT, (7, vec![1_u8])).with("UPDATE ks.visits SET n = n + 1 WHERE id = 7", ());
    let wrong = error(session.execute(batch, ()).await);
    assert_eq!((wrong.kind(), wrong.server_error().unwrap().code), (Kind::Server, 0x2200));
    assert!(wrong.to_string().contains(words), "{wrong}");
}

/// cql 1: an answer longer than the limit ends its connection, and the error says which limit.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_long() {
    let limit = |session: messina::session::SessionBuilder| session.set("advanced.protocol.max-frame-length", "64 KiB");
    let (cluster, session) = start_with(|cluster| cluster.versions([4]), limit).await;
    cluster.prime("SELECT content FROM ks.files", rows!["content text"; ("x".repeat(100_000),)]);
    let wrong = error(session.execute("SELECT content FROM ks.files", ()).await);
    assert_eq!(wrong.kind(), Kind::Connection);
    assert!(wrong.to_string().contains("65536"), "{wrong}");
}

/// cql 4: each code of a server is an error of its own: its number, its meaning, and the server's words.
#[tokio::test(start_paused = true)]
async fn every_code_of_a_server() {
    let replicas = [0, 6, 0, 0, 0, 2, 0, 0, 0, 3];
    let tail = |more: &[u8]| [&replicas, more].concat();
    let string = |text: &str| [&[0, text.len() as u8], text.as_bytes()].concat();
    let write = tail(&string("SIMPLE"));
    let codes = [
        (0x0000, vec![], "a server error"),
        (0x000A, vec![], "protocol"),
        (0x0100, vec![], "login"),
        (0x1000, replicas.to_vec(), "replicas"),
        (0x1001, vec![], "overloaded"),
        (0x1002, vec![], "bootstrapping"),
        (0x1003, vec![], "truncat"),
        (0x1100, write.clone(), "write"),
        (0x1200, tail(&[1]), "read"),
        (0x1300, tail(&[0, 0, 0, 1, 1]), "read"),
        (0x1400, [string("ks"), string("f"), vec![0, 0]].concat(), "function"),
        (0x1500, [tail(&[0, 0, 0, 1]), string("SIMPLE")].concat(), "write"),
        (0x1600, vec![], "log of changes"),
        (0x1700, replicas.to_vec(), "conditional"),
        (0x2000, vec![], "syntax"),
        (0x2100, vec![], "allowed"),
        (0x2200, vec![], "invalid"),
        (0x2300, vec![], "configur"),
        (0x2400, [string("ks"), string("t")].concat(), "exists"),
        (0x2500, [&[0, 2], &b"id"[..]].concat(), "prepared"),
    ];
    let (cluster, session) = start_with(|cluster| cluster.versions([4]), |session| session).await;
    let mut texts = Vec::new();
    for (code, tail, meaning) in codes {
        cluster.prime("SELECT", Answer::error(code, "why").with_tail(tail));
        let wrong = error(session.execute("SELECT", ()).await);
        let server = wrong.server_error().unwrap_or_else(|| panic!("{code:#06x}: {wrong}"));
        assert_eq!((wrong.kind(), server.code, &*server.message), (Kind::Server, code, "why"), "{wrong}");
        let text = server.to_string();
        assert!(text.contains(meaning) && text.contains(&format!("{code:#06x}")), "{meaning}: {text}");
        assert!(!matches!(server.detail, messina::protocol::response::ErrorDetail::Unreadable(_)), "{server:?}");
        texts.push(text.split(" (code").next().unwrap().to_owned());
    }
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 20, "each has words of its own: {texts:#?}");
}
