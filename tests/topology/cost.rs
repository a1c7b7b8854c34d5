//! What a look-up costs.

use std::hint::black_box;

use messina::topology::{Strategy, Token};

use crate::support::{node, snapshot};

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
