//! Compressed bodies of v3 and v4: never STARTUP and OPTIONS, everything else where it helps.

use messina::connection::{Connection, Delivery, Limits, Reply, ReplyError};
use messina::protocol::envelope::{Header, flags};
use messina::protocol::request::{Options, Startup};
use messina::protocol::{Compression, DEFAULT_MAX_BODY, Envelope, Opcode, ProtocolVersion};

use crate::support::{PIPE, SECOND, Server, open, query, text};

const ALL: [Compression; 2] = [Compression::Lz4, Compression::Snappy];

/// A connection after STARTUP that agreed on a compression, and its server.
async fn connect(version: ProtocolVersion, compression: Compression) -> (Connection, Server) {
    let (mut opening, mut server) = open(version, Limits::default(), PIPE);
    opening.negotiate(version, Some(compression));
    let far = async {
        for answer in [Opcode::Supported, Opcode::Ready] {
            let request = server.next().await;
            assert!(!request.header.has(flags::COMPRESSED), "{answer}");
            server.answer(&request, answer, b"\0\0").await;
        }
    };
    let near = async {
        opening.request(&Options, SECOND).await.unwrap();
        // Long enough that compressing it would help.
        let startup = Startup::new().with("DRIVER_NAME", "x".repeat(1000));
        opening.request(&startup, SECOND).await.unwrap();
    };
    tokio::join!(far, near);
    (opening.accept(), server)
}

fn send(connection: &Connection, text: &str) -> Reply {
    connection.try_send(&query(text)).unwrap()
}

/// Answers with a compressed body.
async fn answer(server: &mut Server, request: &Envelope, compression: Compression, body: &[u8]) {
    let mut packed = Vec::new();
    compression.compress(body, &mut packed);
    raw(server, request, &packed).await;
}

/// Answers with a body that claims to be compressed.
async fn raw(server: &mut Server, request: &Envelope, body: &[u8]) {
    let mut bytes = Vec::new();
    let header = Header {
        response: true,
        flags: flags::COMPRESSED,
        opcode: Opcode::Result.as_u8(),
        length: body.len() as u32,
        ..request.header
    };
    header.write(&mut bytes);
    bytes.extend_from_slice(body);
    server.write(&bytes).await;
}

/// cql 1: after STARTUP bodies are compressed in both directions, small and large.
#[tokio::test(start_paused = true)]
async fn both_ways() {
    for version in [ProtocolVersion::V3, ProtocolVersion::V4] {
        for compression in ALL {
            let (connection, mut server) = connect(version, compression).await;
            for length in [1000, 100_000, 1 << 20] {
                let long = "long ".repeat(length / 5);
                let reply = send(&connection, &long);
                let mut request = server.next().await;
                assert!(request.header.has(flags::COMPRESSED));
                request.body = compression.decompress(&request.body, DEFAULT_MAX_BODY).unwrap();
                assert!(text(&request) == long.as_bytes());
                answer(&mut server, &request, compression, long.as_bytes()).await;
                let answer = reply.await.unwrap();
                assert!(answer.body == long);
                assert_eq!(answer.header.length as usize, long.len());
                assert!(!answer.header.has(flags::COMPRESSED));
            }
        }
    }
}

/// cql 1: a body that would not shrink travels as it is, and so may an answer.
#[tokio::test(start_paused = true)]
async fn not_where_it_does_not_help() {
    for compression in ALL {
        let (connection, mut server) = connect(ProtocolVersion::V4, compression).await;
        let reply = send(&connection, "a");
        let request = server.next().await;
        assert!(!request.header.has(flags::COMPRESSED));
        server.echo(&request).await;
        assert_eq!(reply.await.unwrap().body, "a");
    }
}

/// cql 1: an answer that does not unpack fails its request alone; one that announces too much is not believed.
#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_unpack() {
    let (connection, mut server) = connect(ProtocolVersion::V4, Compression::Lz4).await;
    for body in [&b"\x7f\xff\xff\xff...."[..], b"\0\0\0\x10garbage", b""] {
        let replies = [send(&connection, "a"), send(&connection, "b")];
        let first = server.next().await;
        let second = server.next().await;
        raw(&mut server, &first, body).await;
        server.echo(&second).await;
        let [first, second] = replies;
        let error = first.await.unwrap_err();
        assert!(matches!(error, ReplyError::Body(_)), "{error}");
        assert_eq!(error.delivery(), Delivery::Sent);
        assert_eq!(second.await.unwrap().body, "b");
    }
}

/// cql 1: a compressed answer without an agreement fails its request.
#[tokio::test(start_paused = true)]
async fn without_an_agreement() {
    let (connection, mut server) = crate::support::connect();
    let reply = send(&connection, "a");
    let request = server.next().await;
    raw(&mut server, &request, b"\0\0\0\0").await;
    assert!(matches!(reply.await, Err(ReplyError::Body(_))));
}
