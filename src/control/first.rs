//! The first connect: contact point after contact point, until one lets us in and tells the nodes.

use std::{mem, sync::Arc};

use messina_layers::{BoxConnect, Class, ConnectError, Dial, FailedAttempt, GivenUp, error::AttemptError};
use tokio::time::Instant;
use tower::ServiceExt;

use super::{
    Way,
    keeping::{Live, Shared},
};
use crate::{
    config::Config,
    connection::{Events, event_channel},
    endpoint::{ContactPoint, Endpoint},
    error::{ContactPointFailed, Error, stage},
    establish::{Accepted, FailedBefore, Open, Round},
    topology::Snapshot,
};

/// The event types that a control connection registers for.
const EVENTS: [&str; 3] = ["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"];
/// Events that may wait to be read; beyond it they count as missed, which leads to a full refresh.
const EVENT_QUEUE: usize = 256;

/// The first control connection, what it latched, and the nodes that it told.
pub(crate) struct First {
    pub(super) live: Live,
    pub(super) snapshot: Arc<Snapshot>,
}

impl First {
    /// Tries the contact points in their order.
    ///
    /// # Errors
    /// If none could be connected to: every contact point with every attempt at it.
    pub(crate) async fn connect(
        config: &Arc<Config>,
        stack: &BoxConnect<Open, Accepted>,
        shared: &Shared,
    ) -> Result<Self, Error> {
        let round = Round::default();
        let mut failed = Vec::new();
        for contact_point in &config.contact_points {
            match enter(contact_point, config, stack, &round, shared).await {
                Ok(first) => return Ok(first),
                Err(error) => {
                    warn(contact_point, &error);
                    failed.push(ContactPointFailed::new(contact_point.to_string(), error));
                }
            }
        }
        let error = Error::unreachable(failed);
        if error.contact_points().iter().all(|failed| failed.error.class() == Class::Auth) {
            tracing::warn!("every contact point refused the login; check the credentials");
        }
        Err(error)
    }

    /// The cluster's name, which every later connection must find again.
    pub(crate) fn cluster_name(&self) -> &str {
        &self.live.accepted.cluster_name
    }

    /// The protocol version, which every later connection speaks.
    pub(crate) fn version(&self) -> crate::protocol::ProtocolVersion {
        self.live.accepted.dialect.version
    }
}

/// One contact point. An address that lets us in and then does not tell its nodes costs itself alone: the contact
/// point is connected to again without it, as often as it may have candidates.
async fn enter(
    contact_point: &ContactPoint,
    config: &Arc<Config>,
    stack: &BoxConnect<Open, Accepted>,
    round: &Round,
    shared: &Shared,
) -> Result<First, ConnectError> {
    let target = Open::new(contact_point.endpoint().clone(), Arc::clone(config)).in_round(round);
    let mut lost = Vec::new();
    for _ in 0..config.connect.cap {
        let Opened { accepted, events, way, failed } = match connect(target.clone(), stack).await {
            Ok(opened) => opened,
            Err(error) => return Err(with_lost(error, lost)),
        };
        lost.extend(failed.into_iter().filter(|failed| failed.error.find::<GivenUp>().is_none()));
        let (addr, started) = (way.addr, Instant::now());
        match Live::adopt(accepted, events, way, config.init_timeout, shared).await {
            Ok((live, snapshot)) => return Ok(First { live, snapshot }),
            Err(error) => {
                let why = messina_layers::error::chain(&*error).to_string();
                tracing::warn!(%contact_point, %addr, "connected, but the node list could not be read: {why}");
                let error = AttemptError::from_box(error, stage::NODES);
                round.exclude(&target, addr, error.clone());
                lost.push(FailedAttempt::new(addr, error, started.elapsed()));
            }
        }
    }
    Err(ConnectError::Exhausted { target: target.address(), failed: lost })
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

/// A control connection that was opened, with the attempts that failed before.
pub(super) struct Opened {
    pub(super) accepted: Accepted,
    pub(super) events: Events,
    pub(super) way: Way,
    failed: Vec<FailedAttempt>,
}

/// Opens a control connection.
pub(super) async fn connect(target: Open, stack: &BoxConnect<Open, Accepted>) -> Result<Opened, ConnectError> {
    let (sink, events) = event_channel(EVENT_QUEUE);
    let target = target.with_events(sink, EVENTS);
    let endpoint: Endpoint = target.endpoint().target().clone();
    let established = stack.clone().oneshot(target).await?;
    let way = Way { endpoint, addr: established.addr };
    Ok(Opened { accepted: established.connection, events, way, failed: established.failed })
}

fn warn(contact_point: &ContactPoint, error: &ConnectError) {
    match error {
        ConnectError::Resolve { source, .. } => {
            let why = messina_layers::error::chain(&**source);
            tracing::warn!(%contact_point, "the contact point could not be looked up: {why}");
        }
        ConnectError::NoAddress { .. } => tracing::warn!(%contact_point, "the contact point has no address"),
        // The connect stack has warned already, with the whole table.
        _ => {}
    }
}
