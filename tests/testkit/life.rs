//! Nodes that die, come back, freeze, and end.

use std::io::ErrorKind;

use messina::testkit::{Cluster, Ended, rows};
use tokio::net::TcpStream;

use crate::client::{Client, OPTIONS, SOON};

/// testkit: a killed node resets its connections and refuses; started again, it has its port.
#[tokio::test]
async fn kill_and_start() {
    let cluster = Cluster::builder().nodes(2).start().await.unwrap();
    let node = cluster.node(0);
    for round in 0..3 {
        let mut client = Client::ready(node.addr()).await;
        let mut other = Client::ready(cluster.node(1).addr()).await;
        node.kill().await;
        assert_eq!(node.connections().iter().filter(|one| one.is_open()).count(), 0);
        assert_eq!(node.connections()[round].closed(), Some(Ended::Reset));
        assert_eq!(client.end().await, ErrorKind::ConnectionReset);
        let dial = TcpStream::connect(node.addr()).await;
        assert_eq!(dial.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert_eq!(other.ask(OPTIONS, &[]).await.opcode, 0x06, "the other node lives");
        node.start();
    }
    Client::ready(node.addr()).await;
}

/// testkit: a node that is started while it is being killed has none of its old connections.
#[tokio::test]
async fn start_during_kill() {
    let cluster = Cluster::builder().start().await.unwrap();
    let node = cluster.node(0);
    let mut client = Client::ready(node.addr()).await;
    assert!(tokio_test::task::spawn(node.kill()).poll().is_pending());
    node.start();
    assert_eq!(client.end().await, ErrorKind::ConnectionReset);
    Client::ready(node.addr()).await;
}

/// testkit: a frozen node answers nobody, old or new; when it thaws, both are answered.
#[tokio::test]
async fn freeze() {
    let cluster = Cluster::builder().start().await.unwrap();
    let node = cluster.node(0);
    let mut old = Client::ready(node.addr()).await;
    node.freeze();
    let mut new = Client::dial(node.addr()).await.unwrap();
    old.send(1, OPTIONS, &[]).await;
    new.send(2, OPTIONS, &[]).await;
    tokio::join!(old.hears_nothing(), new.hears_nothing());
    node.start();
    assert_eq!(old.receive().await.unwrap().stream, 1);
    assert_eq!(new.receive().await.unwrap().stream, 2);

    node.freeze();
    node.kill().await;
    assert_eq!(old.end().await, ErrorKind::ConnectionReset);
}

/// testkit: with the cluster everything ends: sockets, ports, tasks.
#[tokio::test]
async fn drop_ends_everything() {
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let cluster = Cluster::builder().nodes(3).start().await.unwrap();
    cluster.prime("SELECT 1", rows!["one int"; (1,)]);
    let addrs = cluster.addrs();
    let mut clients = Vec::new();
    for addr in &addrs {
        clients.push(Client::ready(*addr).await);
    }
    let log = cluster.log().clone();
    assert_eq!(log.now().open(), 3);
    drop(cluster);
    log.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
    for client in &mut clients {
        let end = client.end().await;
        assert!(matches!(end, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset), "{end}");
    }
    for addr in addrs {
        let dial = TcpStream::connect(addr).await;
        assert_eq!(dial.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
    tokio::task::yield_now().await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before);
}
