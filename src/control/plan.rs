//! Where to look for a control connection, in which order.
//!
//! A plan is the policy's plan, here the nodes that the pools know, followed by the original contact points. It is
//! composed while it is walked: the policy's plan is only asked for its next entry, never changed, and nothing is
//! looked up; a contact point stays a name until it is tried.

use std::{fmt, sync::Arc};

use messina_layers::Pinned;
use uuid::Uuid;

use super::Known;
use crate::{
    config::Config,
    endpoint::{ContactPoint, Endpoint},
    establish::{Open, Opener},
};

/// One entry of a plan.
pub(super) struct Entry {
    /// Where to connect.
    pub(super) target: Open,
    /// The node that is expected there, or the contact point.
    pub(super) source: Source,
}

/// Where an entry comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The policy's plan.
    Node(Uuid),
    /// A contact point, by its name as it was written.
    ContactPoint(Arc<str>),
}

impl Entry {
    /// A contact point before anything is known of the cluster.
    pub(super) fn first(contact_point: &ContactPoint, config: &Arc<Config>) -> Self {
        let target = Open::new(contact_point.endpoint().clone(), Arc::clone(config));
        Self { target, source: Source::ContactPoint(contact_point.to_string().into()) }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Node(host_id) => write!(f, "node {host_id} at {}", self.target),
            Source::ContactPoint(name) => write!(f, "contact point {name}"),
        }
    }
}

/// Whether contact points end a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fallback {
    /// The option, as it is when the plan is made.
    pub(super) wanted: bool,
    /// The topology monitor finds every node again by itself.
    pub(super) reresolves: bool,
    /// The round before found nobody.
    pub(super) exhausted: bool,
}

impl Fallback {
    /// An empty plan has nothing else; one that was exhausted shows that the monitor knows no way either.
    const fn open(self, empty: bool) -> bool {
        empty || (self.wanted && (!self.reresolves || self.exhausted))
    }
}

/// A plan, composed as it is walked.
pub(super) struct Plan<'a, P> {
    policy: P,
    any: bool,
    opener: &'a Opener,
    config: Arc<Config>,
    fallback: Fallback,
    next_contact_point: usize,
}

impl<'a, P: Iterator<Item = Known>> Plan<'a, P> {
    /// The policy's plan, then the contact points as far as `fallback` says.
    pub(super) fn new(policy: P, opener: &'a Opener, reresolves: bool, exhausted: bool) -> Self {
        let config = opener.config();
        let fallback = Fallback { wanted: config.fallback_to_contact_points, reresolves, exhausted };
        Self { policy, any: false, opener, config, fallback, next_contact_point: 0 }
    }
}

impl<P> Plan<'_, P> {
    /// Whether the walk came as far as the contact points.
    pub(super) fn fell_back(&self) -> bool {
        self.next_contact_point > 0
    }
}

impl<P: Iterator<Item = Known>> Iterator for Plan<'_, P> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.next_contact_point == 0
            && let Some(known) = self.policy.next()
        {
            self.any = true;
            let target = self.opener.target(known.endpoint).expecting_host(known.host_id);
            return Some(Entry { target, source: Source::Node(known.host_id) });
        }
        if !self.fallback.open(!self.any) {
            return None;
        }
        let contact_point = self.config.contact_points.get(self.next_contact_point)?;
        self.next_contact_point += 1;
        let target = self.opener.target(Pinned::<Endpoint>::new(contact_point.endpoint().clone()));
        Some(Entry { target, source: Source::ContactPoint(contact_point.to_string().into()) })
    }
}
