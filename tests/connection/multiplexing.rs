//! Many requests on one connection.

use futures_util::future::join_all;
use messina::connection::{Connection, Limits};
use messina::protocol::Opcode;
use tokio::task::JoinSet;

use crate::support::{Server, connect, connect_with, peer, query, text};

/// design 4.1: a request is answered on its own stream, whatever the order of answers.
#[tokio::test(start_paused = true)]
async fn answers_come_in_any_order() {
    let (connection, mut server) = connect();
    let replies = ["a", "b", "c"].map(|text| connection.try_send(&query(text)).unwrap());
    let mut requests = Vec::new();
    for _ in 0..3 {
        requests.push(server.next().await);
    }
    assert_eq!(requests.iter().map(text).collect::<Vec<_>>(), [b"a", b"b", b"c"]);
    for request in requests.iter().rev() {
        server.echo(request).await;
    }
    let answers = join_all(replies).await;
    let bodies = answers.into_iter().map(|answer| answer.unwrap().body);
    assert_eq!(bodies.collect::<Vec<_>>(), ["a", "b", "c"]);
}

/// design 4.1: streams are dense; an answered one is used again before a new one.
#[tokio::test(start_paused = true)]
async fn streams_are_dense() {
    let (connection, mut server) = connect();
    for _ in 0..3 {
        let replies = ["a", "b"].map(|text| connection.try_send(&query(text)).unwrap());
        let mut streams = Vec::new();
        for _ in 0..2 {
            let request = server.next().await;
            streams.push(request.header.stream);
            server.echo(&request).await;
        }
        streams.sort_unstable();
        assert_eq!(streams, [0, 1]);
        assert_eq!(connection.in_flight(), 2);
        join_all(replies).await;
        assert_eq!(connection.in_flight(), 0);
    }
}

/// design 4.1: 64 requests at a time from several tasks on several threads, each with its own answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_on_many_threads() {
    let (connection, server) = connect();
    let server = tokio::spawn(server.echo_all());
    let mut tasks = JoinSet::new();
    for task in 0..8 {
        let connection = connection.clone();
        tasks.spawn(async move {
            for round in 0..50 {
                let texts: Vec<_> = (0..8).map(|n| format!("{task} {round} {n}")).collect();
                let replies = texts.iter().map(|text| connection.try_send(&query(text)).unwrap());
                let answers = join_all(replies.collect::<Vec<_>>()).await;
                for (answer, text) in answers.into_iter().zip(texts) {
                    assert_eq!(answer.unwrap().body, text);
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(connection.in_flight(), 0);
    drop(connection);
    server.await.unwrap();
}

/// design 4.1: bodies of every size pass whole in both directions.
#[tokio::test(start_paused = true)]
async fn bodies_of_every_size() {
    let (connection, server) = connect_with(Limits::default().with_queued(4 << 20));
    tokio::spawn(server.echo_all());
    for length in [0, 1, 1000, 1024, 16 * 1024, 17 * 1024, 140_000, 1 << 20, 3 << 20] {
        let long = "x".repeat(length);
        let replies = ["before", &long, "after"].map(|text| sent(&connection, text));
        for (reply, text) in replies.into_iter().zip(["before", &long, "after"]) {
            assert!(reply.await.unwrap().body == text, "{length}");
        }
    }
}

fn sent(connection: &Connection, text: &str) -> messina::connection::Reply {
    connection.try_send(&query(text)).unwrap()
}

/// connect 94: `Display` of a connection is the address it is on.
#[tokio::test(start_paused = true)]
async fn shows_its_peer() {
    let (connection, _server) = connect();
    assert_eq!(connection.to_string(), peer().to_string());
}

/// design 4.1: events are none of a request's business, and no reply gets one.
#[tokio::test(start_paused = true)]
async fn events_without_an_owner_are_dropped() {
    let (connection, mut server) = connect_with(Limits::default());
    let reply = sent(&connection, "a");
    let request = server.next().await;
    event(&mut server).await;
    server.echo(&request).await;
    assert_eq!(reply.await.unwrap().body, "a");
}

async fn event(server: &mut Server) {
    let bytes = crate::support::response(4, -1, Opcode::Event, b"event");
    server.send(&bytes).await;
}
