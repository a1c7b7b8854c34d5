//! The time before a connection is accepted.

use messina::connection::{Limits, OpeningError, Reason, ReplyError};
use messina::protocol::request::{Options, Startup};
use messina::protocol::{Opcode, ProtocolVersion};

use crate::support::{PIPE, SECOND, open, query, response};

const V4: ProtocolVersion = ProtocolVersion::V4;

/// design 3.6: an opening is driven by whoever waits on it, and by a task once it is accepted.
#[tokio::test(start_paused = true)]
async fn is_driven_by_its_requests() {
    let (mut opening, mut server) = open(V4, Limits::default(), PIPE);
    let far = tokio::spawn(async move {
        let options = server.next().await;
        assert_eq!(options.header.opcode(), Some(Opcode::Options));
        server.answer(&options, Opcode::Supported, b"\0\0").await;
        let startup = server.next().await;
        server.answer(&startup, Opcode::Ready, b"").await;
        server.echo_all().await;
    });
    let supported = opening.request(&Options, SECOND).await.unwrap();
    assert_eq!(supported.header.opcode(), Some(Opcode::Supported));
    opening.negotiate(V4, None);
    let ready = opening.request(&Startup::new(), SECOND).await.unwrap();
    assert_eq!(ready.header.opcode(), Some(Opcode::Ready));

    let handle = opening.handle().clone();
    let answer = opening.run(async { handle.try_send(&query("a")).unwrap().await });
    assert_eq!(answer.await.unwrap().unwrap().body, "a");

    let connection = opening.accept();
    assert_eq!(connection.dialect().version, V4);
    let reply = connection.try_send(&query("b")).unwrap();
    assert_eq!(reply.await.unwrap().body, "b");
    drop((connection, handle));
    far.await.unwrap();
}

/// connect 45: dropping an opening, idle or in the middle of a step, closes its socket at once and leaves no task.
#[tokio::test(start_paused = true)]
async fn dropping_it_closes_the_socket() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let (opening, mut server) = open(V4, Limits::default(), PIPE);
    assert_eq!(metrics.num_alive_tasks(), 0);
    let handle = opening.handle().clone();
    drop(opening);
    assert!(server.try_next().await.is_none());
    let error = handle.error().unwrap();
    assert!(matches!(error.reason(), Reason::DriverDropped), "{error}");

    let (mut opening, mut server) = open(V4, Limits::default(), PIPE);
    {
        let step = opening.request(&Options, SECOND);
        tokio::select! {
            biased;
            _ = step => unreachable!("nobody answers"),
            _ = server.next() => {}
        }
    }
    drop(opening);
    assert!(server.try_next().await.is_none());
    assert_eq!(metrics.num_alive_tasks(), 0);
}

/// connect 52: each step has its own limit.
#[tokio::test(start_paused = true)]
async fn a_mute_server_costs_the_limit_of_the_step() {
    let (mut opening, _server) = open(V4, Limits::default(), PIPE);
    let begin = tokio::time::Instant::now();
    let error = opening.request(&Options, SECOND).await.unwrap_err();
    assert!(matches!(error, OpeningError::TimedOut(SECOND)), "{error}");
    assert_eq!(begin.elapsed(), SECOND);
}

/// connect 52: a server that closes early ends the step with that reason.
#[tokio::test(start_paused = true)]
async fn an_early_close_ends_the_step() {
    let (mut opening, server) = open(V4, Limits::default(), PIPE);
    drop(server);
    let error = opening.request(&Options, SECOND).await.unwrap_err();
    let OpeningError::Request(ReplyError::Connection { error, .. }) = error else {
        panic!("{error}");
    };
    assert!(matches!(error.reason(), Reason::ClosedByPeer { .. } | Reason::Io(_)), "{error}");
}

/// cql 8: before acceptance an ERROR on any stream, also in a header of another version, answers the step that waits.
#[tokio::test(start_paused = true)]
async fn an_error_on_any_stream_ends_the_step() {
    for (version, stream) in [(4, 0), (5, 0), (5, 77), (4, -1), (66, 3)] {
        let (mut opening, mut server) = open(V4, Limits::default(), PIPE);
        let error = response(version, stream, Opcode::Error, b"\0\0\0\x0a\0\0");
        server.send(&error).await;
        let answer = opening.request(&Options, SECOND).await.unwrap();
        assert_eq!(answer.header.opcode(), Some(Opcode::Error));
        assert_eq!(answer.header.version, version);
    }
}

/// cql 8: after acceptance such an ERROR is damage.
#[tokio::test(start_paused = true)]
async fn after_acceptance_it_ends_the_connection() {
    for (version, stream) in [(5, 0), (4, 77)] {
        let (opening, mut server) = open(V4, Limits::default(), PIPE);
        let connection = opening.accept();
        let reply = connection.try_send(&query("a")).unwrap();
        let error = response(version, stream, Opcode::Error, b"\0\0\0\x0a\0\0");
        server.send(&error).await;
        let error = reply.await.unwrap_err();
        let reason = error.connection().unwrap().reason();
        match stream {
            0 => assert!(matches!(reason, Reason::Version { expected: 4, found: 5 })),
            _ => assert!(matches!(reason, Reason::Unasked { stream: 77 })),
        }
    }
}
