//! How a connection is closed by its owner.

use std::time::Duration;

use messina::connection::{Connection, Limits, Reason, Reply, TrySendError};
use messina::protocol::{Opcode, ProtocolVersion};
use tokio::time::Instant;

use crate::support::{PIPE, SECOND, connect, connect_with, open, query};

fn send(connection: &Connection, text: &str) -> Reply {
    connection.try_send(&query(text)).unwrap()
}

/// design 4.1: a graceful close takes no new requests, waits for those in flight, and then closes the socket.
#[tokio::test(start_paused = true)]
async fn those_in_flight_finish() {
    let (connection, mut server) = connect();
    let reply = send(&connection, "a");
    let close = connection.close(10 * SECOND);
    assert!(matches!(connection.try_send(&query("b")), Err(TrySendError::Closed(_))));
    let far = async {
        let request = server.next().await;
        tokio::time::sleep(SECOND).await;
        server.echo(&request).await;
        assert!(server.try_next().await.is_none());
    };
    let begin = Instant::now();
    let (closed, answer, ()) = tokio::join!(close, reply, far);
    assert_eq!(begin.elapsed(), SECOND);
    assert_eq!(closed.cut, 0);
    assert!(matches!(closed.error.reason(), Reason::Closed));
    assert_eq!(answer.unwrap().body, "a");
}

/// design 4.1: what is not answered within the limit is cut and counted.
#[tokio::test(start_paused = true)]
async fn the_rest_is_cut_and_counted() {
    let (connection, mut server) = connect();
    let replies = [send(&connection, "a"), send(&connection, "b")];
    let begin = Instant::now();
    let closed = connection.close(3 * SECOND).await;
    assert_eq!(begin.elapsed(), 3 * SECOND);
    assert_eq!(closed.cut, 2);
    for reply in replies {
        let error = reply.await.unwrap_err();
        assert!(matches!(error.connection().unwrap().reason(), Reason::Closed));
    }
    server.next().await;
    server.next().await;
    assert!(server.try_next().await.is_none());
}

/// design 4.1: the limit holds also when nobody waits for the close, and when the peer does not read.
#[tokio::test(start_paused = true)]
async fn the_limit_holds_by_itself() {
    for pipe in [PIPE, 10] {
        let (opening, _server) = open(ProtocolVersion::V4, Limits::default(), pipe);
        let connection = opening.accept();
        let reply = send(&connection, "a");
        tokio::task::yield_now().await;
        let begin = Instant::now();
        drop(connection.close(3 * SECOND));
        reply.await.unwrap_err();
        assert_eq!(begin.elapsed(), 3 * SECOND, "{pipe}");
    }
}

/// design 4.1: a close of a connection that nobody drives has its limit too.
#[tokio::test(start_paused = true)]
async fn without_a_driver() {
    let (mut opening, _server) = open(ProtocolVersion::V4, Limits::default(), PIPE);
    let reply = send(opening.handle(), "a");
    let closed = opening.handle().close(SECOND).await;
    assert_eq!(closed.cut, 1);
    let error = opening.run(std::future::pending::<()>()).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Closed), "{error}");
    reply.await.unwrap_err();
}

/// design 4.1: an earlier limit wins, a later one changes nothing.
#[tokio::test(start_paused = true)]
async fn two_limits() {
    let (connection, _server) = connect();
    let _reply = send(&connection, "a");
    let begin = Instant::now();
    let (first, second) = (connection.close(2 * SECOND), connection.close(9 * SECOND));
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.cut, second.cut), (1, 1));
    assert_eq!(begin.elapsed(), 2 * SECOND);

    let (connection, _server) = connect();
    let _reply = send(&connection, "a");
    let begin = Instant::now();
    drop(connection.close(2 * SECOND));
    connection.close(9 * SECOND).await;
    assert_eq!(begin.elapsed(), 2 * SECOND, "also when nobody waits for the first");
}

/// design 4.1: a close ends with the last answer, also one that takes the driver several reads.
#[tokio::test(start_paused = true)]
async fn a_long_last_answer() {
    let (connection, mut server) = connect();
    let reply = send(&connection, "a");
    let close = connection.close(10 * SECOND);
    let far = async {
        let request = server.next().await;
        let long = vec![0; 50_000];
        server.answer(&request, Opcode::Result, &long).await;
    };
    let begin = Instant::now();
    let (closed, answer, ()) = tokio::join!(close, reply, far);
    answer.unwrap();
    assert_eq!((closed.cut, begin.elapsed()), (0, Duration::ZERO));
}

/// design 4.1: whoever waits for room is told of a close at once, before the connection ends.
#[tokio::test(start_paused = true)]
async fn who_waits_for_room_is_told_at_once() {
    let (connection, _server) = connect_with(Limits::default().with_requests(1, 0).unwrap());
    let _reply = send(&connection, "a");
    let mut waiting = connection.clone();
    let begin = Instant::now();
    let room = std::future::poll_fn(|cx| waiting.poll_room(cx));
    let (error, _closed) = tokio::join!(
        async {
            let error = room.await.unwrap_err();
            assert_eq!(begin.elapsed(), Duration::ZERO);
            error
        },
        async { connection.close(3 * SECOND).await }
    );
    assert!(matches!(error.reason(), Reason::Closed), "{error}");
}

/// design 4.1: without handles the connection ends as soon as nobody waits for an answer.
#[tokio::test(start_paused = true)]
async fn the_last_handle() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let (connection, mut server) = connect();
    let (reply, given_up) = (send(&connection, "a"), send(&connection, "b"));
    let clone = connection.clone();
    drop(connection);
    assert!(clone.error().is_none());
    drop(clone);
    let request = server.next().await;
    server.next().await;
    server.echo(&request).await;
    assert_eq!(reply.await.unwrap().body, "a");
    drop(given_up);
    assert!(server.try_next().await.is_none());
    tokio::task::yield_now().await;
    assert_eq!(metrics.num_alive_tasks(), 0);
}

/// connect 45: an idle connection whose last handle is dropped closes its socket.
#[tokio::test(start_paused = true)]
async fn an_idle_one() {
    let (connection, mut server) = connect();
    tokio::task::yield_now().await;
    drop(connection);
    assert!(server.try_next().await.is_none());
}
