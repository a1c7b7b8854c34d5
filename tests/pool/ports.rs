//! Shard-aware ports over loopback: the local port of a real socket chooses the shard.

use std::{net::Ipv4Addr, time::Duration};

use messina::{
    Session,
    session::{NodeState, SessionBuilder},
    testkit::{Cluster, Scylla},
};
use tokio::net::{TcpListener, TcpStream};

use crate::support::shards;

const LIMIT: Duration = Duration::from_secs(10);

async fn sharded() -> Cluster {
    Cluster::builder().scylla(Scylla::new(4).shard_aware()).start().await.unwrap()
}

fn builder(cluster: &Cluster) -> SessionBuilder {
    Session::builder().contact_addr(cluster.node(0).addr())
}

/// Waits until every shard has a connection.
async fn full(cluster: &Cluster, session: &Session) -> NodeState {
    let full = async {
        while shards(&session.nodes()[0]) != [1; 4] {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(LIMIT, full).await;
    assert!(in_time.is_ok(), "{:?} with {} connects", session.nodes(), cluster.log().now().opened());
    session.nodes().remove(0)
}

/// cql 6: sockets are bound to ports that choose the shard, within the range.
#[tokio::test]
async fn sockets_choose_their_shard() {
    let cluster = sharded().await;
    let session = builder(&cluster).build().await.unwrap();
    let node = full(&cluster, &session).await;
    assert_eq!(node.shard_port_blocked_for, None);
    // All but the control connection and the pool's first came to the second port.
    let chosen = cluster.node(0).connections().iter().filter(|one| one.client().port() >= 10_000).count();
    assert!(chosen >= 3, "{chosen}");
    drop(session);
}

/// report 49: a proxy before the shard-aware port has local ports of its own: the pool finds that out, and is whole without.
#[tokio::test]
async fn a_proxy_rewrites_the_ports() {
    let cluster = sharded().await;
    let node = cluster.node(0).clone();
    let mut port = 0;
    node.set(|facts| port = facts.scylla.as_ref().unwrap().shard_aware_port.unwrap());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let front = listener.local_addr().unwrap().port();
    let proxy = tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut far = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    node.set(|facts| facts.scylla.as_mut().unwrap().shard_aware_port = Some(front));
    let session = builder(&cluster).build().await.unwrap();
    full(&cluster, &session).await;
    drop(session);
    proxy.abort();
}

/// reviewer 22: a local port that is taken is passed over, with no gap between the choice and its use.
#[tokio::test]
async fn local_ports_that_are_taken() {
    let cluster = sharded().await;
    // Of eight ports, two per shard, one of each is taken.
    let taken: Vec<_> = (0..4_u16)
        .filter_map(|shard| std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, 23_400 + shard)).ok())
        .collect();
    let session = builder(&cluster).shard_ports(23_400..=23_407).build().await.unwrap();
    full(&cluster, &session).await;
    drop((session, taken));
}

/// cql 6: no local port is left that chooses a shard: the pool is whole all the same, by the ordinary port.
#[tokio::test]
async fn no_local_port_is_left() {
    let cluster = sharded().await;
    // Whoever else has one of them keeps it as well.
    let taken: Vec<_> = (23_500..=23_503_u16)
        .filter_map(|port| std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).ok())
        .collect();
    let session = builder(&cluster).shard_ports(23_500..=23_503).build().await.unwrap();
    let node = full(&cluster, &session).await;
    assert!(node.shard_port_blocked_for.is_some(), "it is not tried at each connect");
    let ports: Vec<_> = cluster.node(0).connections().iter().map(|one| one.client().port()).collect();
    assert!(ports.iter().all(|port| !(23_500..=23_503).contains(port)), "{ports:?}");
    drop((session, taken));
}
