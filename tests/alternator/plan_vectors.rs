//! Seeded plans, as the clients of all languages make them.

use std::sync::Arc;

use messina::alternator::{
    node::Node,
    nodes::NodeList,
    plan::{QueryPlan, first_of},
};

use crate::support::{node, number, numbered, numbers, picks};

/// alternator 5.6: every recorded order.
/// alternator A11: the vectors of the specification.
#[test]
fn orders() {
    let rows: [(i64, &[usize]); 17] = [
        (42, &[5, 8, 4, 10, 6, 1, 9, 2, 7, 3]),
        (123, &[5, 1, 3, 2, 9, 4, 7, 10, 6, 8]),
        (999, &[4, 9, 3, 1, 10, 2, 5, 8, 7, 6]),
        (0, &[4, 1, 10, 9, 5, 7, 3, 2, 8, 6]),
        (-1, &[10, 4, 1, 2, 5, 9, 3, 6, 8, 7]),
        (12345, &[3, 4, 1, 6, 5, 7, 2, 8, 10, 9]),
        (i64::MAX, &[10, 6, 7, 1, 9, 3, 5, 2, 8, 4]),
        (42, &[6, 3, 1, 4, 2, 5]),
        (i64::MIN, &[3, 10, 9, 1, 7, 8, 6, 5, 2, 4]),
        (2147483647, &[4, 1, 10, 9, 5, 7, 3, 2, 8, 6]),
        (-2147483647, &[4, 1, 10, 9, 5, 7, 3, 2, 8, 6]),
        (2147483648, &[10, 6, 7, 1, 9, 3, 5, 2, 8, 4]),
        (42, &[1]),
        (42, &[2, 1]),
        (42, &[3, 2, 1]),
        (42, &[10, 11, 13, 4, 16, 8, 5, 2, 1, 12, 9, 6, 15, 14, 3, 7]),
        (1, &[1]),
    ];
    for (seed, order) in rows {
        let nodes = numbered(order.len(), 8043);
        assert_eq!(numbers(&mut QueryPlan::seeded(seed), &nodes, order.len()), order, "seed {seed}");
        let first = first_of(seed, nodes.len()).unwrap();
        assert_eq!(number(&nodes[first]), order[0], "seed {seed}");
    }
    assert_eq!(first_of(42, 0), None);
}

/// alternator 5.4: what is sorted is the URL with its port, so that all languages agree.
#[test]
fn sorted_by_url_with_port() {
    let nodes: Arc<NodeList> =
        Arc::new([1, 2, 10, 11].map(|i| node(&format!("http://10.0.0.{i}:8000"))).into_iter().collect());
    let last = |node: &Node| node.canonical().trim_start_matches("http://10.0.0.").trim_end_matches(":8000").to_owned();
    assert_eq!(nodes.iter().map(last).collect::<Vec<_>>(), ["10", "11", "1", "2"]);
    for (seed, order) in [(42, ["11", "1", "10", "2"]), (1, ["11", "10", "2", "1"])] {
        let plan = picks(&mut QueryPlan::seeded(seed), &nodes, 4);
        assert_eq!(plan.iter().map(last).collect::<Vec<_>>(), order, "seed {seed}");
    }
}

/// alternator 5.6: a preferred list comes first as far as it exists, the rest in canonical order.
#[test]
fn preferred_list() {
    let nodes = numbered(5, 8000);
    let named = |i: usize| node(&format!("http://node{i}.example.com:8000"));
    let mut plan = QueryPlan::preferred(vec![named(3), named(5)]);
    assert_eq!(numbers(&mut plan, &nodes, 10), [3, 5, 1, 2, 4, 3, 5, 1, 2, 4], "and a new cycle repeats it");
    let mut plan = QueryPlan::preferred(vec![named(9), named(3), named(3), named(5)]);
    assert_eq!(numbers(&mut plan, &nodes, 5), [3, 5, 1, 2, 4], "absent and repeated ones do not count");
}

/// alternator 5.2: a seeded plan repeats its order in every cycle.
/// alternator A7: an exhausted plan starts a new cycle over the same nodes.
#[test]
fn seeded_cycles_repeat() {
    let nodes = numbered(16, 8043);
    let mut plan = QueryPlan::seeded(42);
    let (first, second) = (numbers(&mut plan, &nodes, 16), numbers(&mut plan, &nodes, 16));
    assert_eq!(first, second);
}
