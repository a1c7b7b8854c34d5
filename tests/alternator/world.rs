//! A cluster that answers cycles of discovery in memory.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use messina::alternator::{
    discovery::{Candidate, Cycle, CycleLimits, Reply, ResolvedSeed, Step, Verdict, candidates},
    health::Book,
    live_nodes::{Change, LiveNodes},
    node::Node,
    plan::{Randomness, Standing},
    scope::{Scope, ScopeChain},
};
use tokio::time::Instant;

use crate::support::node;

/// What a host does when it is asked.
#[derive(Clone, Debug)]
pub(crate) enum Host {
    /// It lists these, whatever the scope.
    Lists(Vec<u8>),
    /// It lists the first for data centre `one`, the second for `two`, and the first without a filter.
    Knows(Vec<u8>, Vec<u8>),
    /// It answers `[]`.
    Empty,
    /// It refuses.
    Refuses,
    /// It never answers.
    Hangs,
}

/// The node at 10.0.0.`i`.
pub(crate) fn at(i: u8) -> Node {
    node(&format!("http://10.0.0.{i}:8000"))
}

pub(crate) fn number(node: &Node) -> u8 {
    match node.address().ip().unwrap() {
        std::net::IpAddr::V4(ip) => ip.octets()[3],
        std::net::IpAddr::V6(_) => panic!("{node}"),
    }
}

pub(crate) fn sorted<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Vec<u8> {
    let mut numbers: Vec<_> = nodes.into_iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

/// The cluster: hosts by the last byte of their address; those not named refuse.
pub(crate) struct World {
    pub(crate) hosts: BTreeMap<u8, Host>,
    pub(crate) names: BTreeMap<String, Vec<u8>>,
    pub(crate) seeds: Vec<Node>,
    pub(crate) chain: ScopeChain,
    pub(crate) live: LiveNodes,
    pub(crate) book: Book,
    pub(crate) now: Instant,
    pub(crate) limits: CycleLimits,
    pub(crate) asked: RefCell<Vec<(u8, Scope)>>,
    randomness: Randomness,
    sequence: u64,
}

impl World {
    pub(crate) fn new(seeds: &[u8], chain: ScopeChain, hosts: impl IntoIterator<Item = (u8, Host)>) -> Self {
        Self::with_seeds(seeds.iter().map(|i| at(*i)).collect(), chain, hosts)
    }

    pub(crate) fn with_seeds(seeds: Vec<Node>, chain: ScopeChain, hosts: impl IntoIterator<Item = (u8, Host)>) -> Self {
        Self {
            hosts: hosts.into_iter().collect(),
            names: BTreeMap::new(),
            live: LiveNodes::new(seeds.clone(), &chain),
            seeds,
            chain,
            book: Book::new(Default::default()),
            now: Instant::now(),
            limits: CycleLimits::default(),
            asked: RefCell::default(),
            randomness: Randomness::seeded(1),
            sequence: 0,
        }
    }

    pub(crate) fn set(&mut self, host: u8, does: Host) {
        self.hosts.insert(host, does);
    }

    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let resolve = |seed: &Node| match seed.address().ip() {
            Some(_) => vec![number(seed)],
            None => self.names.get(&seed.address().host()).cloned().unwrap_or_default(),
        };
        let socket = |i| std::net::SocketAddr::from(([10, 0, 0, i], 8000));
        let seeds: Vec<_> = self
            .seeds
            .iter()
            .map(|seed| ResolvedSeed { node: seed.clone(), addresses: resolve(seed).into_iter().map(socket).collect() })
            .collect();
        let standing =
            |node: &Node| self.book.health(node).map_or(Standing::Quarantined, |health| health.standing(self.now));
        candidates(&self.live, &seeds, standing, &self.randomness)
    }

    fn does(&self, host: u8, scope: &Scope) -> Option<Reply> {
        let list = |nodes: &[u8]| match nodes {
            [] => Reply::Empty,
            nodes => Reply::Nodes(nodes.iter().map(|i| at(*i)).collect()),
        };
        match self.hosts.get(&host).unwrap_or(&Host::Refuses) {
            Host::Lists(nodes) => Some(list(nodes)),
            Host::Knows(one, two) => Some(list(if scope.path().contains("dc=two") { two } else { one })),
            Host::Empty => Some(Reply::Empty),
            Host::Refuses => Some(Reply::Failed),
            Host::Hangs => None,
        }
    }

    /// One cycle to its end; time passes only when nobody answers.
    pub(crate) fn verdict(&mut self) -> Verdict {
        self.sequence += 1;
        self.asked.borrow_mut().clear();
        let mut cycle = Cycle::new(self.sequence, self.chain.clone(), self.candidates(), self.limits, self.now);
        let mut out = Vec::new();
        loop {
            match cycle.step(self.now) {
                Step::Ask(question) => {
                    let host = number(&question.candidate.host());
                    self.asked.borrow_mut().push((host, question.scope.clone()));
                    out.push((question.ticket, self.does(host, &question.scope)));
                }
                Step::Wait(until) => match out.iter().position(|(_, reply)| reply.is_some()) {
                    Some(place) => {
                        let (ticket, reply) = out.remove(place);
                        cycle.reply(ticket, reply.unwrap());
                    }
                    None => self.now = until,
                },
                Step::Done(verdict) => return verdict,
            }
        }
    }

    pub(crate) fn cycle(&mut self) -> Change {
        let verdict = self.verdict();
        let (live, change) = self.live.apply(&verdict).expect("cycles come in order");
        self.live = live;
        self.now += Duration::from_secs(1);
        change
    }

    /// The nodes that requests may go to, after one more cycle.
    pub(crate) fn routes(&mut self) -> Vec<u8> {
        self.cycle();
        sorted(self.live.routing().iter())
    }

    pub(crate) fn asked(&self) -> Vec<u8> {
        self.asked.borrow().iter().map(|(host, _)| *host).collect()
    }
}

pub(crate) fn data_center(name: &str) -> ScopeChain {
    ScopeChain::only(Scope::data_center(name).unwrap())
}
