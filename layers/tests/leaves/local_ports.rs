//! The local ports a shard-aware target asks for.

use std::net::SocketAddr;

use messina_layers::{Address, Candidate, Dial, LocalBind, LocalPorts, Scope, Stage, TcpConnector};
use proptest::prelude::*;
use tower::ServiceExt;

use crate::support::listener;

proptest! {
    /// The shard formula: every port of the range, both ends included, that leaves the remainder wanted;
    /// each once, from the one picked on, wrapping once.
    #[test]
    fn the_ports_of_a_shard(
        low in 0_u16.., length in 0_u16..2000, shards in 0_u16..300, wanted in 0_u16..300, random in any::<u64>(),
    ) {
        let high = low.saturating_add(length);
        let ports: Vec<u16> = LocalPorts::new(low..=high, shards, wanted).from_random(random).collect();
        let step = shards.max(1);
        let all: Vec<u16> = (low.max(1)..=high).filter(|port| port % step == wanted % step).collect();
        let mut sorted = ports.clone();
        sorted.sort_unstable();
        prop_assert_eq!(&sorted, &all);
        if let Some(first) = ports.first() {
            prop_assert_eq!(usize::from(*first), usize::from(all[(random % all.len() as u64) as usize]));
        }
        // It goes up, and wraps at most once.
        prop_assert!(ports.windows(2).filter(|pair| pair[1] < pair[0]).count() <= 1);
    }
}

#[test]
fn ranges_at_their_ends() {
    let ports = |ports: LocalPorts| ports.from_random(0).collect::<Vec<_>>();
    assert_eq!(ports(LocalPorts::any(65534..=65535)), [65534, 65535]);
    assert_eq!(ports(LocalPorts::any(0..=2)), [1, 2], "port 0 would let the system choose");
    assert_eq!(ports(LocalPorts::new(49152..=65535, 60000, 49152)), [49152]);
    assert_eq!(ports(LocalPorts::new(10..=12, 100, 50)), Vec::<u16>::new());
    #[expect(clippy::reversed_empty_ranges, reason = "what a user may write")]
    let empty = LocalPorts::any(12..=10);
    assert_eq!(ports(empty), Vec::<u16>::new());
}

struct Shard(SocketAddr, LocalPorts);

impl Dial for Shard {
    fn address(&self) -> Address {
        Address::Socket(self.0)
    }
}

impl LocalBind for Shard {
    fn ports(&self) -> Option<LocalPorts> {
        Some(self.1.clone())
    }
}

/// The peer sees a port of the shard wanted.
#[tokio::test]
async fn a_connection_comes_from_a_port_of_its_shard() {
    let (listener, addr) = listener().await;
    for wanted in [0, 5, 15] {
        let target = Shard(addr, LocalPorts::new(20_000..=60_000, 16, wanted));
        let transport = TcpConnector::new().oneshot(Candidate::new(target, addr)).await.unwrap();
        let (_accepted, seen) = listener.accept().await.unwrap();
        assert_eq!((seen.port() % 16, seen), (wanted, transport.io.local_addr().unwrap()));
    }
}

/// reviewer 22: the port is bound by the socket that connects, so one in use is passed over.
#[tokio::test]
async fn ports_in_use_are_skipped() {
    let (_listener, addr) = listener().await;
    let taken = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let (low, high) = (port - 20, port.saturating_add(20));
    let mut kept = Vec::new();
    for _ in 0..10 {
        let target = Shard(addr, LocalPorts::any(low..=high));
        let transport = TcpConnector::new().oneshot(Candidate::new(target, addr)).await.unwrap();
        let local = transport.io.local_addr().unwrap().port();
        assert!(local != port && (low..=high).contains(&local));
        kept.push(transport);
    }
}

/// Local ports used up: an error of this dial that says so.
#[tokio::test]
async fn no_port_left_is_an_error() {
    let (_listener, addr) = listener().await;
    let taken = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    for ports in [LocalPorts::any(port..=port), LocalPorts::new(10..=12, 100, 50)] {
        let target = Shard(addr, ports);
        let error = TcpConnector::new().oneshot(Candidate::new(target, addr)).await.map(drop).unwrap_err();
        assert_eq!((error.stage(), error.scope()), (Stage::TCP, Scope::Candidate));
        assert_eq!(error.cause().to_string(), "no source port is free among those allowed");
    }
}

/// A refusal is not a port in use: the other ports are not tried for it.
#[tokio::test]
async fn a_refusal_ends_the_search_for_a_port() {
    let (_held, addr) = crate::support::nobody();
    let target = Shard(addr, LocalPorts::any(20_000..=60_000));
    let error = TcpConnector::new().oneshot(Candidate::new(target, addr)).await.map(drop).unwrap_err();
    let kind = error.find::<std::io::Error>().unwrap().kind();
    assert_eq!(kind, std::io::ErrorKind::ConnectionRefused);
}
