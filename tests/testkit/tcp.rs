//! Dials that fail: bare addresses, and nodes with faults at the TCP stage.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use messina::testkit::{BareAddress, Cluster, Ended, Fault, Log, Stage, Wrong, fresh_loopback_ip};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::client::{Client, OPTIONS, QUIET, SOON};

async fn refused(addr: SocketAddr) {
    let dial = tokio::time::timeout(SOON, TcpStream::connect(addr)).await.unwrap();
    assert_eq!(dial.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

async fn never_ends(addr: SocketAddr) {
    let dial = tokio::time::timeout(QUIET, TcpStream::connect(addr)).await;
    assert!(dial.is_err(), "{dial:?}");
}

/// testkit: an address that refuses, as often as it is dialled.
#[tokio::test]
async fn bare_refused() {
    let bare = BareAddress::refused().unwrap();
    for _ in 0..3 {
        refused(bare.addr()).await;
    }
    assert_eq!(bare.accepted(), 0);
}

/// testkit: an address where a dial never ends, the first as little as the tenth.
#[tokio::test]
async fn bare_black_hole() {
    let bare = BareAddress::black_hole().unwrap();
    let mut dials = tokio::task::JoinSet::new();
    (0..10).for_each(|_| drop(dials.spawn(never_ends(bare.addr()))));
    dials.join_all().await;
}

/// testkit: an address that accepts and never answers, until the client goes.
#[tokio::test]
async fn bare_mute() {
    let bare = BareAddress::mute().unwrap();
    let mut client = Client::dial(bare.addr()).await.unwrap();
    client.send(1, OPTIONS, &[]).await;
    client.hears_nothing().await;
    drop(client);
    bare.log().wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
    let log = &bare.log().connections()[0];
    assert_eq!(log.received_bytes(), [4, 0, 0, 1, 5, 0, 0, 0, 0]);
    assert_eq!((bare.accepted(), log.closed()), (1, Some(Ended::ByClient)));
}

/// testkit: an address that accepts and closes.
#[tokio::test]
async fn bare_closes() {
    let bare = BareAddress::closes().unwrap();
    let mut client = Client::dial(bare.addr()).await.unwrap();
    assert_eq!(client.end().await, ErrorKind::UnexpectedEof);
}

/// testkit: an address that speaks something else.
#[tokio::test]
async fn bare_garbage() {
    let bare = BareAddress::garbage().unwrap();
    let mut stream = TcpStream::connect(bare.addr()).await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 400"), "{text}");
}

/// testkit: servers behind one name: addresses of their own, one port.
#[tokio::test]
async fn one_port_for_all() {
    let cluster = Cluster::builder().nodes(3).own_addresses().start().await.unwrap();
    let port = cluster.node(0).addr().port();
    let dead = BareAddress::refused().unwrap().on_port(port).unwrap();
    let log = Log::new();
    let mute = BareAddress::mute().unwrap().on_port(port).unwrap().with_log(&log).unwrap();
    let foreign = Cluster::builder().name("foreign").port(port).start().await.unwrap();
    let mut all = cluster.addrs();
    all.extend([dead.addr(), mute.addr(), foreign.node(0).addr()]);
    assert!(all.iter().all(|addr| addr.port() == port && addr.ip().is_loopback()), "{all:?}");
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6);
    for node in cluster.nodes() {
        Client::ready(node.addr()).await;
    }
    refused(dead.addr()).await;
    drop(Client::dial(mute.addr()).await.unwrap());
    log.wait_for(SOON, |seen| seen.opened() == 1).await.unwrap();
}

/// testkit: a bare address at a place of the test's own, let go with it.
#[tokio::test]
async fn bare_on() {
    let bare = BareAddress::mute().unwrap();
    let addr = SocketAddr::from((fresh_loopback_ip(), bare.addr().port()));
    let other = BareAddress::mute().unwrap().on(addr).unwrap();
    assert_eq!(other.addr(), addr);
    drop(other);
    refused(addr).await;
}

/// testkit: refuse and silence at the TCP stage of a node, put on and taken off.
#[tokio::test]
async fn a_node_that_cannot_be_dialled() {
    let cluster = Cluster::builder().start().await.unwrap();
    let node = cluster.node(0);
    node.fault(Stage::Tcp, Fault::Refuse);
    refused(node.addr()).await;
    node.fault(Stage::Tcp, Fault::Silence);
    never_ends(node.addr()).await;
    node.clear_faults();
    Client::ready(node.addr()).await;
}

/// testkit: what befalls a connection right after it was accepted.
#[tokio::test]
async fn a_node_that_accepts_and() {
    let cluster = Cluster::builder().start().await.unwrap();
    let node = cluster.node(0);
    let dial = || Client::dial(node.addr());

    node.fault(Stage::Tcp, Fault::Close);
    assert_eq!(dial().await.unwrap().end().await, ErrorKind::UnexpectedEof);

    for fault in [Fault::Reset.times(2), Fault::Refuse.times(2)] {
        node.fault(Stage::Tcp, fault);
        // The reset may come before or after the dial is reported done.
        for _ in 0..2 {
            let end = match dial().await {
                Ok(mut client) => client.end().await,
                Err(error) => error.kind(),
            };
            assert_eq!(end, ErrorKind::ConnectionReset);
        }
    }
    Client::ready(node.addr()).await;

    node.fault(Stage::Tcp, Fault::Silence.times(1));
    let mut client = dial().await.unwrap();
    client.send(1, OPTIONS, &[]).await;
    client.hears_nothing().await;

    node.fault(Stage::Tcp, Fault::Wrong(Wrong::Garbage));
    let mut bytes = Vec::new();
    dial().await.unwrap().stream.read_to_end(&mut bytes).await.unwrap();
    assert!(bytes.starts_with(b"HTTP"));

    node.fault(Stage::Tcp, Fault::Delay(Duration::from_millis(30)));
    let start = Instant::now();
    Client::ready(node.addr()).await;
    assert!(start.elapsed() >= Duration::from_millis(30));
}

/// testkit: over sockets too, a connection closed before the next dial does not overlap with it.
#[tokio::test]
async fn no_false_overlap() {
    let cluster = Cluster::builder().nodes(2).start().await.unwrap();
    for round in 0..50 {
        let mut client = Client::dial(cluster.node(round % 2).addr()).await.unwrap();
        assert_eq!(client.startup(&[]).await.opcode, 0x02);
    }
    let seen = cluster.log().now();
    assert_eq!((seen.most_open_at_once(), seen.most_logins_at_once()), (1, 1));
}
