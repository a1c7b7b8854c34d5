//! What a peer can do wrong: each time a typed reason, for everyone who waits.

use messina::connection::{Connection, ConnectionError, Delivery, Limits, Reason, Reply};
use messina::protocol::{FrameError, Opcode};

use crate::support::{Server, connect, connect_with, query, response};

fn send(connection: &Connection) -> Reply {
    connection.try_send(&query("a")).unwrap()
}

/// What a request that was received gets when the server then sends `bytes` and closes.
async fn ended_by(limits: Limits, bytes: &[u8]) -> ConnectionError {
    let (connection, mut server) = connect_with(limits);
    let replies = [send(&connection), send(&connection)];
    server.next().await;
    server.next().await;
    server.write(bytes).await;
    drop(server);
    let mut last = None;
    for reply in replies {
        let error = reply.await.unwrap_err();
        assert_eq!(error.delivery(), Delivery::Sent);
        last = error.connection().cloned();
    }
    last.unwrap()
}

/// design 4.1: the end of the stream fails every request that waits.
#[tokio::test(start_paused = true)]
async fn end_of_stream() {
    let error = ended_by(Limits::default(), b"").await;
    assert!(matches!(error.reason(), Reason::ClosedByPeer { unfinished: false }), "{error}");
}

/// design 4.1: an end in the middle of an answer is told apart.
#[tokio::test(start_paused = true)]
async fn half_an_answer() {
    let whole = response(4, 0, Opcode::Result, b"body");
    for half in [1, 8, 9, whole.len() - 1] {
        let error = ended_by(Limits::default(), &whole[..half]).await;
        assert!(matches!(error.reason(), Reason::ClosedByPeer { unfinished: true }), "{error}");
    }
}

/// design 4.1: an answer on a stream nobody asked on ends the connection.
#[tokio::test(start_paused = true)]
async fn an_answer_nobody_asked_for() {
    for stream in [2, 32_767, -2, i16::MIN] {
        let answer = response(4, stream, Opcode::Result, b"");
        let error = ended_by(Limits::default(), &answer).await;
        let Reason::Unasked { stream: found } = error.reason() else {
            panic!("{error}");
        };
        assert_eq!(*found, stream);
    }
}

/// design 4.1: a second answer to one request is one that nobody asked for, also before the first was taken.
#[tokio::test(start_paused = true)]
async fn two_answers_to_one_request() {
    let (connection, mut server) = connect();
    let reply = send(&connection);
    let request = server.next().await;
    let mut answers = response(4, request.header.stream, Opcode::Result, b"1");
    answers.extend(response(4, request.header.stream, Opcode::Result, b"2"));
    server.write(&answers).await;
    let error = connection.closed().await;
    assert!(matches!(error.reason(), Reason::Unasked { stream: 0 }), "{error}");
    assert_eq!(reply.await.unwrap().body, "1");
}

/// cql 1: an answer longer than the limit is refused by its header, before a byte of its body.
#[tokio::test(start_paused = true)]
async fn an_answer_over_the_limit() {
    let limits = Limits::default().with_body(100).unwrap();
    let long = response(4, 0, Opcode::Result, &[0; 101]);
    let error = ended_by(limits, &long[..9]).await;
    assert!(matches!(error.reason(), Reason::Damaged(FrameError::TooLong { length: 101, limit: 100 })), "{error}");
}

/// cql 1: what is not an answer at all is refused at its first byte.
#[tokio::test(start_paused = true)]
async fn not_the_protocol() {
    let error = ended_by(Limits::default(), b"H").await;
    assert!(matches!(error.reason(), Reason::Damaged(FrameError::NotAResponse { first_byte: b'H' })), "{error}");
}

/// cql 1: an answer of another version is not read by the rules of this one.
#[tokio::test(start_paused = true)]
async fn an_answer_of_another_version() {
    let error = ended_by(Limits::default(), &response(3, 0, Opcode::Result, b"")).await;
    assert!(matches!(error.reason(), Reason::Version { expected: 4, found: 3 }), "{error}");
}

/// design 4.1: a closed handle tells why, and so does everything that is tried on it.
#[tokio::test(start_paused = true)]
async fn a_closed_handle_tells_why() {
    let (mut connection, server) = connect();
    assert!(connection.error().is_none());
    drop(server);
    let error = connection.closed().await;
    assert_eq!(error.to_string(), "connection to 192.0.2.1:9042 ended: the peer closed it");
    let same = |other: &ConnectionError| std::ptr::eq(other.reason(), error.reason());
    assert!(same(&connection.error().unwrap()));
    let refused = connection.try_send(&query("a")).unwrap_err();
    assert!(matches!(&refused, messina::connection::TrySendError::Closed(error) if same(error)));
    let ready = std::future::poll_fn(|cx| connection.poll_room(cx)).await;
    assert!(same(&ready.unwrap_err()));
    let reply = tower::Service::call(&mut connection, query("a")).await.unwrap_err();
    assert_eq!(reply.delivery(), Delivery::NotSent);
    assert!(same(reply.connection().unwrap()));
}

/// design 4.1: a dropped driver fails what waits; nothing waits for ever.
#[tokio::test(start_paused = true)]
async fn a_dropped_driver() {
    let (opening, mut server): (_, Server) =
        crate::support::open(messina::protocol::ProtocolVersion::V4, Limits::default(), crate::support::PIPE);
    let (connection, driver) = opening.into_parts();
    let reply = send(&connection);
    drop(driver);
    let error = reply.await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::NotSent);
    assert!(matches!(error.connection().unwrap().reason(), Reason::DriverDropped));
    assert!(server.try_next().await.is_none());
}
