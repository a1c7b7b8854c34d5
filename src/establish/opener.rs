//! Opening further connections of a session: the stack, and what the first connection latched.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use messina_layers::{BoxConnect, Pinned};

use super::{Accepted, Open, Seams, connect};
use crate::{
    config::{Config, LiveConfig},
    endpoint::Endpoint,
    metrics::SessionMetrics,
    protocol::ProtocolVersion,
};

/// What every connection after the first is opened with; cheap to clone.
///
/// Settings and stack are those of the moment: ask for them per connect, and keep neither.
#[derive(Clone, Debug)]
pub(crate) struct Opener {
    shared: Arc<Shared>,
    /// The cluster's name, which must be found again.
    cluster: Arc<str>,
    /// The version, which is spoken from now on.
    version: ProtocolVersion,
}

#[derive(Debug)]
struct Shared {
    seams: Seams,
    stack: ArcSwap<BoxConnect<Open, Accepted>>,
    config: LiveConfig,
    metrics: SessionMetrics,
    keyspace: Mutex<SessionKeyspace>,
}

/// The keyspace of every connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionKeyspace {
    pub(crate) name: Option<Arc<str>>,
    /// Grows with each change.
    pub(crate) change: u64,
}

impl Opener {
    /// Goes on with the stack and the settings of a first connection, which latched the cluster's name and version.
    pub(crate) fn new(
        stack: BoxConnect<Open, Accepted>,
        seams: Seams,
        config: LiveConfig,
        metrics: SessionMetrics,
        (cluster, version): (Arc<str>, ProtocolVersion),
    ) -> Self {
        let keyspace = SessionKeyspace { name: config.load().keyspace.clone(), change: 0 };
        let shared =
            Shared { seams, stack: ArcSwap::from_pointee(stack), config, metrics, keyspace: Mutex::new(keyspace) };
        Self { shared: Arc::new(shared), cluster, version }
    }

    /// The settings in force, for one connect, check or plan.
    pub(crate) fn config(&self) -> Arc<Config> {
        self.shared.config.get()
    }

    /// The settings in force, now and later.
    pub(crate) fn settings(&self) -> &LiveConfig {
        &self.shared.config
    }

    /// The stack in force, for one connect.
    pub(crate) fn stack(&self) -> BoxConnect<Open, Accepted> {
        BoxConnect::clone(&self.shared.stack.load())
    }

    /// The counters of the session.
    pub(crate) fn metrics(&self) -> &SessionMetrics {
        &self.shared.metrics
    }

    /// The cluster's name.
    pub(crate) fn cluster(&self) -> &Arc<str> {
        &self.cluster
    }

    /// The version that is spoken.
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// A target in this cluster, of which nothing else is known yet, under the settings in force.
    pub(crate) fn target(&self, endpoint: Pinned<Endpoint>) -> Open {
        let target = Open::new(endpoint, self.config()).expecting_cluster(Arc::clone(&self.cluster));
        target.with_version(self.version).in_keyspace(self.keyspace().name)
    }

    /// The keyspace that connections are to use, as of now.
    pub(crate) fn keyspace(&self) -> SessionKeyspace {
        self.locked_keyspace().clone()
    }

    /// Opens every later connection in this keyspace.
    pub(crate) fn change_keyspace(&self, name: Arc<str>) {
        let mut keyspace = self.locked_keyspace();
        *keyspace = SessionKeyspace { name: Some(name), change: keyspace.change + 1 };
    }

    fn locked_keyspace(&self) -> MutexGuard<'_, SessionKeyspace> {
        self.shared.keyspace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens every later connection with these settings.
    pub(crate) fn reconfigure(&self, config: Arc<Config>) {
        self.shared.stack.store(Arc::new(connect(&config, self.shared.seams.clone())));
        self.shared.config.replace(config);
    }
}
