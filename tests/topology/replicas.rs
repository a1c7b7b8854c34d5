//! Which nodes hold a token, by strategy: against the rules written down a second time, the slow way.

use std::collections::{BTreeMap, BTreeSet};

use messina::topology::{NodeIndex, Snapshot, Strategy, Token};
use proptest::prelude::*;

use crate::support::{node, snapshot};

/// Data centre, rack and tokens of each node.
type Nodes = Vec<(u8, u8, Vec<i64>)>;

fn nodes() -> impl proptest::strategy::Strategy<Value = Nodes> {
    prop::collection::vec((0..3_u8, 0..4_u8, prop::collection::vec(-60..60_i64, 0..6)), 0..14)
}

fn cluster(nodes: &Nodes) -> Snapshot {
    let made = (0..).zip(nodes);
    snapshot(made.map(|(i, (dc, rack, tokens))| node(i, &name(*dc), &format!("r{rack}"), tokens.clone())).collect())
}

fn name(datacenter: u8) -> String {
    format!("dc{datacenter}")
}

/// The owners clockwise, each once.
fn distinct(snapshot: &Snapshot, token: i64) -> Vec<NodeIndex> {
    let mut seen = BTreeSet::new();
    snapshot.ring().clockwise(Token(token)).filter(|node| seen.insert(*node)).collect()
}

fn place(snapshot: &Snapshot, node: NodeIndex) -> (String, String) {
    let node = snapshot.at(node).unwrap();
    (node.datacenter.clone().unwrap(), node.rack.clone().unwrap())
}

proptest! {
    /// cql 6: the ring: the owner of a token is the first node that has this token or a later one.
    #[test]
    fn owners(nodes in nodes(), token in -70..70_i64) {
        let snapshot = cluster(&nodes);
        let mut all: Vec<_> = (0..).zip(&nodes).flat_map(|(i, node)| node.2.iter().map(move |token| (*token, i))).collect();
        all.sort_unstable();
        let first = all.iter().find(|(own, _)| *own >= token).or(all.first());
        prop_assert_eq!(snapshot.ring().owner(Token(token)), first.map(|(_, i)| NodeIndex(*i)));
    }

    /// cql 7: SimpleStrategy: the first nodes clockwise, whatever their rack.
    #[test]
    fn simple(nodes in nodes(), replicas in 0..6_usize, token in -70..70_i64) {
        let snapshot = cluster(&nodes);
        let sets = snapshot.replica_sets(&Strategy::Simple { replicas });
        let mut wanted = distinct(&snapshot, token);
        wanted.truncate(replicas);
        prop_assert_eq!(sets.of(Token(token)), wanted);
    }

    /// cql 7: NetworkTopologyStrategy: in each data centre as many as asked for, each node once, on as many racks as
    /// there are; and no node could be put in the place of a later one without losing a rack.
    #[test]
    fn network_topology(
        nodes in nodes(),
        wanted in prop::collection::btree_map(0..4_u8, 0..6_usize, 0..4),
        token in -70..70_i64,
    ) {
        let snapshot = cluster(&nodes);
        let datacenters: BTreeMap<_, _> = wanted.iter().map(|(dc, replicas)| (name(*dc), *replicas)).collect();
        let sets = snapshot.replica_sets(&Strategy::NetworkTopology { datacenters: datacenters.clone() });
        let got = sets.of(Token(token));
        let owners = distinct(&snapshot, token);
        prop_assert_eq!(got.iter().collect::<BTreeSet<_>>().len(), got.len(), "each once");
        for node in got {
            prop_assert!(datacenters.contains_key(&place(&snapshot, *node).0));
        }
        for (datacenter, replicas) in &datacenters {
            let here = |node: &&NodeIndex| place(&snapshot, **node).0 == *datacenter;
            let rack = |node: &NodeIndex| place(&snapshot, *node).1;
            let members: Vec<_> = owners.iter().filter(here).collect();
            let racks: BTreeSet<_> = members.iter().map(|node| rack(node)).collect();
            let own: Vec<_> = got.iter().filter(here).collect();
            prop_assert_eq!(own.len(), (*replicas).min(members.len()));
            let used: BTreeSet<_> = own.iter().map(|node| rack(node)).collect();
            prop_assert_eq!(used.len(), own.len().min(racks.len()));
            // The rule itself, in its plainest form.
            let (mut repeats, mut seen, mut expected) = (own.len().saturating_sub(racks.len()), BTreeSet::new(), vec![]);
            for member in members {
                if expected.len() == own.len() {
                    break;
                }
                if seen.insert(rack(member)) {
                    expected.push(member);
                } else if repeats > 0 {
                    repeats -= 1;
                    expected.push(member);
                }
            }
            prop_assert_eq!(own, expected);
        }
    }
}

/// cql 7: two racks, three replicas: the third is on a rack that has one already; without room a rack is passed by.
#[test]
fn racks() {
    let nodes = ["a", "a", "a", "b"].into_iter().zip(0..);
    let snapshot = snapshot(nodes.map(|(rack, i)| node(i, "dc", rack, [10 * i64::from(i)])).collect());
    let replicas = |replicas: usize| {
        let datacenters = [("dc".to_owned(), replicas)].into();
        let sets = snapshot.replica_sets(&Strategy::NetworkTopology { datacenters });
        sets.of(Token(0)).iter().map(|node| node.0).collect::<Vec<_>>()
    };
    assert_eq!(replicas(1), [0]);
    assert_eq!(replicas(2), [0, 3], "another rack");
    assert_eq!(replicas(3), [0, 1, 3]);
    assert_eq!(replicas(9), [0, 1, 2, 3], "never more than there are");
}

/// cql 7: everywhere is every node, with tokens or without; local and what is not known have no better node.
#[test]
fn other_strategies() {
    let snapshot = snapshot(vec![node(0, "dc", "r", [5]), node(1, "dc", "r", [])]);
    let everywhere = snapshot.replica_sets(&Strategy::Everywhere);
    for token in [i64::MIN, 0, 5, 6, i64::MAX] {
        assert_eq!(everywhere.of(Token(token)), [NodeIndex(0), NodeIndex(1)]);
    }
    for strategy in [Strategy::Local, Strategy::Other { class: "Odd".into() }] {
        assert!(snapshot.replica_sets(&strategy).of(Token(0)).is_empty());
    }
    let empty = Snapshot::default();
    for strategy in [Strategy::Everywhere, Strategy::Simple { replicas: 3 }] {
        assert!(empty.replica_sets(&strategy).of(Token(0)).is_empty());
    }
}

/// cql 7: strategies as the schema tables write them.
#[test]
fn strategies_are_parsed() {
    let simple = [("class", "org.apache.cassandra.locator.SimpleStrategy"), ("replication_factor", "3")];
    assert_eq!(Strategy::parse(simple), Strategy::Simple { replicas: 3 });
    let network = [("class", "NetworkTopologyStrategy"), ("dc1", "3"), ("dc2", "3/1")];
    let datacenters = [("dc1".to_owned(), 3), ("dc2".to_owned(), 3)].into();
    assert_eq!(Strategy::parse(network), Strategy::NetworkTopology { datacenters });
    assert_eq!(Strategy::parse([("class", "org.apache.cassandra.locator.EverywhereStrategy")]), Strategy::Everywhere);
    assert_eq!(Strategy::parse([("class", "org.apache.cassandra.locator.LocalStrategy")]), Strategy::Local);
    assert_eq!(Strategy::parse([("class", "x.Odd")]), Strategy::Other { class: "x.Odd".into() });
    assert_eq!(
        Strategy::parse([("class", "SimpleStrategy"), ("replication_factor", "many")]),
        Strategy::Simple { replicas: 0 }
    );
}
