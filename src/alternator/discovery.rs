//! One cycle of discovery: whom to ask next, and what the answers mean.
//!
//! The caller sends what [`Cycle::step`] says and brings back the replies; the [`Verdict`] goes to
//! [`LiveNodes::apply`](super::live_nodes::LiveNodes::apply). Several questions are out at a time; each has a deadline,
//! and so has the cycle, of which no single host can use up more than its share.

mod candidates;
mod question;
mod verdict;

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use tokio::time::Instant;

pub use self::{
    candidates::{Candidate, ResolvedSeed, candidates},
    question::{CycleLimits, Question, Reply, Step, Ticket},
    verdict::{Finding, Verdict},
};
use super::{node::Node, pace::after, scope::ScopeChain};

/// No question has less time than this, unless the cycle is over.
const SHORTEST: Duration = Duration::from_millis(100);

#[derive(Debug)]
struct Out {
    ticket: Ticket,
    candidate: usize,
    deadline: Instant,
}

/// How a scope ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    /// Whoever could be reached said that it has no node.
    Empty,
    /// Nobody could be reached, or what was listed cannot be.
    Failed,
}

/// A cycle under way.
#[derive(Debug)]
pub struct Cycle {
    sequence: u64,
    chain: ScopeChain,
    limits: CycleLimits,
    candidates: Vec<Candidate>,
    deadline: Instant,
    ended: Vec<Ended>,
    asked: usize,
    tickets: usize,
    out: Vec<Out>,
    union: Vec<Node>,
    partial: bool,
    empty: bool,
    /// Of each host asked in this cycle, whether its last reply was an answer.
    hosts: HashMap<Node, bool>,
    verdict: Option<Verdict>,
}

impl Cycle {
    /// Begins a cycle; a higher `sequence` is a later one.
    #[must_use]
    pub fn new(
        sequence: u64,
        chain: ScopeChain,
        candidates: Vec<Candidate>,
        limits: CycleLimits,
        now: Instant,
    ) -> Self {
        Self {
            sequence,
            chain,
            limits,
            candidates,
            deadline: after(now, limits.cycle),
            ended: Vec::new(),
            asked: 0,
            tickets: 0,
            out: Vec::new(),
            union: Vec::new(),
            partial: false,
            empty: false,
            hosts: HashMap::new(),
            verdict: None,
        }
    }

    /// What to do now. A question whose time is over counts as failed.
    pub fn step(&mut self, now: Instant) -> Step {
        let (over, out): (Vec<_>, _) = self.out.drain(..).partition(|out| out.deadline <= now);
        self.out = out;
        for question in over {
            self.take(question.candidate, Reply::Failed);
        }
        loop {
            if let Some(verdict) = &self.verdict {
                return Step::Done(verdict.clone());
            }
            if now >= self.deadline {
                self.partial = true;
                for question in std::mem::take(&mut self.out) {
                    self.take(question.candidate, Reply::Failed);
                }
                self.asked = self.candidates.len();
                self.end_scope(true);
                continue;
            }
            if self.asked < self.candidates.len() && self.out.len() < self.limits.parallel {
                return Step::Ask(self.ask(now));
            }
            if let Some(first) = self.out.iter().map(|out| out.deadline).min() {
                return Step::Wait(first);
            }
            self.end_scope(false);
        }
    }

    fn ask(&mut self, now: Instant) -> Question {
        let deadline = after(now, self.share(now));
        let (ticket, candidate) = (Ticket(self.tickets), self.asked);
        self.tickets += 1;
        self.asked += 1;
        self.out.push(Out { ticket, candidate, deadline });
        let scope = self.chain.scopes()[self.ended.len()].clone();
        Question { ticket, candidate: self.candidates[candidate].clone(), scope, deadline }
    }

    /// The time of a question: what is left, divided among the rounds that may still be needed.
    fn share(&self, now: Instant) -> Duration {
        let left = self.deadline.duration_since(now);
        let rounds = |questions: usize| questions.div_ceil(self.limits.parallel);
        let scopes_after = self.chain.scopes().len() - self.ended.len() - 1;
        let rounds = rounds(self.candidates.len() - self.asked) + scopes_after * rounds(self.candidates.len());
        let share = left / u32::try_from(rounds.max(1)).unwrap_or(u32::MAX);
        share.max(SHORTEST).min(self.limits.attempt).min(left)
    }

    /// Takes in a reply. One that comes too late, after its deadline or after its scope, is dropped.
    pub fn reply(&mut self, ticket: Ticket, reply: Reply) {
        let Some(place) = self.out.iter().position(|out| out.ticket == ticket) else { return };
        let candidate = self.out.swap_remove(place).candidate;
        self.take(candidate, reply);
    }

    fn take(&mut self, candidate: usize, reply: Reply) {
        if self.verdict.is_some() {
            return;
        }
        self.hosts.insert(self.candidates[candidate].host(), reply != Reply::Failed);
        match reply {
            Reply::Nodes(nodes) => {
                self.union.extend(nodes);
                let scope = &self.chain.scopes()[self.ended.len()];
                // A node knows all of a data centre, but without a filter only its own.
                if !scope.is_cluster() {
                    self.publish(false);
                }
            }
            Reply::Empty => {
                self.empty = true;
                self.partial = true;
            }
            Reply::Failed => self.partial = true,
        }
    }

    /// Ends the cycle with the nodes listed, unless each of them failed in it.
    fn publish(&mut self, partial: bool) {
        if let Some(verdict) = self.listed(partial) {
            self.out.clear();
            self.verdict = Some(verdict);
        }
    }

    fn listed(&self, partial: bool) -> Option<Verdict> {
        let failed = self.failed();
        let nodes: Vec<Node> = self.union.iter().filter(|node| !failed.contains(*node)).cloned().collect();
        let scope = self.chain.scopes().get(self.ended.len())?.clone();
        (!nodes.is_empty()).then(|| self.verdict(Finding::Nodes { scope, nodes, partial }))
    }

    /// What is known before the cycle has ended: the nodes listed so far, to be merged with those known before.
    ///
    /// A host that hangs thus does not keep a first list back.
    #[must_use]
    pub fn so_far(&self) -> Option<Verdict> {
        if self.verdict.is_some() { None } else { self.listed(true) }
    }

    fn end_scope(&mut self, out_of_time: bool) {
        self.publish(self.partial);
        if self.verdict.is_some() {
            return;
        }
        self.ended.push(if self.empty && self.union.is_empty() { Ended::Empty } else { Ended::Failed });
        self.asked = 0;
        self.union.clear();
        self.partial = false;
        self.empty = false;
        if out_of_time || self.ended.len() == self.chain.scopes().len() {
            let all = self.ended.len() == self.chain.scopes().len();
            let finding = if self.hosts.values().all(|answered| !answered) {
                Finding::Silence
            } else if all && !self.chain.allows_cluster() && self.ended.iter().all(|ended| *ended == Ended::Empty) {
                Finding::Empty
            } else {
                Finding::Unclear
            };
            self.verdict = Some(self.verdict(finding));
        }
    }

    fn verdict(&self, finding: Finding) -> Verdict {
        let answered = self.hosts.iter().filter(|(_, answered)| **answered).map(|(host, _)| host.clone()).collect();
        Verdict { sequence: self.sequence, finding, answered, failed: self.failed() }
    }

    /// The hosts whose last reply was a failure, and the names all of whose addresses failed.
    fn failed(&self) -> HashSet<Node> {
        let failed = |host: &Node| self.hosts.get(host) == Some(&false);
        let mut nodes: HashSet<Node> = self.hosts.keys().filter(|host| failed(host)).cloned().collect();
        let mut names: HashMap<&Node, bool> = HashMap::new();
        for candidate in &self.candidates {
            *names.entry(&candidate.node).or_insert(true) &= failed(&candidate.host());
        }
        nodes.extend(names.into_iter().filter(|(_, all)| *all).map(|(name, _)| name.clone()));
        nodes
    }
}
