//! Versions, passwords, compression, and the count of overlapping logins.

use std::time::Duration;

use messina::testkit::{Cluster, Fault, Log, Network, Stage};

use crate::client::{AUTH_RESPONSE, Client, OPTIONS, QUERY, REGISTER, SOON, STARTUP, Table, error, query, string};

fn token(user: &str, password: &str) -> Vec<u8> {
    let token = format!("\0{user}\0{password}");
    let mut body = (token.len() as u32).to_be_bytes().to_vec();
    body.extend(token.as_bytes());
    body
}

/// cql 8: an unknown version is refused on stream 0, in the server's own version, and the connection stays open.
#[tokio::test]
async fn an_unknown_version() {
    let cluster = Cluster::builder().versions([3, 4]).start().await.unwrap();
    let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
    for version in [5, 6, 7, 66, b'G'] {
        client.version = version;
        let frame = client.ask(OPTIONS, &[]).await;
        assert_eq!((frame.version, frame.stream), (0x84, 0));
        let (code, text) = error(&frame);
        assert_eq!(code, 0x000A);
        assert_eq!(
            text,
            format!("Invalid or unsupported protocol version ({version}); supported versions are (3/v3, 4/v4)")
        );
    }
    client.version = 3;
    assert_eq!(client.ask(OPTIONS, &[]).await.version, 0x83);
}

/// cql 8: version 2 is not answered at all, and the connection stays open.
#[tokio::test]
async fn version_two() {
    let cluster = Cluster::builder().start().await.unwrap();
    let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
    client.version = 2;
    client.send(1, OPTIONS, &[]).await;
    client.hears_nothing().await;
    client.version = 4;
    assert_eq!(client.ask(OPTIONS, &[]).await.opcode, 0x06);
}

/// cql 8: what may not come before STARTUP is refused on stream 0; a second STARTUP on its own.
#[tokio::test]
async fn out_of_turn() {
    let cluster = Cluster::builder().start().await.unwrap();
    let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
    let frame = client.ask(QUERY, &query("SELECT 1")).await;
    assert_eq!(frame.stream, 0);
    assert_eq!(error(&frame).1, "Unexpected message QUERY, expecting STARTUP or OPTIONS");
    assert_eq!(client.startup(&[]).await.opcode, 0x02);
    let frame = client.startup(&[]).await;
    assert_eq!((frame.stream, error(&frame).0), (7, 0x000A));
}

/// cql 8: an unknown compression is refused; unknown options are not.
#[tokio::test]
async fn odd_options() {
    let cluster = Cluster::builder().start().await.unwrap();
    let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
    let frame = client.startup(&[("COMPRESSION", "zzz")]).await;
    assert_eq!(error(&frame), (0x000A, "Unknown compression algorithm: zzz".to_owned()));
    assert_eq!(client.startup(&[("DRIVER_NAME", "by hand"), ("X", "")]).await.opcode, 0x02);
    let log = &cluster.node(0).connections()[0];
    assert_eq!(log.requests().last().unwrap().1, "CQL_VERSION=3.0.0, DRIVER_NAME=by hand, X=");
}

/// cql 8: the list of versions is told, or not; what OPTIONS asks in does not bind STARTUP.
#[tokio::test]
async fn supported_versions() {
    let old = Cluster::builder().without_version_list().start().await.unwrap();
    let mut client = Client::dial(old.node(0).addr()).await.unwrap();
    let supported = client.ask(OPTIONS, &[]).await.body;
    assert!(!String::from_utf8_lossy(&supported).contains("PROTOCOL_VERSIONS"));
    client.version = 3;
    assert_eq!(client.startup(&[]).await.version, 0x83);
    client.version = 4;
    let (code, text) = error(&client.query("SELECT 1").await);
    assert_eq!(code, 0x000A);
    assert!(text.contains("Got 4/v4 but previous messages on this connection had version 3/v3"), "{text}");
}

/// testkit: right and wrong passwords, counted.
#[tokio::test]
async fn passwords() {
    let cluster = Cluster::builder().user("ada", "secret").start().await.unwrap();
    for (password, opcode) in [("wrong", 0x00), ("secret", 0x10), ("", 0x00)] {
        let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
        let frame = client.startup(&[]).await;
        assert_eq!(frame.opcode, 0x03);
        assert_eq!(frame.body, string("org.apache.cassandra.auth.PasswordAuthenticator"));
        let frame = client.ask(AUTH_RESPONSE, &token("ada", password)).await;
        assert_eq!(frame.opcode, opcode);
        if opcode == 0 {
            let text = "Provided username ada and/or password are incorrect".to_owned();
            assert_eq!(error(&frame), (0x0100, text));
        }
    }
    let seen = cluster.log().now();
    assert_eq!((seen.logins(), seen.rejected_logins()), (1, 2));
    assert_eq!(cluster.node(0).connections()[0].requests().last(), Some((Stage::Auth, "ada")));
}

/// testkit: a token that is no token, and none at all, are wrong passwords.
#[tokio::test]
async fn odd_tokens() {
    let cluster = Cluster::builder().user("ada", "secret").start().await.unwrap();
    for body in [&[0xFF; 4][..], &[0, 0, 0, 0], &[0, 0, 0, 3, 0, 0xFF, 0], &[0, 0, 0, 5, 0, b'a', 0, b'b', 0]] {
        let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
        client.startup(&[]).await;
        assert_eq!(error(&client.ask(AUTH_RESPONSE, body).await).0, 0x0100);
    }
}

/// cql 1: bodies of v3 and v4 travel compressed once STARTUP agreed on it, in both directions.
#[tokio::test]
async fn compressed_bodies() {
    let cluster = Cluster::builder().name("metal").start().await.unwrap();
    let select = query("SELECT cluster_name FROM system.local");
    for version in [3, 4] {
        let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
        client.version = version;
        client.startup(&[("COMPRESSION", "lz4")]).await;
        let mut packed = (select.len() as u32).to_be_bytes().to_vec();
        packed.extend(lz4_flex::block::compress(&select));
        client.flags = 1;
        let mut frame = client.ask(QUERY, &packed).await;
        assert_eq!(frame.flags, 1);
        let length = u32::from_be_bytes(frame.body[..4].try_into().unwrap());
        frame.body = lz4_flex::block::decompress(&frame.body[4..], length as usize).unwrap();
        assert_eq!(Table::read(&frame).text(0, "cluster_name"), "metal");

        let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
        client.version = version;
        client.startup(&[("COMPRESSION", "snappy")]).await;
        client.flags = 1;
        let packed = snap::raw::Encoder::new().compress_vec(&select).unwrap();
        let mut frame = client.ask(QUERY, &packed).await;
        frame.body = snap::raw::Decoder::new().decompress_vec(&frame.body).unwrap();
        assert_eq!(Table::read(&frame).text(0, "cluster_name"), "metal");
    }
}

/// testkit: bytes that make no sense are errors, never a panic, and never an allocation of their size.
#[tokio::test]
async fn malformed_requests() {
    let cluster = Cluster::builder().start().await.unwrap();
    let mut client = Client::ready(cluster.node(0).addr()).await;
    for (opcode, body) in [
        (QUERY, &[0x7F, 0xFF, 0xFF, 0xFF][..]),
        (QUERY, &[0xFF, 0xFF, 0xFF, 0xFF]),
        (QUERY, &[0, 0, 0, 1, 0xFF, 0, 1, 0]),
        (QUERY, &[0, 0, 0, 1, b'x', 0, 1, 1, 0xFF, 0xFF]),
        (STARTUP, &[0xFF, 0xFF]),
        (REGISTER, &[0, 1]),
        (0x0A, &[0, 0]),
        (0x0D, &[0, 0xFF, 0xFF]),
        (0x77, &[]),
        (0x06, &[]),
    ] {
        let frame = client.ask(opcode, body).await;
        assert_eq!((error(&frame).0, frame.stream), (0x000A, 7), "{opcode}: {body:?}");
    }
    assert_eq!(client.ask(OPTIONS, &[]).await.opcode, 0x06, "the connection is as it was");
}

/// connect D33: logins that overlap are counted, across clusters with one log; those one after the other are not.
#[tokio::test(start_paused = true)]
async fn overlap_of_logins() {
    let network = Network::new();
    let log = Log::new();
    let start = |name: &str| Cluster::builder().name(name).network(&network).log(&log).start();
    let (one, two) = (start("one").await.unwrap(), start("two").await.unwrap());
    let name = query("SELECT cluster_name FROM system.local");
    let dial = async |cluster: &Cluster| Client::over(network.dial(cluster.node(0).addr()).await.unwrap());

    // OPTIONS side by side, then one login after the other.
    let (mut a, mut b) = (dial(&one).await, dial(&two).await);
    assert_eq!(a.ask(OPTIONS, &[]).await.opcode, 0x06);
    assert_eq!(b.ask(OPTIONS, &[]).await.opcode, 0x06);
    for client in [&mut a, &mut b] {
        client.startup(&[]).await;
        client.ask(QUERY, &name).await;
    }
    let seen = log.now();
    assert_eq!((seen.most_logins_at_once(), seen.most_open_at_once()), (1, 2));

    // One that gave up in the middle is over.
    let mut c = dial(&one).await;
    c.startup(&[]).await;
    drop(c);
    let mut d = dial(&two).await;
    d.startup(&[]).await;
    assert_eq!(log.now().most_logins_at_once(), 1);

    // One whose cluster name is not answered is not over; nor is one whose identity is not.
    one.node(0).fault(Stage::Cluster, Fault::Silence);
    one.node(0).fault(Stage::Identity, Fault::Silence);
    let mut e = dial(&one).await;
    e.startup(&[]).await;
    assert_eq!(log.now().most_logins_at_once(), 2);
    e.send(1, QUERY, &name).await;
    a.send(1, QUERY, &query("SELECT * FROM system.local")).await;
    log.wait_for(SOON, |seen| seen.most_logins_at_once() == 3).await.unwrap();
    let waited = log.wait_for(Duration::from_secs(1), |seen| seen.most_logins_at_once() == 4).await;
    let not_seen = waited.unwrap_err().to_string();
    assert!(not_seen.contains("not seen within 1s") && not_seen.contains("Cluster"), "{not_seen}");
}
