//! The first connect: contact point after contact point, until one lets us in and tells the nodes.

use std::sync::Arc;

use messina_layers::{BoxConnect, Class};

use super::{
    Shared,
    enter::{Adopted, Attempts},
    plan::Entry,
};
use crate::{
    config::Config,
    error::Error,
    establish::{Accepted, Open},
    protocol::ProtocolVersion,
    topology::Admission,
};

/// The first control connection, what it latched, and the nodes that it told.
pub(crate) struct First {
    pub(super) adopted: Adopted,
}

impl First {
    /// Tries the contact points, each once, in their order.
    ///
    /// # Errors
    /// If none could be connected to: every contact point with every attempt at it.
    pub(crate) async fn connect(
        config: &Arc<Config>,
        stack: &BoxConnect<Open, Accepted>,
        shared: &Shared,
    ) -> Result<Self, Error> {
        let admission = Admission::new(&shared.topology, shared.filter.clone(), |_| None, false);
        let mut attempts = Attempts::new(stack.clone(), Arc::clone(config), shared, admission);
        let mut plan = config.contact_points.iter().map(|point| Entry::first(point, config));
        if let Some(adopted) = attempts.walk(&mut plan).await {
            return Ok(Self { adopted });
        }
        let error = Error::unreachable(attempts.failed);
        if error.contact_points().iter().all(|failed| failed.error.class() == Class::Auth) {
            tracing::warn!("every contact point refused the login; check the credentials");
        }
        Err(error)
    }

    /// The cluster's name, which every later connection must find again.
    pub(crate) fn cluster_name(&self) -> &str {
        &self.adopted.live.accepted.cluster_name
    }

    /// The protocol version, which every later connection speaks.
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.adopted.live.accepted.dialect.version
    }
}
