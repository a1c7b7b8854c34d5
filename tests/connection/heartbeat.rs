//! Heartbeats: a peer that is gone without a word is noticed.

use std::time::Duration;

use messina::connection::{Limits, Reason};
use messina::protocol::Opcode;
use tokio::time::Instant;

use crate::support::{SECOND, connect, connect_with, query};

/// report 28: an unanswered heartbeat ends the connection, its requests, and its socket.
#[tokio::test(start_paused = true)]
async fn unanswered() {
    let (connection, mut server) = connect();
    let reply = connection.try_send(&query("a")).unwrap();
    let begin = Instant::now();
    let far = async {
        assert_eq!(server.next().await.header.opcode(), Some(Opcode::Query));
        assert_eq!(server.next().await.header.opcode(), Some(Opcode::Options));
        assert_eq!(begin.elapsed(), 30 * SECOND);
        assert!(server.try_next().await.is_none(), "the socket is closed");
    };
    let (error, reply, ()) = tokio::join!(connection.heartbeat(30 * SECOND, 5 * SECOND), reply, far);
    assert_eq!(begin.elapsed(), 35 * SECOND);
    assert!(matches!(error.reason(), Reason::Heartbeat(limit) if *limit == 5 * SECOND), "{error}");
    assert!(reply.is_err());
}

/// report 28: any answer within the interval, and the answer to a heartbeat, put the next one off.
#[tokio::test(start_paused = true)]
async fn answered() {
    let (connection, mut server) = connect();
    let begin = Instant::now();
    let far = async {
        for _ in 0..3 {
            let heartbeat = server.next().await;
            assert_eq!(heartbeat.header.opcode(), Some(Opcode::Options));
            server.answer(&heartbeat, Opcode::Supported, &[0, 0]).await;
        }
        assert_eq!(begin.elapsed(), 90 * SECOND);
    };
    tokio::select! {
        error = connection.heartbeat(30 * SECOND, 5 * SECOND) => panic!("{error}"),
        () = far => {}
    }
    assert!(connection.error().is_none());
}

/// design 6: limits longer than a clock counts are as good as none, and panic nowhere.
#[tokio::test(start_paused = true)]
async fn endless_limits() {
    let (connection, _server) = connect();
    let endless = connection.heartbeat(Duration::MAX, Duration::MAX);
    assert!(tokio::time::timeout(1000 * SECOND, endless).await.is_err());
    let closed = connection.close(Duration::MAX).await;
    assert!(matches!(closed.error.reason(), Reason::Closed));
}

/// report 28: with every slot taken no heartbeat can be sent: the silence ends the connection all the same, and a close
/// that comes first is told as such.
#[tokio::test(start_paused = true)]
async fn no_room_for_a_heartbeat() {
    for closed in [false, true] {
        let (connection, _server) = connect_with(Limits::default().with_requests(1, 0).unwrap());
        let _waiting = connection.try_send(&query("a")).unwrap();
        let begin = Instant::now();
        let close = async {
            if closed {
                // One second after the heartbeat was due and found no room.
                tokio::time::sleep_until(begin + 31 * SECOND).await;
                connection.close(Duration::ZERO).await;
            }
        };
        let (error, ()) = tokio::join!(connection.heartbeat(30 * SECOND, 5 * SECOND), close);
        match closed {
            true => assert!(matches!(error.reason(), Reason::Closed), "{error}"),
            false => assert!(matches!(error.reason(), Reason::Heartbeat(_)), "{error}"),
        }
        assert!(begin.elapsed() <= 35 * SECOND);
    }
}
