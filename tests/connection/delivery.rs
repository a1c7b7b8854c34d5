//! The proof that a request was never sent: it decides whether a write may be tried elsewhere.

use messina::connection::{Connection, Delivery, Limits, Reply};
use messina::protocol::request::{Startup, write_envelope};
use messina::protocol::{Dialect, Opcode, ProtocolVersion, SegmentEncoder};

use crate::support::{SECOND, Server, open, query};

fn send(connection: &Connection, text: &str) -> Reply {
    connection.try_send(&query(text)).unwrap()
}

/// How long the request of `query(text)` is.
fn length(text: &str) -> usize {
    let mut bytes = Vec::new();
    write_envelope(&query(text), Dialect::new(ProtocolVersion::V4), 0, &mut bytes).unwrap();
    bytes.len()
}

/// Lets the driver write as much as the pipe takes, ends the connection, and tells of each request what is known.
async fn after_the_end(connection: Connection, server: Server, replies: Vec<Reply>) -> Vec<Delivery> {
    tokio::time::sleep(SECOND).await;
    let before: Vec<_> = replies.iter().map(Reply::delivery).collect();
    drop(server);
    connection.closed().await;
    let mut after = Vec::new();
    for reply in replies {
        after.push(reply.await.unwrap_err().delivery());
    }
    assert_eq!(before, after);
    after
}

/// design 4.1: a request of which the last byte was not written was not sent; with it, nobody knows.
#[tokio::test(start_paused = true)]
async fn up_to_its_last_byte() {
    use Delivery::{NotSent, Sent};
    let one = length("abc");
    for (room, expected) in [
        (1, [NotSent, NotSent]),
        (one - 1, [NotSent, NotSent]),
        (one, [Sent, NotSent]),
        (2 * one - 1, [Sent, NotSent]),
        (2 * one, [Sent, Sent]),
    ] {
        let (opening, server) = open(ProtocolVersion::V4, Limits::default(), room);
        let connection = opening.accept();
        let replies = vec![send(&connection, "abc"), send(&connection, "abc")];
        assert_eq!(after_the_end(connection, server, replies).await, expected, "{room}");
    }
}

/// design 4.1: so it is for large requests, which are queued beside the small ones.
#[tokio::test(start_paused = true)]
async fn up_to_the_last_byte_of_a_large_one() {
    use Delivery::{NotSent, Sent};
    let long = "x".repeat(20_000);
    let (small, large) = (length("abc"), length(&long));
    for (room, expected) in [
        (small + large - 1, [Sent, NotSent, NotSent]),
        (small + large, [Sent, Sent, NotSent]),
        (2 * small + large, [Sent, Sent, Sent]),
    ] {
        let (opening, server) = open(ProtocolVersion::V4, Limits::default(), room);
        let connection = opening.accept();
        let replies = ["abc", &long, "abc"].map(|text| send(&connection, text));
        let known = after_the_end(connection, server, replies.into()).await;
        assert_eq!(known, expected, "{room}");
    }
}

/// cql 2: in v5 a request is sent with the last byte of the segment that ends it, its checksum.
#[tokio::test(start_paused = true)]
async fn up_to_the_last_byte_of_a_segment() {
    use Delivery::{NotSent, Sent};
    let v5 = ProtocolVersion::V5;
    let long = "x".repeat(300_000);
    for text in ["abc", &long] {
        let mut bytes = Vec::new();
        write_envelope(&query(text), Dialect::new(v5), 0, &mut bytes).unwrap();
        let mut wire = Vec::new();
        SegmentEncoder::new(false).encode(&bytes, &mut wire).unwrap();
        for (room, expected) in [(wire.len() - 1, NotSent), (wire.len(), Sent)] {
            let (connection, server) = connect_v5(room).await;
            let replies = vec![send(&connection, text)];
            assert_eq!(after_the_end(connection, server, replies).await, [expected]);
        }
    }
}

/// cql 2: what is in a segment that is out was sent, whatever else waits in the same batch.
#[tokio::test(start_paused = true)]
async fn segment_by_segment() {
    let text = "x".repeat(15_000);
    let (connection, server) = connect_v5(140_000).await;
    let replies = (0..16).map(|_| send(&connection, &text)).collect();
    let known = after_the_end(connection, server, replies).await;
    // Eight of them fill the first segment.
    assert_eq!(known[..8], [Delivery::Sent; 8]);
    assert_eq!(known[8..], [Delivery::NotSent; 8]);
}

/// A v5 connection after STARTUP whose pipe has room for so many bytes.
async fn connect_v5(room: usize) -> (Connection, Server) {
    let v5 = ProtocolVersion::V5;
    let (mut opening, mut server) = open(v5, Limits::default(), room);
    opening.negotiate(v5, None);
    let startup = Startup::new();
    let (ready, ()) = tokio::join!(opening.request(&startup, SECOND), async {
        let request = server.next().await;
        server.answer(&request, Opcode::Ready, b"").await;
    });
    ready.unwrap();
    (opening.accept(), server)
}

/// design 4.1: a request that was only queued was not sent.
#[tokio::test(start_paused = true)]
async fn queued_only() {
    let (opening, _server) = open(ProtocolVersion::V4, Limits::default(), 1000);
    let (connection, driver) = opening.into_parts();
    let reply = send(&connection, "abc");
    drop(driver);
    assert_eq!(reply.await.unwrap_err().delivery(), Delivery::NotSent);
}
