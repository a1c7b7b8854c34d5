//! The reconnection plan for people to read: every entry, why it is there, and what is left out.

use std::{fmt, sync::Arc};

use messina_layers::error::printable;
use uuid::Uuid;

use super::{
    Known, Shared,
    plan::{Plan, Source},
};
use crate::{
    endpoint::Endpoint,
    establish::Opener,
    table::Table,
    topology::{Admission, Refusal},
};

/// Where the next control connection would be looked for, in order, and why. Nothing is looked up for it.
///
/// `Display` is a table; with feature `serde` it serialises.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReconnectionPlan {
    /// What would be tried, in this order, until somebody is accepted.
    pub entries: Vec<PlannedEntry>,
    /// What would not be tried.
    pub left_out: Vec<LeftOut>,
}

/// One entry of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlannedEntry {
    /// A node, from the policy's plan.
    Node {
        /// Who it is.
        host_id: Uuid,
        /// How it is dialled.
        endpoint: Endpoint,
        /// Whether it has a connection, which speaks for trying it first.
        connected: bool,
    },
    /// A contact point, behind the policy's plan: its name is looked up when its turn comes.
    ContactPoint {
        /// As it was written.
        name: Arc<str>,
        /// Why the contact points are there.
        why: FallbackReason,
    },
}

/// Why contact points end a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FallbackReason {
    /// `fallback-to-original-contact-points` is on.
    Wanted,
    /// No node is known.
    NothingElse,
}

/// Something that is not part of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftOut {
    /// A node that is not wanted at the other end.
    Node {
        /// Who it is.
        host_id: Uuid,
        /// How it would be dialled.
        endpoint: Endpoint,
        /// Why it is not wanted.
        reason: Refusal,
    },
    /// A node that is left alone: nodes of its data centre get no connections.
    LeftAlone {
        /// Who it is.
        host_id: Uuid,
        /// How it would be dialled.
        endpoint: Endpoint,
    },
    /// The contact points, since `fallback-to-original-contact-points` is off.
    FallbackIsOff,
    /// The contact points, since the topology monitor leads to every node wherever it moves. After a walk in vain they
    /// are tried all the same.
    MonitorFindsNodes,
}

/// The plan as it would be composed now.
pub(crate) fn explain(
    known: Vec<Known>,
    refuses: impl Fn(Uuid) -> Option<Refusal>,
    opener: &Opener,
    shared: &Shared,
) -> ReconnectionPlan {
    let snapshot = shared.topology.snapshot();
    let reresolves = shared.monitor.reresolves_node_addresses(&snapshot);
    let admission = Admission::new(&shared.topology, shared.filter.clone(), refuses, true);
    let empty = known.is_empty();
    let mut plan = ReconnectionPlan::default();
    // The very composition that is walked.
    for entry in Plan::new(known.clone().into_iter(), opener, reresolves, false) {
        match entry.source {
            Source::Node(host_id) => {
                let connected = known.iter().any(|node| node.host_id == host_id && node.connected);
                let endpoint = entry.target.endpoint().target().clone();
                match admission.host(host_id) {
                    None => plan.entries.push(PlannedEntry::Node { host_id, endpoint, connected }),
                    Some(reason) => plan.left_out.push(LeftOut::Node { host_id, endpoint, reason }),
                }
            }
            Source::ContactPoint(name) => {
                let why = if empty { FallbackReason::NothingElse } else { FallbackReason::Wanted };
                plan.entries.push(PlannedEntry::ContactPoint { name, why });
            }
        }
    }
    for ignored in snapshot.nodes().iter().filter(|node| !known.iter().any(|known| known.host_id == node.host_id)) {
        let Some(endpoint) = ignored.endpoint() else { continue };
        let host_id = ignored.host_id;
        plan.left_out.push(match snapshot.is_ignored(host_id) {
            true => LeftOut::Node { host_id, endpoint, reason: Refusal::Ignored },
            false => LeftOut::LeftAlone { host_id, endpoint },
        });
    }
    if !plan.entries.iter().any(|entry| matches!(entry, PlannedEntry::ContactPoint { .. })) {
        let off = !opener.config().fallback_to_contact_points;
        plan.left_out.push(if off { LeftOut::FallbackIsOff } else { LeftOut::MonitorFindsNodes });
    }
    plan
}

impl fmt::Display for PlannedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node { host_id, endpoint, .. } => write!(f, "node {host_id} at {endpoint}"),
            Self::ContactPoint { name, .. } => write!(f, "contact point {}", printable(name)),
        }
    }
}

impl PlannedEntry {
    /// Why it is there, in one clause.
    #[must_use]
    pub fn why(&self) -> &'static str {
        match self {
            Self::Node { connected: true, .. } => "the policy's plan: it has a connection",
            Self::Node { connected: false, .. } => "the policy's plan: it has no connection",
            Self::ContactPoint { why: FallbackReason::Wanted, .. } => "fallback-to-original-contact-points is on",
            Self::ContactPoint { why: FallbackReason::NothingElse, .. } => "no node is known",
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node { host_id, endpoint, reason } => write!(f, "node {host_id} at {endpoint}: {reason}"),
            Self::LeftAlone { host_id, endpoint } => {
                write!(f, "node {host_id} at {endpoint}: nodes of its data centre get no connections")
            }
            Self::FallbackIsOff => f.write_str("the contact points: fallback-to-original-contact-points is off"),
            Self::MonitorFindsNodes => f.write_str(
                "the contact points: the topology monitor leads to every node wherever it moves; after a walk in vain \
                 they are tried all the same",
            ),
        }
    }
}

impl fmt::Display for ReconnectionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entries.is_empty() {
            f.write_str("no control connection is looked for")?;
        } else {
            let mut table = Table::new().number("").text("where").text("why");
            for (place, entry) in (1..).zip(&self.entries) {
                table.row([place.to_string(), entry.to_string(), entry.why().to_owned()]);
            }
            write!(f, "{table}")?;
        }
        for left_out in &self.left_out {
            write!(f, "\nleft out: {left_out}")?;
        }
        Ok(())
    }
}
