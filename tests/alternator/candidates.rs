//! Whom a cycle asks first.

use std::collections::HashSet;

use messina::alternator::{
    discovery::{Candidate, Finding, ResolvedSeed, Verdict, candidates},
    live_nodes::LiveNodes,
    node::Node,
    plan::{Randomness, Standing},
    scope::{Scope, ScopeChain},
};

use crate::{
    support::node,
    world::{at, number},
};

/// Live nodes as a cycle listed them, with one host that failed.
fn live(nodes: &[Node], failed: &[Node]) -> LiveNodes {
    let verdict = |sequence, nodes: Vec<Node>, failed: HashSet<Node>| Verdict {
        sequence,
        finding: Finding::Nodes { scope: Scope::cluster(), nodes, partial: true },
        answered: HashSet::new(),
        failed,
    };
    let all = nodes.iter().chain(failed).cloned().collect();
    let start = LiveNodes::new([], &ScopeChain::default());
    let (live, _) = start.apply(&verdict(1, all, HashSet::new())).unwrap();
    live.apply(&verdict(2, nodes.to_vec(), failed.iter().cloned().collect())).unwrap().0
}

fn seed(node: &Node) -> ResolvedSeed {
    let addresses = node.address().ip().map(|ip| (ip, 8000).into()).into_iter().collect();
    ResolvedSeed { node: node.clone(), addresses }
}

fn hosts(candidates: &[Candidate]) -> Vec<u8> {
    candidates.iter().map(|candidate| number(&candidate.host())).collect()
}

/// alternator 3.4: live nodes first, active, then quarantined, then down; then those remembered, then seeds; each group
/// shuffled.
/// alternator A2: live nodes and seeds are candidates, shuffled.
#[test]
fn order() {
    let live = live(&[1, 2, 3, 4, 5, 6].map(at), &[at(7)]);
    let standing = |node: &Node| match number(node) {
        1 | 2 => Standing::Active,
        3 | 4 => Standing::Quarantined,
        _ => Standing::Down,
    };
    let seeds = [8, 9, 1].map(|i| seed(&at(i)));
    let randomness = Randomness::seeded(5);
    let mut orders = HashSet::new();
    for _ in 0..500 {
        let order = hosts(&candidates(&live, &seeds, standing, &randomness));
        let mut groups = order.clone();
        for group in [0..2, 2..4, 4..6, 6..7, 7..9] {
            groups[group].sort_unstable();
        }
        assert_eq!(groups, [1, 2, 3, 4, 5, 6, 7, 8, 9], "each once");
        orders.insert(order);
    }
    assert_eq!(orders.len(), 16, "every order of every group");
}

/// alternator A1: over TLS an address is asked under the seed's name beside its own, since a certificate may fit only one
/// of them; without TLS once.
/// alternator 3.8.5: `Host` and TLS keep the name.
#[test]
fn named_address() {
    for (scheme, count) in [("http", 1), ("https", 2)] {
        let listed = node(&format!("{scheme}://10.0.0.1:8000"));
        let name = node(&format!("{scheme}://db.example.com:8000"));
        let resolved = ResolvedSeed { node: name.clone(), addresses: vec![([10, 0, 0, 1], 8000).into()] };
        let live = live(std::slice::from_ref(&listed), &[]);
        let all = candidates(&live, &[resolved], |_| Standing::Active, &Randomness::seeded(1));
        assert_eq!(all.len(), count, "{all:?}");
        assert_eq!(all[0], Candidate { node: listed.clone(), dial: None });
        assert!(all.iter().all(|candidate| candidate.host() == listed));
        if let Some(second) = all.get(1) {
            assert_eq!((&second.node, second.dial.is_some()), (&name, true));
        }
    }
}

/// alternator 3.5: a seed whose name leads nowhere is nobody to ask in this cycle.
#[test]
fn unresolved_seed() {
    let unresolved = ResolvedSeed { node: node("http://gone:8000"), addresses: Vec::new() };
    let all = candidates(&live(&[at(1)], &[]), &[unresolved], |_| Standing::Active, &Randomness::seeded(1));
    assert_eq!(hosts(&all), [1]);
}
