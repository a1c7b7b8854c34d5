//! The nodes that the writes of a batch vote for.

use std::cmp::Reverse;

use super::KeyValue;
use crate::alternator::{
    node::Node,
    nodes::NodeList,
    plan::{QueryPlan, first_of},
};

/// One write request of a batch: the lookups of an attribute in what it puts and in what it deletes.
///
/// A request that is both, or neither, has no vote.
#[derive(Clone, Copy, Debug)]
pub struct BatchWrite<'t, F> {
    /// The table it goes to.
    pub table: &'t str,
    /// For a put: the value of an attribute of the item, if it has that attribute with a type that a key may have.
    pub put: Option<F>,
    /// For a deletion: the same of the key.
    pub delete: Option<F>,
}

/// How many writes of a batch would go to each node first.
#[derive(Clone, Debug)]
pub struct Votes<'n> {
    nodes: &'n NodeList,
    votes: Vec<u32>,
}

impl<'n> Votes<'n> {
    /// No vote yet.
    #[must_use]
    pub fn new(nodes: &'n NodeList) -> Self {
        Self { nodes, votes: vec![0; nodes.len()] }
    }

    /// One write votes for the first node of its key's plan.
    pub fn add(&mut self, key: KeyValue<'_>) {
        self.add_hash(key.hash());
    }

    /// The same for a key whose hash is known.
    pub fn add_hash(&mut self, hash: i64) {
        if let Some(place) = first_of(hash, self.nodes.len()) {
            self.votes[place] += 1;
        }
    }

    /// The nodes that have votes and how many, those with the most first, then in canonical order.
    #[must_use]
    pub fn ranked(&self) -> Vec<(&'n Node, u32)> {
        let mut ranked: Vec<_> =
            self.nodes.iter().zip(self.votes.iter().copied()).filter(|(_, votes)| *votes > 0).collect();
        ranked.sort_by_key(|(_, votes)| Reverse(*votes));
        ranked
    }

    /// The plan of the batch: the nodes voted for, then the others in canonical order. None if nobody voted.
    #[must_use]
    pub fn plan(&self) -> Option<QueryPlan> {
        let preferred: Vec<Node> = self.ranked().into_iter().map(|(node, _)| node.clone()).collect();
        if preferred.is_empty() { None } else { Some(QueryPlan::preferred(preferred)) }
    }
}

/// Lets every write of a batch vote that has a usable key.
///
/// `key_name` gives the partition key's name of a table; where it is not known, the writes to that table do not vote
/// (and `key_name` is the place to begin to find out).
pub fn vote<'n, 't, 'v, F, K>(
    nodes: &'n NodeList,
    writes: impl IntoIterator<Item = BatchWrite<'t, F>>,
    mut key_name: impl FnMut(&'t str) -> Option<K>,
) -> Votes<'n>
where
    F: FnOnce(&str) -> Option<KeyValue<'v>>,
    K: AsRef<str>,
{
    let mut votes = Votes::new(nodes);
    for BatchWrite { table, put, delete } in writes {
        let attribute = match (put, delete) {
            (Some(attribute), None) | (None, Some(attribute)) => attribute,
            _ => continue,
        };
        if let Some(key) = key_name(table).and_then(|name| attribute(name.as_ref())) {
            votes.add(key);
        }
    }
    votes
}
