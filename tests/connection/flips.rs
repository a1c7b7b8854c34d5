//! A valid stream of answers with one bit changed, or cut anywhere: a reason or an answer, never a panic, never a hang.

use messina::connection::{Delivery, Limits, Reason, Reply};
use messina::protocol::request::Startup;
use messina::protocol::{Opcode, ProtocolVersion, SegmentEncoder};

use crate::support::{PIPE, SECOND, open, query, response};

/// What two waiting requests get when the server sends `bytes` and closes.
async fn ended(version: ProtocolVersion, bytes: &[u8]) {
    let (mut opening, mut server) = open(version, Limits::default(), PIPE);
    if version.has_segments() {
        opening.negotiate(version, None);
        let startup = Startup::new();
        let (ready, ()) = tokio::join!(opening.request(&startup, SECOND), async {
            let request = server.next().await;
            server.answer(&request, Opcode::Ready, b"").await;
        });
        ready.unwrap();
        server.start_segments(false);
    }
    let connection = opening.accept();
    let replies: [Reply; 2] = [(); 2].map(|()| connection.try_send(&query("a")).unwrap());
    server.next().await;
    server.next().await;
    server.write(bytes).await;
    drop(server);
    for reply in replies {
        let answer = tokio::time::timeout(SECOND, reply).await.expect("no hang");
        if let Err(error) = answer {
            assert_eq!(error.delivery(), Delivery::Sent);
            let ended = error.connection();
            let panicked = ended.is_some_and(|error| matches!(error.reason(), Reason::DriverDropped));
            assert!(!panicked, "{error}");
        }
    }
    connection.closed().await;
}

fn answers(version: ProtocolVersion) -> Vec<u8> {
    let mut answers = Vec::new();
    for stream in [1, 0] {
        answers.extend(response(version.as_u8(), stream, Opcode::Result, b"body"));
    }
    if !version.has_segments() {
        return answers;
    }
    let mut segment = Vec::new();
    SegmentEncoder::new(false).encode(&answers, &mut segment).unwrap();
    segment
}

/// cql 1: each bit of a stream of answers, changed.
/// cql 2: the same in a segment.
#[tokio::test(start_paused = true)]
async fn each_bit_changed() {
    for version in [ProtocolVersion::V4, ProtocolVersion::V5] {
        let whole = answers(version);
        for bit in 0..8 * whole.len() {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            ended(version, &bytes).await;
        }
    }
}

/// cql 1: a stream of answers, cut anywhere.
/// cql 2: the same in a segment.
#[tokio::test(start_paused = true)]
async fn cut_anywhere() {
    for version in [ProtocolVersion::V4, ProtocolVersion::V5] {
        let whole = answers(version);
        for length in 0..=whole.len() {
            ended(version, &whole[..length]).await;
        }
    }
}
