//! One entry of a plan: connecting, and deciding whether who answers becomes the control node.

use std::{mem, sync::Arc};

use messina_layers::{BoxConnect, Class, ConnectError, Dial, FailedAttempt, GivenUp, error::AttemptError};
use tokio::time::Instant;
use tower::ServiceExt;

use super::{
    Shared, Way,
    live::{Live, Read},
    plan::{Entry, Source},
};
use crate::{
    config::{Config, Said},
    connection::event_channel,
    error::{ContactPointFailed, stage},
    establish::{Accepted, FailedBefore, NotWanted, Open, Round, reason},
    topology::{Admission, SessionEvent},
};

/// How what is said in an outage begins; a control connection that comes about ends it.
pub(super) const OUTAGE: &str = "no control connection: ";

/// The event types that a control connection registers for, before those of the topology monitor.
const EVENTS: [&str; 3] = ["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"];
/// Events that may wait to be read; beyond it they count as missed, which leads to a full refresh.
const EVENT_QUEUE: usize = 256;

/// What the entries of one round are tried with.
pub(super) struct Attempts<'a> {
    pub(super) stack: BoxConnect<Open, Accepted>,
    pub(super) config: Arc<Config>,
    pub(super) shared: &'a Shared,
    pub(super) admission: Admission,
    round: Round,
    events: Arc<[&'static str]>,
    /// Entries that failed, in their order.
    pub(super) failed: Vec<ContactPointFailed>,
}

/// A connection to somebody who may become the control node, and what was read there. Nothing is published yet.
pub(super) struct Adopted {
    pub(super) live: Live,
    pub(super) read: Read,
}

impl<'a> Attempts<'a> {
    /// A round in which nothing failed yet.
    pub(super) fn new(
        stack: BoxConnect<Open, Accepted>,
        config: Arc<Config>,
        shared: &'a Shared,
        admission: Admission,
    ) -> Self {
        let events = EVENTS.iter().chain(shared.monitor.events()).copied().collect();
        Self { stack, config, shared, admission, round: Round::default(), events, failed: Vec::new() }
    }

    /// Goes on with the plan until somebody may become the control node.
    pub(super) async fn walk(&mut self, plan: &mut (impl Iterator<Item = Entry> + Send)) -> Option<Adopted> {
        for entry in plan {
            match self.enter(&entry).await {
                Ok(adopted) => return Some(adopted),
                Err(error) => self.note(&entry, error),
            }
        }
        None
    }

    fn note(&mut self, entry: &Entry, error: ConnectError) {
        match &entry.source {
            // Says nothing of the node, which may serve through other connections.
            Source::Node(_) => warn(entry, &error, &self.config.said),
            Source::ContactPoint(name) => {
                warn(entry, &error, &self.config.said);
                self.shared.topology.tell(SessionEvent::ContactPointFailed {
                    name: Arc::clone(name),
                    attempts: error.failed().into(),
                    error: Arc::new(error.clone()),
                });
            }
        }
        let name = match &entry.source {
            Source::Node(_) => entry.to_string(),
            Source::ContactPoint(name) => name.to_string(),
        };
        self.failed.push(ContactPointFailed::new(name, error));
    }

    /// Tries one entry. An address that lets us in and then does not tell its nodes costs itself alone: the entry is
    /// connected to again without it, as often as it may have candidates.
    async fn enter(&self, entry: &Entry) -> Result<Adopted, ConnectError> {
        let target = entry.target.clone().in_round(&self.round).admitted_by(&self.admission);
        let mut lost = Vec::new();
        for _ in 0..self.config.connect.cap {
            let (sink, events) = event_channel(EVENT_QUEUE);
            let opened = self.stack.clone().oneshot(target.clone().with_events(sink, Arc::clone(&self.events))).await;
            let established = match opened {
                Ok(established) => established,
                Err(error) => {
                    self.tell_refused(error.failed());
                    return Err(with_lost(error, lost));
                }
            };
            self.tell_refused(&established.failed);
            lost.extend(established.failed.into_iter().filter(|failed| failed.error.find::<GivenUp>().is_none()));
            let way = Way { endpoint: target.endpoint().target().clone(), addr: established.addr };
            let (addr, started) = (way.addr, Instant::now());
            let adopted = Live::adopt(established.connection, events, way, self.config.control_timeout, self.shared);
            let (error, lets_go_on) = match adopted.await {
                Ok((live, read)) => match self.admission.node(&live.local) {
                    None => return Ok(Adopted { live, read }),
                    // Somebody else than expected answered, or things changed meanwhile.
                    Some(reason) => {
                        let host_id = live.host_id();
                        self.shared.topology.tell(SessionEvent::CandidateRefused { host_id, reason });
                        (AttemptError::new(stage::ADOPTION, NotWanted { host_id, reason }), false)
                    }
                },
                Err(error) => {
                    let why = messina_layers::error::chain(&*error).to_string();
                    if self.config.said.first(format!("{OUTAGE}{entry}: node list: {why}")) {
                        tracing::warn!(%entry, %addr, "connected, but the node list could not be read: {why}");
                    } else {
                        tracing::debug!(%entry, %addr, "connected, but the node list could not be read: {why}");
                    }
                    (AttemptError::from_box(error, stage::NODES), true)
                }
            };
            if lets_go_on {
                self.round.exclude(&target, addr, error.clone());
            }
            lost.push(FailedAttempt::new(addr, error, started.elapsed()));
            if !lets_go_on {
                break;
            }
        }
        Err(ConnectError::Exhausted { target: target.address(), failed: lost })
    }

    fn tell_refused(&self, failed: &[FailedAttempt]) {
        for failed in failed {
            if let Some(NotWanted { host_id, reason }) = failed.error.find::<NotWanted>() {
                let (host_id, reason) = (*host_id, *reason);
                self.shared.topology.tell(SessionEvent::CandidateRefused { host_id, reason });
            }
        }
    }
}

/// The error with what was lost before it, in place of the word that those addresses were left out.
fn with_lost(mut error: ConnectError, mut lost: Vec<FailedAttempt>) -> ConnectError {
    if let ConnectError::Rejected { failed, .. }
    | ConnectError::Exhausted { failed, .. }
    | ConnectError::OutOfTime { failed, .. }
    | ConnectError::NotReady { failed, .. } = &mut error
    {
        let known = |failed: &FailedAttempt| {
            failed.error.find::<FailedBefore>().is_some() && lost.iter().any(|lost| lost.addr == failed.addr)
        };
        let after: Vec<_> = mem::take(failed).into_iter().filter(|failed| !known(failed)).collect();
        lost.extend(after);
        *failed = lost;
    }
    error
}

/// Each reason once per outage, and again at debug.
fn warn(entry: &Entry, error: &ConnectError, said: &Said) {
    let why = match error {
        ConnectError::Resolve { source, .. } => {
            format!("its name could not be looked up: {}", messina_layers::error::chain(&**source))
        }
        ConnectError::NoAddress { .. } => "its name has no address".to_owned(),
        _ => format!("could not connect: {}", error.report()),
    };
    let login_refused = error.class() == Class::Auth;
    if said.first(format!("{OUTAGE}{entry}: {}", reason(error))) {
        tracing::warn!(%entry, login_refused, "{why}");
    } else {
        tracing::debug!(%entry, login_refused, "{why}");
    }
}
