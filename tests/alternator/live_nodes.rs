//! How a snapshot follows from the one before.

use std::{collections::HashSet, sync::Arc};

use messina::alternator::{
    discovery::{Finding, Verdict},
    live_nodes::{Basis, LiveNodes},
    node::Node,
    plan::{QueryPlan, Randomness, Standing},
    scope::{Scope, ScopeChain},
};
use proptest::prelude::*;

use crate::world::{Host, World, at, data_center, number, sorted};

fn listed(sequence: u64, nodes: &[u8], partial: bool, answered: &[u8], failed: &[u8]) -> Verdict {
    let set = |hosts: &[u8]| hosts.iter().map(|i| at(*i)).collect::<HashSet<_>>();
    let nodes = nodes.iter().map(|i| at(*i)).collect();
    let finding = Finding::Nodes { scope: Scope::cluster(), nodes, partial };
    Verdict { sequence, finding, answered: set(answered), failed: set(failed) }
}

fn routes(live: &LiveNodes) -> Vec<u8> {
    sorted(live.routing().iter())
}

/// alternator A8: where somebody gave no list, the nodes last known stay, but for those that failed and those that
/// answered without being listed.
#[test]
fn partial_failure_merges() {
    let start = LiveNodes::new([at(1)], &ScopeChain::default());
    let (live, _) = start.apply(&listed(1, &[2, 3, 4, 5], false, &[1], &[])).unwrap();
    let (merged, change) = live.apply(&listed(2, &[3, 6], true, &[2, 3], &[4])).unwrap();
    assert_eq!(routes(&merged), [3, 5, 6]);
    assert_eq!((sorted(&change.added), sorted(&change.removed)), (vec![6], vec![2, 4]));
    let (whole, _) = live.apply(&listed(2, &[3, 6], false, &[2, 3], &[])).unwrap();
    assert_eq!(routes(&whole), [3, 6], "a whole answer is the list");
    let (first, _) = start.apply(&listed(1, &[2], true, &[], &[])).unwrap();
    assert_eq!(routes(&first), [2], "a seed is never merged in");
}

/// alternator 3.5: an older cycle does not overwrite a newer one.
#[test]
fn older_cycle() {
    let live = LiveNodes::new([at(1)], &ScopeChain::default());
    let (live, _) = live.apply(&listed(5, &[2], false, &[], &[])).unwrap();
    assert!(live.apply(&listed(4, &[3], false, &[], &[])).is_none());
    assert!(live.apply(&listed(5, &[3], false, &[], &[])).is_some());
}

/// alternator 3.5: a strict chain starts with no node, one with the cluster starts with the seeds.
#[test]
fn start() {
    let seeds = || [at(1), at(2), at(1)];
    let live = LiveNodes::new(seeds(), &ScopeChain::default());
    assert_eq!((routes(&live), live.basis(), live.no_route()), (vec![1, 2], &Basis::Start, None));
    let strict = LiveNodes::new(seeds(), &data_center("one"));
    assert!(strict.routing().is_empty());
    assert!(strict.no_route().unwrap().to_string().contains("no node is known"));
    assert!(LiveNodes::new([], &ScopeChain::default()).no_route().is_some());
}

/// alternator A5: hosts that never answer again are forgotten in the end, and what is remembered is bounded.
#[test]
fn remembered_is_bounded() {
    let many: Vec<u8> = (1..=200).collect();
    let live = LiveNodes::new([], &ScopeChain::default());
    let (live, _) = live.apply(&listed(1, &many, false, &[], &[])).unwrap();
    let (mut live, _) = live.apply(&listed(2, &[250], true, &[250], &many)).unwrap();
    assert_eq!(live.remembered().count(), 64);
    let mut cycles = 0;
    while live.remembered().count() > 0 {
        cycles += 1;
        live = live.apply(&listed(2, &[250], false, &[250], &many)).unwrap().0;
        assert!(cycles < 1000);
    }
    assert!(cycles > 100, "{cycles}");
}

/// alternator 8: one of three nodes dies, 200 updates: one that meets it goes on to the next node, and after one
/// refresh none meets it any more (J 88, 89).
/// alternator 3.3: with the seeds put back 94 of them failed.
#[test]
fn two_hundred_updates() {
    let all = Host::Lists(vec![1, 2, 3]);
    for failover in [true, false] {
        let hosts = [(1, all.clone()), (2, all.clone()), (3, all.clone())];
        let mut world = World::new(&[1, 2, 3], ScopeChain::default(), hosts);
        world.cycle();
        world.set(1, Host::Refuses);
        let randomness = Randomness::seeded(88);
        let updates = |world: &World, dialled_dead: &mut usize| {
            let update = || {
                let mut plan = QueryPlan::random(randomness.draw());
                for _ in 0..if failover { 3 } else { 1 } {
                    let node = plan.pick(|| Arc::clone(world.live.routing()), |_| Standing::Active).unwrap();
                    if number(node) != 1 {
                        return true;
                    }
                    *dialled_dead += 1;
                }
                false
            };
            std::iter::repeat_with(update).take(200).filter(|done| *done).count()
        };
        let (mut before, mut after) = (0, 0);
        let done = updates(&world, &mut before);
        assert!(if failover { done == 200 } else { done < 200 }, "{done}");
        assert!(before > 0);
        world.cycle();
        assert_eq!((updates(&world, &mut after), after), (200, 0), "failover {failover}");
    }
}

fn any_host() -> impl Strategy<Value = Host> {
    let list = proptest::collection::vec(1_u8..8, 0..6);
    prop_oneof![
        list.clone().prop_map(Host::Lists),
        (list.clone(), list).prop_map(|(one, two)| Host::Knows(one, two)),
        Just(Host::Empty),
        Just(Host::Refuses),
        Just(Host::Hangs),
    ]
}

proptest! {
    /// alternator A10: under a strict chain requests go only where a list of the scope led.
    /// alternator A3: once anything is discovered a seed takes requests only if it is listed or as a last resort.
    /// alternator A5: nobody who failed in a cycle that found nodes is among them.
    #[test]
    fn rules_hold(
        cycles in proptest::collection::vec(proptest::collection::btree_map(1_u8..8, any_host(), 0..8), 1..8),
        strict: bool,
    ) {
        let chain = data_center("two");
        let chain = if strict { chain } else { chain.then(Scope::cluster()).unwrap() };
        let mut world = World::new(&[1, 2], chain, []);
        let mut ever: HashSet<Node> = HashSet::new();
        for hosts in cycles {
            world.hosts = hosts;
            let verdict = world.verdict();
            if let Finding::Nodes { nodes, .. } = &verdict.finding {
                ever.extend(nodes.iter().cloned());
            }
            let (live, _) = world.live.apply(&verdict).unwrap();
            match live.basis() {
                Basis::Scope(_) => prop_assert!(live.routing().iter().all(|node| ever.contains(node))),
                Basis::Start => prop_assert_eq!(live.routing().is_empty(), strict),
                Basis::LastResort => prop_assert!(!strict),
                Basis::Cleared => prop_assert!(strict && live.routing().is_empty()),
            }
            if let Finding::Nodes { .. } = &verdict.finding {
                prop_assert!(live.routing().iter().all(|node| !verdict.failed.contains(node)));
                prop_assert!(!live.routing().is_empty());
            }
            prop_assert!(strict <= (live.no_route().is_some() || matches!(live.basis(), Basis::Scope(_))));
            world.live = live;
        }
    }
}
