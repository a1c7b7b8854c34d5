//! The votes of a batch.

use messina::alternator::{
    affinity::{BatchWrite, KeyValue, Votes, vote},
    nodes::NodeList,
};
use proptest::prelude::*;

use crate::support::{number, numbered, numbers};

type Attribute = Box<dyn FnOnce(&str) -> Option<KeyValue<'static>>>;

/// A put of an item whose `pk` has this value.
fn put(table: &'static str, key: Option<KeyValue<'static>>) -> BatchWrite<'static, Attribute> {
    BatchWrite { table, put: Some(Box::new(move |name| key.filter(|_| name == "pk"))), delete: None }
}

fn text(key: &str) -> KeyValue<'static> {
    KeyValue::S(Box::leak(key.to_owned().into_boxed_str()))
}

fn ranked(votes: &Votes<'_>) -> Vec<(usize, u32)> {
    votes.ranked().into_iter().map(|(node, votes)| (number(node), votes)).collect()
}

fn votes_of<'n>(nodes: &'n NodeList, keys: &[Option<KeyValue<'static>>]) -> Votes<'n> {
    vote(nodes, keys.iter().map(|key| put("t", *key)), |_| Some("pk"))
}

/// alternator 6.4: every recorded vote, the preferred nodes and the rest in canonical order.
#[test]
fn vectors() {
    let letters = |last: char| ('A'..=last).map(|c| Some(text(&c.to_string()))).collect::<Vec<_>>();
    let users = || (1..=20).map(|i| Some(text(&format!("user{i}")))).collect::<Vec<_>>();
    // No key, a key of a type that none may have, and bytes.
    let mixed = vec![None, None, Some(KeyValue::B(&[1, 2, 3]))];
    type Row = (Vec<Option<KeyValue<'static>>>, usize, &'static [(usize, u32)], &'static [usize]);
    let rows: [Row; 7] = [
        (letters('B'), 10, &[(6, 1), (9, 1)], &[1, 10, 2, 3, 4, 5, 7, 8]),
        (letters('B'), 3, &[(2, 1), (3, 1)], &[1]),
        (letters('H'), 10, &[(2, 2), (7, 2), (9, 2), (3, 1), (6, 1)], &[1, 10, 4, 5, 8]),
        (letters('H'), 3, &[(2, 5), (3, 2), (1, 1)], &[]),
        (mixed, 10, &[(10, 1)], &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (users(), 10, &[(3, 3), (5, 3), (6, 3), (9, 3), (10, 2), (4, 2), (7, 2), (1, 1), (2, 1)], &[8]),
        (users(), 3, &[(3, 9), (2, 7), (1, 4)], &[]),
    ];
    for (keys, count, expected, rest) in rows {
        let nodes = numbered(count, 8000);
        let votes = votes_of(&nodes, &keys);
        assert_eq!(ranked(&votes), expected);
        let order: Vec<_> = expected.iter().map(|(node, _)| *node).chain(rest.iter().copied()).collect();
        assert_eq!(numbers(&mut votes.plan().unwrap(), &nodes, count), order);
    }
}

/// alternator 6.4: a request that is both or neither does not vote; a deletion votes by its key.
#[test]
fn exactly_one() {
    let nodes = numbered(10, 8000);
    let attribute = || Some(|name: &str| (name == "pk").then_some(KeyValue::S("A")));
    let writes = [
        BatchWrite { table: "t", put: attribute(), delete: attribute() },
        BatchWrite { table: "t", put: None, delete: None },
        BatchWrite { table: "t", put: None, delete: attribute() },
    ];
    assert_eq!(ranked(&vote(&nodes, writes, |_| Some("pk"))), [(9, 1)]);
}

/// alternator 6.4: without votes the plan is an ordinary one.
#[test]
fn no_votes() {
    let nodes = numbered(10, 8000);
    assert!(votes_of(&nodes, &[None]).plan().is_none());
    assert!(votes_of(&NodeList::empty(), &[Some(KeyValue::S("A"))]).plan().is_none());
}

/// alternator 6.4: a table whose key is not known is asked for and does not stand in the way of one that is.
#[test]
fn unknown_table() {
    let nodes = numbered(10, 8000);
    let mut asked = Vec::new();
    let writes = [put("unknown", Some(KeyValue::S("B"))), put("known", Some(KeyValue::S("A")))];
    let votes = vote(&nodes, writes, |table| {
        asked.push(table);
        (table == "known").then_some("pk")
    });
    assert_eq!(ranked(&votes), [(9, 1)]);
    assert_eq!(asked, ["unknown", "known"]);
}

proptest! {
    /// alternator 6.4: the order of the writes makes no difference.
    #[test]
    fn any_order(keys in proptest::collection::vec("[a-z]{1,3}", 1..20), count in 1_usize..12, turn in 0_usize..20) {
        let nodes = numbered(count, 8000);
        let mut keys: Vec<_> = keys.iter().map(|key| Some(text(key))).collect();
        let before = ranked(&votes_of(&nodes, &keys));
        let middle = turn % keys.len();
        keys.rotate_left(middle);
        keys[middle..].reverse();
        prop_assert_eq!(&ranked(&votes_of(&nodes, &keys)), &before);
        prop_assert_eq!(before.iter().map(|(_, votes)| *votes as usize).sum::<usize>(), keys.len());
    }
}
