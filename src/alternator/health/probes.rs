//! Which node is probed next.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use super::{Book, Health, State};
use crate::alternator::{node::Node, nodes::NodeList, pace::after};

/// How many background probes may wait, for each one that may run.
const WAITING: usize = 17;

/// How nodes are probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeOptions {
    every: Duration,
    concurrency: usize,
    timeout: Duration,
}

impl Default for ProbeOptions {
    /// Every 30 seconds, at most 4 at a time, each for at most 5 seconds.
    fn default() -> Self {
        Self { every: Duration::from_secs(30), concurrency: 4, timeout: Duration::from_secs(5) }
    }
}

impl ProbeOptions {
    /// How often a node that is not active is probed; zero switches background probes off.
    #[must_use]
    pub const fn with_every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// How many probes run at a time, from 1 to 64.
    #[must_use]
    pub const fn with_concurrency(mut self, probes: usize) -> Self {
        self.concurrency = match probes {
            0 => 1,
            65.. => 64,
            probes => probes,
        };
        self
    }

    /// How long a probe may take.
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

/// Why a node is probed; earlier ones go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbePriority {
    /// It was asked for, or the node is newly listed.
    Explicit,
    /// The node is down.
    Down,
    /// The node is quarantined.
    Quarantined,
}

/// A probe to send: `GET /localnodes` of the node itself. Any answer with status 200 proves life, an empty one too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The node to ask.
    pub node: Node,
    /// What to give to [`Book::record`] with the outcome.
    pub generation: u64,
    /// When to give up.
    pub deadline: Instant,
}

/// The probes that wait and those that run: at most one that runs per node.
///
/// Whoever sends them calls [`schedule`](Self::schedule) from time to time, [`start`](Self::start) until it gives
/// nothing, and [`finished`](Self::finished) after each.
#[derive(Clone, Debug)]
pub struct Probes {
    options: ProbeOptions,
    waiting: [VecDeque<Node>; 3],
    running: HashSet<Node>,
    last: HashMap<Node, Instant>,
}

impl Probes {
    /// No probe yet.
    #[must_use]
    pub fn new(options: ProbeOptions) -> Self {
        Self { options, waiting: Default::default(), running: HashSet::new(), last: HashMap::new() }
    }

    /// Asks for a probe of a node before all background ones, whatever its state.
    pub fn request(&mut self, node: &Node) {
        self.cancel(node);
        let queue = &mut self.waiting[ProbePriority::Explicit as usize];
        if !queue.contains(node) {
            queue.push_back(node.clone());
        }
    }

    /// Lets those wait in the background that are not active and were not probed for a while. The nodes that are down
    /// and those in quarantine have half of the room each.
    pub fn schedule(&mut self, nodes: &NodeList, book: &Book, now: Instant) {
        self.last.retain(|node, _| nodes.contains(node));
        if self.options.every.is_zero() {
            return;
        }
        for node in nodes {
            let priority = match book.health(node).map(Health::state) {
                Some(State::Down) => ProbePriority::Down,
                Some(State::Quarantined) => ProbePriority::Quarantined,
                Some(State::Active) | None => continue,
            };
            let due = self.last.get(node).is_none_or(|last| now.duration_since(*last) >= self.options.every);
            let room = self.waiting[priority as usize].len() < self.options.concurrency * WAITING / 2;
            if due && room && !self.is_known(node) {
                self.waiting[priority as usize].push_back(node.clone());
            }
        }
    }

    fn is_known(&self, node: &Node) -> bool {
        self.running.contains(node) || self.waiting.iter().any(|queue| queue.contains(node))
    }

    /// The probe to send now, if any may be sent. It runs until [`finished`](Self::finished).
    pub fn start(&mut self, book: &Book, now: Instant) -> Option<Probe> {
        if self.running.len() >= self.options.concurrency {
            return None;
        }
        let running = &self.running;
        let node = self.waiting.iter_mut().find_map(|queue| {
            // A node whose probe runs keeps the place of its next one.
            let place = queue.iter().position(|node| !running.contains(node))?;
            queue.remove(place)
        })?;
        self.running.insert(node.clone());
        self.last.insert(node.clone(), now);
        let generation = book.generation(&node);
        Some(Probe { node, generation, deadline: after(now, self.options.timeout) })
    }

    /// A probe has ended, in whatever way.
    pub fn finished(&mut self, node: &Node) {
        self.running.remove(node);
    }

    /// An answered request makes the background probe needless that waits for its node.
    pub fn answered(&mut self, node: &Node) {
        self.cancel(node);
    }

    fn cancel(&mut self, node: &Node) {
        for queue in &mut self.waiting[ProbePriority::Down as usize..] {
            queue.retain(|waiting| waiting != node);
        }
    }

    /// How many probes wait with a priority.
    #[must_use]
    pub fn waiting(&self, priority: ProbePriority) -> usize {
        self.waiting[priority as usize].len()
    }

    /// How many probes run.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.len()
    }
}
