//! Whom a cycle may ask, and in which order.

use std::{collections::HashSet, net::SocketAddr};

use messina_layers::Address;

use crate::alternator::{
    live_nodes::LiveNodes,
    node::{Node, Scheme},
    plan::{Randomness, Standing},
};

/// The most addresses of one name in one cycle.
const MAX_ADDRESSES: usize = 8;

/// A host to ask: what `Host` and TLS call it, and which of its addresses to dial.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// The node as it is configured or listed, for `Host` and TLS.
    pub node: Node,
    /// The address to dial; none if the node's own address is to be dialled.
    pub dial: Option<SocketAddr>,
}

impl Candidate {
    /// The host behind it: the node at the address dialled.
    #[must_use]
    pub fn host(&self) -> Node {
        match self.dial {
            Some(addr) => Node::new(self.node.scheme(), Address::Socket(addr)),
            None => self.node.clone(),
        }
    }
}

/// A seed and what its name was resolved to in this cycle; nothing if it could not be.
#[derive(Clone, Debug)]
pub struct ResolvedSeed {
    /// The seed as configured.
    pub node: Node,
    /// All addresses, in any order.
    pub addresses: Vec<SocketAddr>,
}

/// Everybody known, those first that most likely answer: live nodes (active, quarantined, then down), then hosts that
/// are remembered but not routed to, then every address of the seeds (at most 8 of a name). Each group is shuffled.
///
/// `standing` is asked once for each live node.
#[must_use]
pub fn candidates(
    live: &LiveNodes,
    seeds: &[ResolvedSeed],
    standing: impl Fn(&Node) -> Standing,
    randomness: &Randomness,
) -> Vec<Candidate> {
    let mut listed: Vec<_> = live.known().iter().cloned().collect();
    randomness.shuffle(&mut listed);
    listed.sort_by_cached_key(|node| standing(node));
    let mut remembered: Vec<_> = live.remembered().cloned().collect();
    randomness.shuffle(&mut remembered);
    let mut entries: Vec<Candidate> = Vec::new();
    for seed in seeds {
        let mut addresses = seed.addresses.clone();
        randomness.shuffle(&mut addresses);
        addresses.truncate(MAX_ADDRESSES);
        entries.extend(addresses.into_iter().map(|addr| Candidate { node: seed.node.clone(), dial: Some(addr) }));
    }
    randomness.shuffle(&mut entries);
    let all = listed.into_iter().chain(remembered).map(|node| Candidate { node, dial: None }).chain(entries);
    let mut seen = HashSet::new();
    all.filter(|candidate| {
        // Over TLS the same address under another name is another question: a certificate may fit only one of them.
        let name = (candidate.node.scheme() == Scheme::Https).then(|| candidate.node.clone());
        seen.insert((candidate.host(), name))
    })
    .collect()
}
