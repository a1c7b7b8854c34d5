//! What a client knows of its nodes, for people.

use std::{fmt, sync::Arc, time::Duration};

use crate::alternator::{
    health::State,
    live_nodes::{Basis, NoRoute},
    node::Node,
};

/// What is known of the nodes at one moment. It prints as a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Where the list comes from.
    pub basis: Basis,
    /// The nodes that requests may go to, in canonical order.
    pub nodes: Vec<NodeStatus>,
}

/// What is known of one node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeStatus {
    /// The node.
    pub node: Node,
    /// Whether it answers.
    pub state: State,
    /// For how long it has been in this state.
    pub since: Duration,
    /// How many attempts it answered, with whatever status.
    pub answers: u64,
    /// How many attempts it did not answer.
    pub failures: u64,
    /// Why it did not answer in the last cycle of discovery, if it was asked in vain.
    pub last_error: Option<String>,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.basis {
            Basis::Start => writeln!(f, "nothing is discovered yet")?,
            Basis::Scope(scope) => writeln!(f, "nodes of {scope}")?,
            Basis::LastResort => writeln!(f, "nobody answers: the nodes last known and the seeds")?,
            Basis::Cleared => writeln!(f, "the scopes are without nodes")?,
        }
        for node in &self.nodes {
            let NodeStatus { node, state, since, answers, failures, last_error } = node;
            write!(f, "{node}  {state:?} for {since:.0?}  {answers} answers, {failures} failures")?;
            match last_error {
                Some(error) => writeln!(f, "  {error}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

/// No node told the nodes of a scope in time.
#[derive(Clone, Debug)]
pub struct NotReady {
    waited: Duration,
    closed: bool,
    no_route: Option<NoRoute>,
    failures: Vec<(Node, Arc<str>)>,
}

impl NotReady {
    pub(super) const fn new(
        waited: Duration,
        closed: bool,
        no_route: Option<NoRoute>,
        failures: Vec<(Node, Arc<str>)>,
    ) -> Self {
        Self { waited, closed, no_route, failures }
    }

    /// What was wrong with each host that was asked in the last cycle.
    pub fn failures(&self) -> impl Iterator<Item = (&Node, &str)> {
        self.failures.iter().map(|(node, error)| (node, &**error))
    }

    /// Why no request can be sent, if none can.
    #[must_use]
    pub const fn no_route(&self) -> Option<NoRoute> {
        self.no_route
    }
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.closed {
            return f.write_str("the client is closed");
        }
        write!(f, "no node has told the nodes of the cluster within {:?}", self.waited)?;
        for (i, (node, error)) in self.failures.iter().enumerate() {
            write!(f, "{}{node}: {error}", if i == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for NotReady {}
