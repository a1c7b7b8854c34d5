//! The first connect: contact point after contact point, until one lets us in.

use std::sync::Arc;

use messina_layers::{BoxConnect, ConnectError};
use tower::ServiceExt;

use super::Way;
use crate::{
    config::Config,
    connection::{Events, event_channel},
    endpoint::{ContactPoint, Endpoint},
    error::{ContactPointFailed, Error},
    establish::{Accepted, Open},
};

/// The event types that a control connection registers for.
pub(super) const EVENTS: [&str; 3] = ["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"];
/// Events that may wait to be read; beyond it they count as missed, which leads to a full refresh.
pub(super) const EVENT_QUEUE: usize = 256;

/// The first control connection, and what it latched.
#[derive(Debug)]
pub(crate) struct First {
    pub(super) accepted: Accepted,
    pub(super) events: Events,
    pub(super) way: Way,
}

impl First {
    /// Tries the contact points in their order.
    ///
    /// # Errors
    /// If none could be connected to: every contact point with every attempt at it.
    pub(crate) async fn connect(config: &Arc<Config>, stack: &BoxConnect<Open, Accepted>) -> Result<Self, Error> {
        let mut failed = Vec::new();
        for contact_point in &config.contact_points {
            let target = Open::new(contact_point.endpoint().clone(), Arc::clone(config));
            match connect(target, stack).await {
                Ok((accepted, events, way)) => return Ok(Self { accepted, events, way }),
                Err(error) => {
                    warn(contact_point, &error);
                    failed.push(ContactPointFailed::new(contact_point.to_string(), error));
                }
            }
        }
        let error = Error::unreachable(failed);
        if error.contact_points().iter().all(|failed| failed.error.class() == messina_layers::Class::Auth) {
            tracing::warn!("every contact point refused the login; check the credentials");
        }
        Err(error)
    }

    /// The cluster's name, which every later connection must find again.
    pub(crate) fn cluster_name(&self) -> &str {
        &self.accepted.cluster_name
    }

    /// The protocol version, which every later connection speaks.
    pub(crate) fn version(&self) -> crate::protocol::ProtocolVersion {
        self.accepted.dialect.version
    }
}

/// Opens a control connection.
pub(super) async fn connect(
    target: Open,
    stack: &BoxConnect<Open, Accepted>,
) -> Result<(Accepted, Events, Way), ConnectError> {
    let (sink, events) = event_channel(EVENT_QUEUE);
    let target = target.with_events(sink, EVENTS);
    let endpoint: Endpoint = target.endpoint().target().clone();
    let established = stack.clone().oneshot(target).await?;
    let way = Way { endpoint, addr: established.addr };
    Ok((established.connection, events, way))
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
