//! What a cycle asks, and what it takes as a reply.

use std::time::Duration;

use tokio::time::Instant;

use super::{Candidate, Verdict};
use crate::alternator::{
    localnodes::{BodyError, Listed},
    node::Node,
    scope::Scope,
};

/// How long a cycle and its questions may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleLimits {
    pub(super) attempt: Duration,
    pub(super) cycle: Duration,
    pub(super) parallel: usize,
}

impl Default for CycleLimits {
    /// 5 seconds a question, 30 seconds a cycle, 3 questions at a time.
    fn default() -> Self {
        Self { attempt: Duration::from_secs(5), cycle: Duration::from_secs(30), parallel: 3 }
    }
}

impl CycleLimits {
    /// The longest that one question may take.
    #[must_use]
    pub const fn with_attempt(mut self, attempt: Duration) -> Self {
        self.attempt = attempt;
        self
    }

    /// The longest that a cycle may take.
    #[must_use]
    pub const fn with_cycle(mut self, cycle: Duration) -> Self {
        self.cycle = cycle;
        self
    }

    /// How many questions are out at a time; 0 counts as 1.
    #[must_use]
    pub const fn with_parallel(mut self, parallel: usize) -> Self {
        self.parallel = if parallel == 0 { 1 } else { parallel };
        self
    }
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A list of nodes.
    Nodes(Vec<Node>),
    /// A well-formed answer with status 200 and no node in it.
    Empty,
    /// No answer, another status, or a body that says nothing.
    Failed,
}

impl From<Result<Listed, BodyError>> for Reply {
    fn from(body: Result<Listed, BodyError>) -> Self {
        match body {
            Ok(listed) if listed.nodes.is_empty() => Self::Empty,
            Ok(listed) => Self::Nodes(listed.nodes),
            Err(_) => Self::Failed,
        }
    }
}

/// Names a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub(super) usize);

/// A question to send: `GET` of the scope's [path](Scope::path) from a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What to give to [`Cycle::reply`](super::Cycle::reply).
    pub ticket: Ticket,
    /// Whom to ask.
    pub candidate: Candidate,
    /// What about.
    pub scope: Scope,
    /// When to give up.
    pub deadline: Instant,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this, then ask again what to do.
    Ask(Question),
    /// Wait for a reply, at most until then.
    Wait(Instant),
    /// The cycle has ended; what is still out may be dropped.
    Done(Verdict),
}
