//! Primed statements: text, prepared, paged, batched.

use std::time::Duration;

use messina::testkit::{Answer, Cluster, Prime, Rows, Stage, rows};

use crate::client::{BATCH, Body, Client, EXECUTE, Frame, PREPARE, QUERY, Table, error, long_string, string};

/// An id and what PREPARED says about the statement, in v4.
struct Prepared {
    id: Vec<u8>,
    partition_key: Vec<usize>,
    params: Vec<(String, usize)>,
    columns: Vec<(String, usize)>,
}

fn prepared(frame: &Frame) -> Prepared {
    assert_eq!(frame.opcode, 0x08, "{frame:?}");
    let mut body = Body(&frame.body);
    assert_eq!(body.int(), 4);
    let length = body.short();
    let id = body.take(length).to_vec();
    let (_flags, params) = (body.int(), body.int());
    let partition_key = (0..body.int()).map(|_| body.short()).collect();
    let _table = (body.string(), body.string());
    let params = (0..params).map(|_| (body.string(), body.typ())).collect();
    let (flags, columns) = (body.int(), body.int());
    let columns = if flags & 4 == 0 {
        let _table = (body.string(), body.string());
        (0..columns).map(|_| (body.string(), body.typ())).collect()
    } else {
        Vec::new()
    };
    assert!(body.0.is_empty());
    Prepared { id, partition_key, params, columns }
}

fn execute(id: &[u8], values: &[&[u8]]) -> Vec<u8> {
    let mut body = (id.len() as u16).to_be_bytes().to_vec();
    body.extend(id);
    body.extend([0, 1, 1]);
    body.extend((values.len() as u16).to_be_bytes());
    for value in values {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(*value);
    }
    body
}

/// testkit: PREPARE tells types and key, EXECUTE reaches the closure, values and all.
#[tokio::test]
async fn prepare_and_execute() {
    let cluster = Cluster::builder().start().await.unwrap();
    let prime = Prime::new("SELECT name FROM ks.users WHERE id = ? AND at = ?")
        .params("id int, at timestamp")
        .partition_key([1, 0])
        .columns("name text");
    cluster.prime_with(prime, |request| match request.value::<i32>(0) {
        Some(id) => rows!["name text"; (format!("user {id} on node {}", request.node),)].into(),
        None => Answer::error(0x2200, "no id"),
    });
    let mut client = Client::ready(cluster.node(0).addr()).await;
    let frame = client.ask(PREPARE, &long_string("SELECT name FROM ks.users WHERE id = ? AND at = ?")).await;
    let one = prepared(&frame);
    assert_eq!(one.partition_key, [1, 0]);
    assert_eq!(one.params, [("id".to_owned(), 0x09), ("at".to_owned(), 0x0B)]);
    assert_eq!(one.columns, [("name".to_owned(), 0x0D)]);

    let frame = client.ask(EXECUTE, &execute(&one.id, &[&[0, 0, 0, 7], &[0; 8]])).await;
    assert_eq!(Table::read(&frame).text(0, "name"), "user 7 on node 0");
    let frame = client.ask(EXECUTE, &execute(&one.id, &[&[7]])).await;
    assert_eq!(error(&frame).1, "no id");
    let log = &cluster.node(0).connections()[0];
    assert_eq!(log.stages()[1..], [Stage::Prepare, Stage::Query, Stage::Query]);
    assert!(log.requests().last().unwrap().1.starts_with("SELECT name"));
}

/// testkit: an id that a node never gave out, forgot, or lost with its life is answered UNPREPARED with the id.
#[tokio::test]
async fn unprepared() {
    let cluster = Cluster::builder().nodes(2).start().await.unwrap();
    cluster.prime("SELECT 1", rows!["one int"; (1,)]);
    let mut client = Client::ready(cluster.node(0).addr()).await;
    let id = prepared(&client.ask(PREPARE, &long_string("SELECT 1")).await).id;
    assert_eq!(client.ask(EXECUTE, &execute(&id, &[])).await.opcode, 0x08);

    let mut other = Client::ready(cluster.node(1).addr()).await;
    for client in [&mut other, &mut client] {
        cluster.node(0).forget_prepared();
        let frame = client.ask(EXECUTE, &execute(&id, &[])).await;
        assert_eq!(error(&frame).0, 0x2500);
        assert!(frame.body.ends_with(&id));
    }
    assert_eq!(prepared(&other.ask(PREPARE, &long_string("SELECT 1")).await).id, id, "the same everywhere");
}

/// testkit: markers without primed types are refused with the way out.
#[tokio::test]
async fn markers_need_types() {
    let cluster = Cluster::builder().start().await.unwrap();
    cluster.prime("SELECT ?", Answer::void());
    let mut client = Client::ready(cluster.node(0).addr()).await;
    let (code, text) = error(&client.ask(PREPARE, &long_string("SELECT ?")).await);
    assert_eq!(code, 0x2200);
    assert!(text.contains("Prime::params"), "{text}");
    assert_eq!(error(&client.ask(PREPARE, &long_string("SELECT 2")).await).0, 0x2200);
}

/// One page of a statement, with this page size and state.
async fn page(client: &mut Client, text: &str, size: u32, state: Option<&[u8]>) -> Frame {
    let mut body = long_string(text);
    body.extend([0, 1, if state.is_some() { 0x0C } else { 0x04 }]);
    body.extend(size.to_be_bytes());
    if let Some(state) = state {
        body.extend((state.len() as u32).to_be_bytes());
        body.extend(state);
    }
    client.ask(QUERY, &body).await
}

async fn pages(client: &mut Client, text: &str, size: u32) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut state = None;
    loop {
        let table = Table::read(&page(client, text, size, state.as_deref()).await);
        lengths.push(table.rows.len());
        assert!(lengths.len() < 100, "no end");
        state = match table.paging_state {
            Some(state) => Some(state),
            None => return lengths,
        };
    }
}

/// testkit: rows are cut by the page size asked for, or as they were primed.
#[tokio::test]
async fn paging() {
    let cluster = Cluster::builder().start().await.unwrap();
    let ten = (0..10).fold(Rows::new("n int"), |rows, n| rows.row((n,)));
    cluster.prime("TEN", ten.clone());
    cluster.prime("ODD", ten.pages([0, 3, 0, 5]));
    cluster.prime("LATE", rows!["n int"; (1,)].pages([1, 0]));
    let mut client = Client::ready(cluster.node(0).addr()).await;
    assert_eq!(pages(&mut client, "TEN", 4).await, [4, 4, 2]);
    assert_eq!(pages(&mut client, "TEN", 5).await, [5, 5], "no empty page at the end");
    assert_eq!(pages(&mut client, "TEN", 100).await, [10]);
    assert_eq!(pages(&mut client, "TEN", 0).await, [10], "no paging");
    assert_eq!(pages(&mut client, "ODD", 4).await, [0, 3, 0, 5, 2]);
    assert_eq!(pages(&mut client, "LATE", 4).await, [1, 0], "an empty last page");
    let bad = page(&mut client, "TEN", 4, Some(b"nonsense")).await;
    assert_eq!(error(&bad).0, 0x000A);
    let past = page(&mut client, "TEN", 4, Some(&[0xFF; 16])).await;
    assert_eq!(Table::read(&past).rows.len(), 0, "beyond the end there is nothing");
}

/// testkit: a batch is done, or gives the first answer that is more than done.
#[tokio::test]
async fn batches() {
    let cluster = Cluster::builder().start().await.unwrap();
    cluster.prime("INSERT", Answer::void());
    cluster.prime("BUSY", Answer::error(0x1001, "busy"));
    let mut client = Client::ready(cluster.node(0).addr()).await;
    let id = prepared(&client.ask(PREPARE, &long_string("INSERT")).await).id;
    let batch = |second: &str| {
        let mut body = vec![0, 0, 2, 1];
        body.extend((id.len() as u16).to_be_bytes());
        body.extend(&id);
        body.extend([0, 0, 0]);
        body.extend(long_string(second));
        body.extend([0, 0, 0, 1, 0]);
        body
    };
    let frame = client.ask(BATCH, &batch("INSERT")).await;
    assert_eq!((frame.opcode, frame.body), (0x08, vec![0, 0, 0, 1]));
    assert_eq!(error(&client.ask(BATCH, &batch("BUSY")).await).0, 0x1001);
    assert_eq!(error(&client.ask(BATCH, &batch("OTHER")).await).0, 0x2200);
    assert_eq!(cluster.node(0).connections()[0].requests().last(), Some((Stage::Query, "BATCH of 2")));
}

/// testkit: warnings and payload stand before the body, in their order; errors carry more where their code says so.
#[tokio::test]
async fn prefixes_and_tails() {
    let cluster = Cluster::builder().start().await.unwrap();
    let answer = Answer::void().with_warning("careful").with_payload("key", *b"value");
    cluster.prime("ANNOTATED", answer.delayed(Duration::from_millis(1)));
    cluster.prime("UNAVAILABLE", Answer::unavailable(6, 2, 1));
    cluster.prime("CHANGE", Answer::schema_change(["CREATED", "KEYSPACE", "ks"]));
    let mut client = Client::ready(cluster.node(0).addr()).await;
    let frame = client.query("ANNOTATED").await;
    assert_eq!(frame.flags, 0x0C);
    let mut body = Body(&frame.body);
    assert_eq!((body.short(), body.string()), (1, "careful".to_owned()));
    assert_eq!((body.short(), body.string()), (1, "key".to_owned()));
    assert_eq!(body.bytes(), Some(&b"value"[..]));
    assert_eq!(body.int(), 1);

    let frame = client.query("UNAVAILABLE").await;
    assert_eq!(error(&frame).0, 0x1000);
    assert!(frame.body.ends_with(&[0, 6, 0, 0, 0, 2, 0, 0, 0, 1]));
    let frame = client.query("CHANGE").await;
    let parts = ["CREATED", "KEYSPACE", "ks"].map(string).concat();
    assert_eq!(frame.body, [&[0, 0, 0, 5], &parts[..]].concat());

    client.version = 3;
    let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
    client.version = 3;
    client.startup(&[]).await;
    let frame = client.query("ANNOTATED").await;
    assert_eq!((frame.flags, frame.body), (0, vec![0, 0, 0, 1]), "v3 has neither");
}

/// testkit: every type that has a short text arrives with its id.
#[tokio::test]
async fn types() {
    let cluster = Cluster::builder().start().await.unwrap();
    cluster.prime(
        "TYPES",
        Rows::new("a ascii, b bigint, m map<text, frozen<list<int>>>, s set<uuid>, d duration").of("other", "table"),
    );
    cluster.prime("DEEP", Rows::new("t tuple<int, text>, v vector<float, 3>"));
    let mut client = Client::ready(cluster.node(0).addr()).await;
    let table = Table::read(&client.query("TYPES").await);
    let ids: Vec<_> = table.columns.iter().map(|(_, id)| *id).collect();
    assert_eq!(ids, [0x01, 0x02, 0x21, 0x22, 0x15]);

    let frame = client.query("DEEP").await;
    let mut body = Body(&frame.body);
    assert_eq!((body.int(), body.int(), body.int()), (2, 1, 2));
    assert_eq!([body.string(), body.string(), body.string()], ["ks", "t", "t"]);
    assert_eq!([body.short(), body.short(), body.short(), body.short()], [0x31, 2, 0x09, 0x0D]);
    assert_eq!((body.string(), body.short()), ("v".to_owned(), 0x00));
    let class = "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType, 3)";
    assert_eq!(body.string(), class);
}

/// cql 6: a conditional statement is marked for clients that asked for the mark, and for no one else.
#[tokio::test]
async fn conditional_mark() {
    let cluster = Cluster::builder().start().await.unwrap();
    cluster.prime(Prime::new("UPDATE IF").conditional(), Answer::void());
    cluster.prime("UPDATE", Answer::void());
    let mask = [("SCYLLA_LWT_ADD_METADATA_MARK", "LWT_OPTIMIZATION_META_BIT_MASK=2147483648")];
    for (options, text, marked) in [(&mask[..], "UPDATE IF", true), (&mask, "UPDATE", false), (&[], "UPDATE IF", false)]
    {
        let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
        client.startup(options).await;
        let frame = client.ask(PREPARE, &long_string(text)).await;
        let mut body = Body(&frame.body);
        body.int();
        let length = body.short();
        body.take(length);
        assert_eq!(body.int() < 0, marked, "{options:?} {text}");
    }
}
