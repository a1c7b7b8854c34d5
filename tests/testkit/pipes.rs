//! The network of pipes, under a paused clock.

use std::io::ErrorKind;
use std::time::Duration;

use messina::testkit::{Cluster, Fault, Network, Stage};
use messina_layers::{Address, Candidate};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout};
use tower::ServiceExt;

use crate::client::{Client, OPTIONS, SOON};

/// testkit: a node is dialled by its address, through the connector, and dials are counted.
#[tokio::test(start_paused = true)]
async fn the_connector_dials() {
    let network = Network::new();
    let cluster = Cluster::builder().nodes(2).network(&network).start().await.unwrap();
    let addr = cluster.node(1).addr();
    let candidate = Candidate::new(Address::Socket(addr), addr);
    let transport = network.connector().oneshot(candidate).await.unwrap();
    assert_eq!(transport.peer, addr);
    assert_eq!(transport.target, Address::Socket(addr));
    let mut client = Client::over(transport.io);
    assert_eq!(client.startup(&[]).await.opcode, 0x02);
    assert_eq!((network.dials(addr), network.dials(cluster.node(0).addr())), (1, 0));
    assert_eq!(cluster.node(1).connections()[0].client(), client.stream.local_addr());
    assert_eq!(network.dialled(), [addr]);
}

/// testkit: bare addresses of every kind, and one that nobody has.
#[tokio::test(start_paused = true)]
async fn bare_addresses() {
    let network = Network::new();
    let refused = network.dial(network.refused()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);

    let hour = Duration::from_secs(3600);
    assert!(timeout(hour, network.dial(network.black_hole())).await.is_err());

    let mut mute = Client::over(network.dial(network.mute()).await.unwrap());
    mute.send(1, OPTIONS, &[]).await;
    assert!(timeout(hour, mute.receive()).await.is_err());
    assert_eq!(network.log().now().open(), 1);
    drop(mute);
    network.log().wait_for(SOON, |seen| seen.open() == 0).await.unwrap();

    let mut closes = Client::over(network.dial(network.closes()).await.unwrap());
    assert_eq!(closes.end().await, ErrorKind::UnexpectedEof);

    let mut garbage = Client::over(network.dial(network.garbage()).await.unwrap());
    garbage.send(1, OPTIONS, &[]).await;
    let mut bytes = Vec::new();
    garbage.stream.read_to_end(&mut bytes).await.unwrap();
    assert!(bytes.starts_with(b"HTTP"));

    let nobody = network.dial(([192, 0, 2, 1], 9042).into()).await.unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::HostUnreachable);
    assert!(nobody.to_string().contains("nothing in this network has 192.0.2.1:9042"), "{nobody}");
}

/// testkit: the TCP stage over pipes: refused so many times, delayed, silent.
#[tokio::test(start_paused = true)]
async fn tcp_faults() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let node = cluster.node(0);
    node.fault(Stage::Tcp, Fault::Refuse.times(2));
    for _ in 0..2 {
        let refused = network.dial(node.addr()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
    drop(network.dial(node.addr()).await.unwrap());

    node.fault(Stage::Tcp, Fault::Delay(Duration::from_secs(4)));
    let start = Instant::now();
    drop(network.dial(node.addr()).await.unwrap());
    assert_eq!(start.elapsed(), Duration::from_secs(4));

    node.fault(Stage::Tcp, Fault::Silence);
    assert!(timeout(SOON, network.dial(node.addr())).await.is_err());

    node.fault(Stage::Tcp, Fault::Reset);
    let mut client = Client::over(network.dial(node.addr()).await.unwrap());
    assert_eq!(client.end().await, ErrorKind::ConnectionReset);
}

/// testkit: over pipes a killed node resets and refuses; a dropped one refuses for good.
#[tokio::test(start_paused = true)]
async fn life() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let node = cluster.node(0).clone();
    let mut client = Client::over(network.dial(node.addr()).await.unwrap());
    assert_eq!(client.startup(&[]).await.opcode, 0x02);
    node.kill().await;
    assert_eq!(client.end().await, ErrorKind::ConnectionReset);
    let refused = network.dial(node.addr()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    node.start();
    let mut client = Client::over(network.dial(node.addr()).await.unwrap());
    assert_eq!(client.startup(&[]).await.opcode, 0x02);
    drop(cluster);
    assert_eq!(client.end().await, ErrorKind::UnexpectedEof);
    assert_eq!(network.dial(node.addr()).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}
