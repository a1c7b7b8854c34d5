//! Protocol v5: bare until STARTUP is answered, in segments from then on.

use messina::connection::{Compression, Connection, Delivery, Limits, Reason, Reply};
use messina::protocol::request::{AuthResponse, Options, Startup};
use messina::protocol::{FrameError, Opcode, ProtocolVersion};

use crate::support::{PIPE, SECOND, Server, open, query, text};

const V5: ProtocolVersion = ProtocolVersion::V5;

/// A v5 connection after STARTUP, and its server.
async fn connect(compression: Option<Compression>, limits: Limits) -> (Connection, Server) {
    let (mut opening, mut server) = open(V5, limits, PIPE);
    opening.negotiate(V5, compression);
    let startup = Startup::new();
    let (ready, request) = tokio::join!(opening.request(&startup, SECOND), async {
        let request = server.next().await;
        server.answer(&request, Opcode::Ready, b"").await;
        request
    });
    assert_eq!(ready.unwrap().header.opcode(), Some(Opcode::Ready));
    assert_eq!(request.header.opcode(), Some(Opcode::Startup));
    server.start_segments(compression.is_some());
    (opening.accept(), server)
}

fn send(connection: &Connection, text: &str) -> Reply {
    connection.try_send(&query(text)).unwrap()
}

/// cql 2: OPTIONS, STARTUP and their answers travel bare; what follows READY is in segments.
#[tokio::test(start_paused = true)]
async fn segments_begin_after_ready() {
    for compression in [None, Some(Compression::Lz4)] {
        let (connection, server) = connect(compression, Limits::default()).await;
        tokio::spawn(server.echo_all());
        assert_eq!(send(&connection, "a").await.unwrap().body, "a");
        assert_eq!(connection.compression(), compression);
    }
}

/// cql 2: AUTH_RESPONSE and everything after AUTHENTICATE is in segments, also when OPTIONS went out as v4.
#[tokio::test(start_paused = true)]
async fn segments_begin_after_authenticate() {
    let (mut opening, mut server) = open(ProtocolVersion::V4, Limits::default(), PIPE);
    let far = async {
        let options = server.next().await;
        assert_eq!(options.header.version, 4);
        server.answer(&options, Opcode::Supported, b"\0\0").await;
        let startup = server.next().await;
        assert_eq!(startup.header.version, 5);
        server.answer(&startup, Opcode::Authenticate, b"\0\x01a").await;
        server.start_segments(false);
        let proof = server.next().await;
        assert_eq!(proof.header.opcode(), Some(Opcode::AuthResponse));
        server.answer(&proof, Opcode::AuthSuccess, b"\xff\xff\xff\xff").await;
    };
    let near = async {
        opening.request(&Options, SECOND).await.unwrap();
        opening.negotiate(V5, None);
        let answer = opening.request(&Startup::new(), SECOND).await.unwrap();
        assert_eq!(answer.header.opcode(), Some(Opcode::Authenticate));
        let proof = AuthResponse { token: Some(b"x") };
        let answer = opening.request(&proof, SECOND).await.unwrap();
        assert_eq!(answer.header.opcode(), Some(Opcode::AuthSuccess));
    };
    tokio::join!(far, near);
}

/// cql 2: an ERROR to STARTUP does not switch; the answer after it is still bare.
#[tokio::test(start_paused = true)]
async fn a_refused_startup_stays_bare() {
    let (mut opening, mut server) = open(V5, Limits::default(), PIPE);
    opening.negotiate(V5, None);
    for opcode in [Opcode::Error, Opcode::Supported] {
        let startup = Startup::new();
        let (answer, ()) = tokio::join!(opening.request(&startup, SECOND), async {
            let request = server.next().await;
            server.answer(&request, opcode, b"\0\0\0\0\0\0").await;
        });
        assert_eq!(answer.unwrap().header.opcode(), Some(opcode));
    }
}

/// cql 2: small envelopes share a segment, larger ones are spread over several, in both directions.
#[tokio::test(start_paused = true)]
async fn bodies_of_every_size() {
    for compression in [None, Some(Compression::Lz4)] {
        let limits = Limits::default().with_queued(8 << 20);
        let (connection, server) = connect(compression, limits).await;
        tokio::spawn(server.echo_all());
        for length in [0, 1000, 17_000, 131_050, 131_071, 131_072, 300_000, 1 << 20] {
            let long: String = ('a'..='z').cycle().take(length).collect();
            let texts = ["before", &long, "between", &long, "after"];
            let replies = texts.map(|text| send(&connection, text));
            for (reply, text) in replies.into_iter().zip(texts) {
                assert!(reply.await.unwrap().body == text, "{length}");
            }
        }
    }
}

/// cql 2: more small requests than one segment holds are cut between envelopes.
#[tokio::test(start_paused = true)]
async fn a_long_run_of_small_requests() {
    let (connection, server) = connect(None, Limits::default()).await;
    tokio::spawn(server.echo_all());
    let texts: Vec<_> = (0..60).map(|n| n.to_string().repeat(5000)).collect();
    let replies: Vec<_> = texts.iter().map(|text| send(&connection, text)).collect();
    for (reply, text) in replies.into_iter().zip(&texts) {
        assert!(reply.await.unwrap().body == text);
    }
}

/// cql 2: a damaged segment is fatal: every waiting request fails with that reason, and answers before it are kept.
#[tokio::test(start_paused = true)]
async fn damage_fails_all_that_wait() {
    let (connection, mut server) = connect(None, Limits::default()).await;
    let replies = ["a", "b", "c"].map(|text| send(&connection, text));
    let mut requests = Vec::new();
    for _ in 0..3 {
        requests.push(server.next().await);
    }
    let whole = segment(&requests[0]);
    let mut bytes = whole.clone();
    let mut damaged = segment(&requests[1]);
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    bytes.extend_from_slice(&damaged);
    server.write(&bytes).await;

    let [first, second, third] = replies;
    assert_eq!(first.await.unwrap().body, "a");
    let mut reasons = Vec::new();
    for reply in [second, third] {
        let error = reply.await.unwrap_err();
        assert_eq!(error.delivery(), Delivery::Sent);
        let ended = error.connection().unwrap().clone();
        assert!(matches!(ended.reason(), Reason::Damaged(FrameError::PayloadChecksum { .. })), "{ended}");
        reasons.push(ended);
    }
    // One reason, shared.
    assert!(std::ptr::eq(reasons[0].reason(), reasons[1].reason()));
    assert!(server.try_next().await.is_none(), "the socket is closed");
    assert!(std::ptr::eq(connection.closed().await.reason(), reasons[0].reason()));
}

/// The answer to a request in a segment of its own.
fn segment(request: &messina::protocol::Envelope) -> Vec<u8> {
    let answer = crate::support::response(5, request.header.stream, Opcode::Result, text(request));
    let mut bytes = Vec::new();
    let mut encoder = messina::protocol::SegmentEncoder::new(false);
    encoder.encode(&answer, &mut bytes).unwrap();
    bytes
}

/// cql 1: the compression flag of an envelope has no meaning in v5.
#[tokio::test(start_paused = true)]
async fn the_compression_flag_has_no_meaning() {
    let (connection, mut server) = connect(Some(Compression::Lz4), Limits::default()).await;
    let reply = send(&connection, "a");
    let request = server.next().await;
    assert_eq!(request.header.flags, 0);
    let mut answer = crate::support::response(5, request.header.stream, Opcode::Result, b"plain");
    answer[1] |= messina::protocol::envelope::flags::COMPRESSED;
    server.send(&answer).await;
    assert_eq!(reply.await.unwrap().body, "plain");
}

/// cql 2: an end in the middle of a segment, or between the segments of one answer, is told apart.
#[tokio::test(start_paused = true)]
async fn half_an_answer() {
    let long = "x".repeat(200_000);
    let first_segment = 6 + 131_071 + 4;
    for (text, half) in [("abc", 1), ("abc", 20), (&long, first_segment), (&long, first_segment + 9)] {
        let (connection, mut server) = connect(None, Limits::default()).await;
        let reply = send(&connection, text);
        let request = server.next().await;
        let bytes = segment(&request);
        server.write(&bytes[..half]).await;
        drop(server);
        let error = reply.await.unwrap_err();
        let reason = error.connection().unwrap().reason();
        assert!(matches!(reason, Reason::ClosedByPeer { unfinished: true }), "{reason}");
    }
}

/// cql 1: a request from the server is no answer, also in a segment.
#[tokio::test(start_paused = true)]
async fn a_request_is_no_answer() {
    let (connection, mut server) = connect(None, Limits::default()).await;
    let reply = send(&connection, "a");
    let request = server.next().await;
    let mut answer = crate::support::response(5, request.header.stream, Opcode::Result, b"");
    answer[0] = 5;
    server.send(&answer).await;
    let error = reply.await.unwrap_err();
    let reason = error.connection().unwrap().reason();
    assert!(matches!(reason, Reason::Damaged(FrameError::NotAResponse { first_byte: 5 })), "{reason}");
}
