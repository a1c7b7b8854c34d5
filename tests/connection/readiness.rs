//! Room on a connection: who gets it, who waits, and that nothing is queued without bound.

use messina::connection::{Connection, Delivery, InvalidLimit, Limits, Reason, Reply, ReplyError, TrySendError};
use messina::protocol::ProtocolVersion;
use messina::protocol::request::Query;
use tokio_test::task::{Spawn, spawn};
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok};
use tower::{Service, ServiceExt};

use crate::support::{SECOND, Server, connect, connect_with, open, query};

/// A connection with room for so many requests.
fn room_for(requests: usize) -> (Connection, Server) {
    connect_with(Limits::default().with_requests(requests, 0).unwrap())
}

/// A handle in a task of its own, to be polled by hand.
fn handle(connection: &Connection) -> Spawn<Connection> {
    spawn(connection.clone())
}

trait PollReady {
    fn poll_ready(&mut self) -> std::task::Poll<Result<(), ReplyError>>;
}

impl PollReady for Spawn<Connection> {
    fn poll_ready(&mut self) -> std::task::Poll<Result<(), ReplyError>> {
        self.enter(|cx, mut handle| Service::<Query<'_>>::poll_ready(&mut *handle, cx))
    }
}

fn send(connection: &Connection, text: &str) -> Reply {
    connection.try_send(&query(text)).unwrap()
}

/// design 4.1: the whole way through tower: ready, call, answer.
#[tokio::test(start_paused = true)]
async fn is_a_tower_service() {
    let (connection, server) = connect();
    tokio::spawn(server.echo_all());
    let answer = connection.oneshot(query("a")).await.unwrap();
    assert_eq!(answer.body, "a");
}

/// design 4.1: a ready handle holds room for one request; a clone of it starts without.
#[tokio::test(start_paused = true)]
async fn a_clone_starts_without_a_permit() {
    let (connection, _server) = room_for(1);
    let mut ready = handle(&connection);
    assert_ready_ok!(ready.poll_ready());
    assert_ready_ok!(ready.poll_ready(), "asked again it takes no second permit");
    let mut clone = spawn((*ready).clone());
    assert_pending!(clone.poll_ready());
    let full = connection.try_send(&query("a"));
    assert!(matches!(full, Err(TrySendError::Full)), "the permit counts");
    drop(ready);
    assert!(clone.is_woken());
    assert_ready_ok!(clone.poll_ready());
}

/// design 4.1: a permit is used up by one call.
#[tokio::test(start_paused = true)]
async fn a_permit_is_used_up_by_a_call() {
    let (connection, mut server) = room_for(1);
    let mut ready = handle(&connection);
    assert_ready_ok!(ready.poll_ready());
    let reply = ready.call(query("a"));
    assert_pending!(ready.poll_ready());
    let request = server.next().await;
    server.echo(&request).await;
    reply.await.unwrap();
    assert!(ready.is_woken());
    assert_ready_ok!(ready.poll_ready());
}

/// design 4.1: a call without a permit is not sent when there is no room.
#[tokio::test(start_paused = true)]
async fn a_call_without_a_permit() {
    let (mut connection, _server) = room_for(1);
    let _first = connection.call(query("a"));
    let error = connection.call(query("b")).await.unwrap_err();
    assert!(matches!(error, ReplyError::Full), "{error}");
    assert_eq!(error.delivery(), Delivery::NotSent);
}

/// design 4.1: room goes to who waited first, and nobody slips in between.
#[tokio::test(start_paused = true)]
async fn first_come_first_served() {
    let (connection, mut server) = room_for(2);
    let replies = [send(&connection, "a"), send(&connection, "b")];
    let mut handles = [0; 3].map(|_| handle(&connection));
    for waiting in &mut handles {
        assert_pending!(waiting.poll_ready());
    }
    for _ in 0..2 {
        let request = server.next().await;
        server.echo(&request).await;
    }
    let [first, second] = replies;
    first.await.unwrap();
    assert_eq!(handles.each_ref().map(|handle| handle.is_woken()), [true, false, false]);
    assert!(matches!(connection.try_send(&query("c")), Err(TrySendError::Full)));
    assert_pending!(handles[1].poll_ready(), "the first goes first");
    assert_ready_ok!(handles[0].poll_ready());

    second.await.unwrap();
    assert_eq!(handles.each_ref().map(|handle| handle.is_woken()), [false, true, false]);
    assert_ready_ok!(handles[1].poll_ready());
}

/// design 4.1: each freed stream wakes one more of the line, whether the ones before have come for theirs or not.
#[tokio::test(start_paused = true)]
async fn each_freed_stream_wakes_one_more() {
    let (connection, mut server) = room_for(2);
    let [first, second] = [send(&connection, "a"), send(&connection, "b")];
    let mut handles = [0; 3].map(|_| handle(&connection));
    for waiting in &mut handles {
        assert_pending!(waiting.poll_ready());
    }
    for _ in 0..2 {
        let request = server.next().await;
        server.echo(&request).await;
    }
    first.await.unwrap();
    // An answer that nobody takes frees its stream as well.
    drop(second);
    assert_eq!(handles.each_ref().map(|handle| handle.is_woken()), [true, true, false]);
    assert_ready_ok!(handles[1].poll_ready(), "there is room for both");
    assert_ready_ok!(handles[0].poll_ready());
}

/// design 4.1: a handle that stops waiting passes its place on.
#[tokio::test(start_paused = true)]
async fn who_leaves_the_line_holds_nobody_up() {
    let (connection, mut server) = room_for(1);
    let reply = send(&connection, "a");
    let (mut first, mut second) = (handle(&connection), handle(&connection));
    assert_pending!(first.poll_ready());
    assert_pending!(second.poll_ready());
    let request = server.next().await;
    server.echo(&request).await;
    reply.await.unwrap();
    assert!(first.is_woken() && !second.is_woken());
    drop(first);
    assert!(second.is_woken());
    assert_ready_ok!(second.poll_ready());
}

/// design 4.1: whoever waits for room is told when the connection ends.
#[tokio::test(start_paused = true)]
async fn who_waits_is_told_of_the_end() {
    let (connection, server) = room_for(1);
    let _reply = send(&connection, "a");
    let mut waiting = handle(&connection);
    assert_pending!(waiting.poll_ready());
    drop(server);
    connection.closed().await;
    assert!(waiting.is_woken());
    let error = assert_ready_err!(waiting.poll_ready());
    let reason = error.connection().unwrap().reason();
    assert!(matches!(reason, Reason::ClosedByPeer { .. }), "{reason}");
}

/// design 4.1: a peer that does not read bounds what is queued: not ready above 1 MiB, ready again once it reads.
#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read() {
    const MIB: u64 = 1 << 20;
    let (opening, server) = open(ProtocolVersion::V4, Limits::default(), 1000);
    let connection = opening.accept();
    let text = "x".repeat(10_000);
    let mut replies = Vec::new();
    while let Ok(reply) = connection.try_send(&query(&text)) {
        replies.push(reply);
        // The driver takes what it can.
        tokio::task::yield_now().await;
    }
    let queued = connection.queued_bytes();
    assert!((MIB..MIB + 11_000).contains(&queued), "{queued}");
    assert!(replies.len() < 200, "it is the bytes that are full");
    let mut waiting = handle(&connection);
    assert_pending!(waiting.poll_ready());

    tokio::spawn(server.echo_all());
    for reply in replies {
        reply.await.unwrap();
    }
    assert!(waiting.is_woken());
    assert_ready_ok!(waiting.poll_ready());
    assert_eq!(connection.queued_bytes(), 0);
}

/// design 4.1: when nothing can be written for 10 s the connection ends with that reason.
#[tokio::test(start_paused = true)]
async fn the_write_timeout() {
    let (opening, _server) = open(ProtocolVersion::V4, Limits::default(), 10);
    let connection = opening.accept();
    let begin = tokio::time::Instant::now();
    let error = send(&connection, "a").await.unwrap_err();
    assert_eq!(begin.elapsed(), 10 * SECOND);
    assert_eq!(error.delivery(), Delivery::NotSent);
    let reason = error.connection().unwrap().reason();
    assert!(matches!(reason, Reason::WriteTimeout(limit) if *limit == 10 * SECOND), "{reason}");
}

/// design 4.1: a peer that reads slowly but reads is borne.
#[tokio::test(start_paused = true)]
async fn a_slow_peer_is_not_cut() {
    let (opening, mut server) = open(ProtocolVersion::V4, Limits::default(), 10);
    let connection = opening.accept();
    let reply = send(&connection, &"x".repeat(50));
    let slow = async {
        let mut request = Vec::new();
        while request.len() < 66 {
            tokio::time::sleep(9 * SECOND).await;
            let mut bytes = [0; 10];
            let n = tokio::io::AsyncReadExt::read(&mut server.io, &mut bytes).await.unwrap();
            request.extend_from_slice(&bytes[..n]);
        }
        let answer = crate::support::response(4, 0, messina::protocol::Opcode::Result, b"late");
        server.write(&answer).await;
    };
    let (answer, ()) = tokio::join!(reply, slow);
    assert_eq!(answer.unwrap().body, "late");
}

/// design 4.1: bounds that make no sense cannot be built.
#[test]
fn invalid_limits() {
    let limits = Limits::default;
    assert_eq!((limits().max_requests(), limits().max_orphans()), (1024, 256));
    assert!(limits().with_requests(32_768, 256).is_ok());
    for (requests, orphans, error) in [
        (0, 0, InvalidLimit::Requests(0)),
        (32_769, 256, InvalidLimit::Requests(32_769)),
        (256, 256, InvalidLimit::Orphans { orphans: 256, requests: 256 }),
    ] {
        assert_eq!(limits().with_requests(requests, orphans), Err(error));
    }
    assert!(limits().with_body(u32::MAX).is_err());
    assert!(limits().with_write_timeout(std::time::Duration::ZERO).is_err());
}
