//! What a look-up costs.

use std::{hint::black_box, net::SocketAddr, time::Duration};

use messina::config::Draft;
use messina::connection::{Limits, Opening};
use messina::protocol::ProtocolVersion;
use messina::protocol::request::{Options, Startup};
use messina::topology::{NodeInfo, NodeList, Snapshot, Strategy, Tablet, Tablets, Token};
use messina::{Request, Session};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use uuid::Uuid;

use crate::server::Canned;
use crate::support::{node, snapshot};

const LIMIT: Duration = Duration::from_secs(10);

/// design 4: finding the owner and the replicas of a token allocates nothing.
#[test]
fn look_ups_allocate_nothing() {
    let tokens = |node: i64| (0..16).map(move |i| (i * 20 + node) * 1_000_003);
    let nodes = (0..20).map(|i| node(i, if i % 2 == 0 { "a" } else { "b" }, &format!("r{}", i % 3), tokens(i.into())));
    let snapshot = snapshot(nodes.collect());
    let datacenters = [("a".to_owned(), 3), ("b".to_owned(), 2)].into();
    let sets = snapshot.replica_sets(&Strategy::NetworkTopology { datacenters });
    let cost = allocation_counter::measure(|| {
        for token in (i64::MIN..i64::MAX).step_by(1 << 57) {
            assert_eq!(black_box(sets.of(Token(token))).len(), 5);
            let owner = snapshot.ring().owner(Token(token)).unwrap();
            black_box(snapshot.at(owner));
            black_box(snapshot.ring().clockwise(Token(token)).nth(3));
        }
    });
    assert_eq!(cost.count_total, 0);
}

/// driver 2.1: looking a tablet up allocates nothing.
#[test]
fn a_tablet_is_found_without_an_allocation() {
    let mut tablets = Tablets::default();
    for n in 0..1000 {
        tablets = tablets.with(Tablet::new(Token(n * 100), Token(n * 100 + 99), [(Uuid::from_u128(1), 0)]).unwrap());
    }
    let mut found = 0;
    let cost = allocation_counter::measure(|| {
        found = (0..100_000).filter(|token| black_box(tablets.of(Token(*token))).is_some()).count();
    });
    assert_eq!((found, cost.count_total), (99_000, 0));
}

async fn serve(mut io: DuplexStream) {
    let mut canned = Canned::default();
    while io.read_buf(canned.input()).await.unwrap() > 0 {
        io.write_all(canned.answers()).await.unwrap();
    }
}

/// A session with a connection to each of so many nodes, and a request whose data three of them hold.
async fn among(count: u128) -> (Session, Request) {
    let peer = SocketAddr::from(([127, 0, 0, 1], 9042));
    let (mut connections, mut nodes) = (Vec::new(), Vec::new());
    for id in 1..=count {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(serve(far));
        let mut opening = Opening::new(near, peer, ProtocolVersion::V4, Limits::default());
        opening.request(&Options, LIMIT).await.unwrap();
        opening.negotiate(ProtocolVersion::V4, None);
        opening.request(&Startup::new(), LIMIT).await.unwrap();
        connections.push((Uuid::from_u128(id), opening.accept()));
        let mut node = NodeInfo::new(Uuid::from_u128(id));
        node.address = Some(peer);
        // Anywhere on the ring, and the same in every run.
        let token = |number: i64| (id as i64 * 4 + number).wrapping_mul(0x1E37_79B9_7F4A_7C15);
        node.tokens = (0..4).map(|number| Token(token(number))).collect();
        nodes.push(node);
    }
    let mut draft = Draft::default();
    draft.endpoints.push(peer.into());
    let session = Session::over_connections(draft.check().unwrap(), connections);
    session.route_by(&Snapshot::new(NodeList::new(nodes), None), "ks", Strategy::Simple { replicas: 3 });
    let request = session.prepare("SELECT v FROM ks.t WHERE pk = ?").await.unwrap().bind((7,)).unwrap();
    (session, request)
}

/// Finds the first two nodes of a plan, 1000 times.
async fn first_two(count: u128) {
    let (session, request) = among(count).await;
    let plan = || {
        let first = session.next_node(&request, &[]).unwrap();
        let second = session.next_node(&request, &[first]).unwrap();
        assert_ne!(first, second);
    };
    // The statement learns where its data is.
    plan();
    let cost = allocation_counter::measure(|| (0..1000).for_each(|_| plan()));
    assert_eq!(cost.count_total, 0);
}

/// design 4: the first two nodes of a plan over 3 nodes are found without an allocation.
#[tokio::test(start_paused = true)]
async fn a_plan_over_3_nodes() {
    first_two(3).await;
}

/// design 4: so are those over 1,000 nodes.
#[tokio::test(start_paused = true)]
async fn a_plan_over_1000_nodes() {
    first_two(1000).await;
}
