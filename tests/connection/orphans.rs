//! Requests that are given up while their answers are due.

use messina::connection::{Connection, Limits, Reason, Reply, TrySendError};
use messina::protocol::{Envelope, Opcode};

use crate::support::{SECOND, Server, connect, connect_with, query, text};

fn send(connection: &Connection, text: &str) -> Reply {
    connection.try_send(&query(text)).unwrap()
}

async fn received(server: &mut Server, count: usize) -> Vec<Envelope> {
    let mut requests = Vec::new();
    for _ in 0..count {
        requests.push(server.next().await);
    }
    requests
}

/// design 4.1: a dropped reply holds its stream until the answer came; then the stream is used again.
#[tokio::test(start_paused = true)]
async fn a_stream_is_not_reused_while_an_orphan_holds_it() {
    let (connection, mut server) = connect();
    drop(send(&connection, "given up"));
    let given_up = server.next().await;
    assert_eq!(text(&given_up), b"given up", "it is sent nevertheless");
    assert_eq!((connection.in_flight(), connection.orphans()), (1, 1));

    let reply = send(&connection, "a");
    let request = server.next().await;
    assert_ne!(request.header.stream, given_up.header.stream);
    server.echo(&given_up).await;
    server.echo(&request).await;
    assert_eq!(reply.await.unwrap().body, "a", "the late answer goes nowhere");
    assert_eq!((connection.in_flight(), connection.orphans()), (0, 0));

    let replies = [send(&connection, "b"), send(&connection, "c")];
    let requests = received(&mut server, 2).await;
    let streams = requests.iter().map(|request| request.header.stream);
    assert!(streams.into_iter().any(|stream| stream == given_up.header.stream));
    drop(replies);
}

/// design 4.1: a reply that is dropped after its answer came leaves no orphan.
#[tokio::test(start_paused = true)]
async fn an_answered_reply_leaves_no_orphan() {
    let (connection, mut server) = connect();
    let (unread, read) = (send(&connection, "a"), send(&connection, "b"));
    for request in received(&mut server, 2).await {
        server.echo(&request).await;
    }
    read.await.unwrap();
    drop(unread);
    assert_eq!((connection.in_flight(), connection.orphans()), (0, 0));
}

/// design 4.1: an orphan takes room until it is answered.
#[tokio::test(start_paused = true)]
async fn an_orphan_takes_room() {
    let (connection, mut server) = connect_with(Limits::default().with_requests(2, 1).unwrap());
    drop(send(&connection, "a"));
    let _second = send(&connection, "b");
    let full = connection.try_send(&query("c"));
    assert!(matches!(full, Err(TrySendError::Full)));
    let requests = received(&mut server, 2).await;
    server.echo(&requests[0]).await;
    let mut waiting = connection.clone();
    std::future::poll_fn(|cx| waiting.poll_room(cx)).await.unwrap();
}

/// design 4.1: whoever waits for room is woken by the answer to an orphan, also a long one.
#[tokio::test(start_paused = true)]
async fn the_answer_to_an_orphan_gives_room() {
    let (connection, mut server) = connect_with(Limits::default().with_requests(2, 1).unwrap());
    drop(send(&connection, "a"));
    let _second = send(&connection, "b");
    let requests = received(&mut server, 2).await;
    let mut waiting = connection.clone();
    let room = std::future::poll_fn(|cx| waiting.poll_room(cx));
    let long = vec![0; 50_000];
    let answer = server.answer(&requests[0], Opcode::Result, &long);
    let begin = tokio::time::Instant::now();
    let (room, ()) = tokio::time::timeout(SECOND, async { tokio::join!(room, answer) }).await.unwrap();
    assert_eq!(begin.elapsed(), std::time::Duration::ZERO, "woken, not polled by chance");
    room.unwrap();
}

/// design 4.1: too many orphans retire the connection: no new requests, those in flight finish, then it closes.
#[tokio::test(start_paused = true)]
async fn too_many_orphans_retire_the_connection() {
    let (connection, mut server) = connect_with(Limits::default().with_requests(10, 2).unwrap());
    let in_flight = send(&connection, "in flight");
    for _ in 0..2 {
        drop(send(&connection, "given up"));
    }
    assert!(connection.error().is_none(), "at the limit it lives");
    drop(send(&connection, "given up"));
    let Err(TrySendError::Closed(error)) = connection.try_send(&query("a")) else {
        panic!("retired");
    };
    assert!(matches!(error.reason(), Reason::TooManyOrphans { orphans: 3 }), "{error}");

    let requests = received(&mut server, 4).await;
    server.echo(&requests[0]).await;
    assert_eq!(in_flight.await.unwrap().body, "in flight");
    assert!(server.try_next().await.is_none(), "the socket is closed");
    let error = connection.closed().await;
    assert!(matches!(error.reason(), Reason::TooManyOrphans { orphans: 3 }), "{error}");
}

/// design 4.1: by default 256 orphans are borne.
#[tokio::test(start_paused = true)]
async fn the_default_limit() {
    let (connection, server) = connect();
    for _ in 0..256 {
        drop(send(&connection, "a"));
    }
    assert!(connection.error().is_none());
    drop(send(&connection, "a"));
    assert!(connection.error().is_some());
    drop(server);
}
