//! What every plan keeps to, seeded or not.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use messina::alternator::{
    node::Node,
    nodes::NodeList,
    plan::{QueryPlan, Randomness, Standing},
};
use proptest::prelude::*;

use crate::support::{node, number, numbered, numbers};

/// alternator 5.6: five nodes and five attempts are five nodes, then a new cycle; one node repeats; the third of two
/// starts a new cycle; an empty list gives none.
/// alternator A7: never anything but the same nodes.
#[test]
fn retries() {
    for start in 0..200 {
        let mut plan = QueryPlan::random(start);
        let five = numbered(5, 8000);
        for cycle in 0..3 {
            let distinct: BTreeSet<_> = numbers(&mut plan, &five, 5).into_iter().collect();
            assert_eq!(distinct.len(), 5, "cycle {cycle} of {start}");
        }
        assert_eq!(numbers(&mut QueryPlan::random(start), &numbered(1, 8000), 3), [1, 1, 1]);
        let two = numbers(&mut QueryPlan::random(start), &numbered(2, 8000), 4);
        assert!(two[0] != two[1] && two[2] != two[3], "{two:?}");
    }
    for mut plan in [QueryPlan::random(1), QueryPlan::seeded(1), QueryPlan::preferred(vec![node("http://a")])] {
        assert_eq!(plan.pick(|| Arc::new(NodeList::empty()), |_| Standing::Active), None);
    }
}

/// alternator 5.2: without a key every cycle has an order of its own.
#[test]
fn random_cycles_differ() {
    let nodes = numbered(20, 8000);
    let mut plan = QueryPlan::random(3);
    let cycles: BTreeSet<_> = (0..10).map(|_| numbers(&mut plan, &nodes, 20)).collect();
    assert_eq!(cycles.len(), 10);
}

/// alternator 5.2: the list is captured at the first pick, not before, and never again.
#[test]
fn captured_lazily() {
    let calls = Cell::new(0);
    let list = RefCell::new(numbered(1, 8000));
    let mut plan = QueryPlan::random(7);
    assert_eq!(calls.get(), 0);
    list.replace(numbered(2, 9000));
    let mut seen = BTreeSet::new();
    for _ in 0..5 {
        let current = || {
            calls.set(calls.get() + 1);
            Arc::clone(&list.borrow())
        };
        seen.insert(plan.pick(current, |_| Standing::Active).unwrap().clone());
        list.replace(numbered(3, 8000));
    }
    assert_eq!(calls.get(), 1);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen.iter().all(|node| node.address().port() == 9000));
}

/// alternator 5.2: untried active ones in plan order, then untried quarantined ones, never those that are down; what is
/// known is read at each pick.
/// alternator 6.5: the order is over all nodes, so that a sick node moves no other key.
#[test]
fn standing_is_read_at_each_pick() {
    let nodes = numbered(10, 8043);
    let order = [5, 8, 4, 10, 6, 1, 9, 2, 7, 3];
    let standing =
        RefCell::new(BTreeMap::from([(5, Standing::Quarantined), (4, Standing::Down), (8, Standing::Avoided)]));
    let known = |node: &Node| standing.borrow().get(&number(node)).copied().unwrap_or(Standing::Active);
    let mut plan = QueryPlan::seeded(42);
    let mut next = || plan.pick(|| Arc::clone(&nodes), known).map(number).unwrap();
    assert_eq!([next(), next()], [10, 6], "those not active are passed over");
    standing.borrow_mut().remove(&5);
    assert_eq!(next(), 5, "which became active since");
    standing.borrow_mut().insert(1, Standing::Down);
    assert_eq!([next(), next(), next(), next()], [9, 2, 7, 3]);
    assert_eq!(next(), 8, "then the one that failed a moment ago, and none that is down");
    assert_eq!(next(), 5, "then a new cycle");
    standing.borrow_mut().extend(order.map(|i| (i, Standing::Down)));
    assert_eq!(plan.pick(|| Arc::clone(&nodes), known), None, "only down: no route");
    standing.borrow_mut().extend([(1, Standing::Avoided), (4, Standing::Quarantined)]);
    assert_eq!(plan.pick(|| Arc::clone(&nodes), known).map(number), Some(4), "quarantined before avoided");
}

/// alternator 5.3: a counter that wraps around leads to no place outside, and to no repetition.
/// alternator 8: the index stays cyclic (J 79).
#[test]
fn counter_wraps() {
    let nodes = numbered(3, 8000);
    for start in [u64::MAX - 2, u64::MAX, i64::MAX as u64, i32::MAX as u64 - 1, u64::from(u32::MAX)] {
        let randomness = Randomness::seeded(start);
        for draw in [start, randomness.draw(), randomness.draw(), randomness.draw()] {
            let distinct: BTreeSet<_> = numbers(&mut QueryPlan::random(draw), &nodes, 3).into_iter().collect();
            assert_eq!(distinct.len(), 3);
        }
    }
}

/// alternator 5.2: random means evenly spread, over first picks and over second ones.
/// alternator 1: a dead node's load is spread over all others.
#[test]
fn evenly_spread() {
    let nodes = numbered(5, 8000);
    let randomness = Randomness::seeded(99);
    let mut firsts = [0; 6];
    let mut after_one = [0; 6];
    let mut without_one = [0; 6];
    for _ in 0..20_000 {
        let picked = numbers(&mut QueryPlan::random(randomness.draw()), &nodes, 2);
        firsts[picked[0]] += 1;
        if picked[0] == 1 {
            after_one[picked[1]] += 1;
        }
        let dead = |node: &Node| if number(node) == 1 { Standing::Down } else { Standing::Active };
        let mut plan = QueryPlan::random(randomness.draw());
        without_one[number(plan.pick(|| Arc::clone(&nodes), dead).unwrap())] += 1;
    }
    assert!(firsts[1..].iter().all(|count| (3_700..4_300).contains(count)), "{firsts:?}");
    assert!(after_one[2..].iter().all(|count| (850..1_150).contains(count)), "{after_one:?}");
    assert!(without_one[2..].iter().all(|count| (4_700..5_300).contains(count)), "{without_one:?}");
}

proptest! {
    /// alternator A7: whatever the nodes and the kind of plan, each cycle has each node once.
    #[test]
    fn each_once_per_cycle(count in 1_usize..150, seed: i64, cycles in 1_usize..3, kind in 0..3) {
        let nodes = numbered(count, 8000);
        let mut plan = match kind {
            0 => QueryPlan::random(seed as u64),
            1 => QueryPlan::seeded(seed),
            _ => QueryPlan::preferred(vec![nodes[seed.unsigned_abs() as usize % count].clone()]),
        };
        for _ in 0..cycles {
            let mut picked = numbers(&mut plan, &nodes, count);
            picked.sort_unstable();
            prop_assert_eq!(picked, (1..=count).collect::<Vec<_>>());
        }
    }

    /// alternator 5.4: the order made lazily is the order of the plain shuffle.
    #[test]
    fn lazy_order_is_the_shuffle(count in 1_usize..60, seed: i64) {
        let nodes = numbered(count, 8000);
        let mut left: Vec<&Node> = nodes.iter().collect();
        let mut generator = messina::alternator::plan::Generator::new(seed);
        let mut order = Vec::new();
        while !left.is_empty() {
            let drawn = generator.below(left.len() as u32) as usize;
            order.push(number(left.swap_remove(drawn)));
        }
        prop_assert_eq!(numbers(&mut QueryPlan::seeded(seed), &nodes, count), order);
    }
}
