//! The cluster behind a session, and the control connection that tells it.

use std::sync::{Arc, PoisonError};

use super::Session;
use crate::{
    control,
    error::{Error, Kind},
    topology::{SchemaAgreement, SessionEvents, Snapshot, schema::Schema},
};

/// The cluster, and the control connection that tells it.
impl Session {
    /// The cluster as the session knows it now: nodes, token ring, what was skipped and why.
    #[must_use]
    pub fn topology(&self) -> Arc<Snapshot> {
        self.inner.topology.snapshot()
    }

    /// The schema as the session knows it now; empty until it was read, and where the builder's `schema_metadata` is not set.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        self.inner.topology.schema()
    }

    /// Hears what happens to the session from now on: nodes, control connection, contact points.
    #[must_use]
    pub fn events(&self) -> SessionEvents {
        self.inner.topology.bus().subscribe()
    }

    /// Reads the nodes now, instead of at the next event; for at most the request timeout.
    ///
    /// Without a control connection it waits for the next one. Dropping the future does not stop the read.
    ///
    /// # Errors
    /// `Kind::Connection` if the nodes could not be read, `Kind::Timeout`, `Kind::Closed`.
    pub async fn refresh_topology(&self) -> Result<Arc<Snapshot>, Error> {
        let limit = self.config().request_timeout;
        self.control()?.refresh(limit).await
    }

    /// Looks for another control connection; the old one is closed once the new one is up, and stays if there is none.
    ///
    /// Waits for at most the request timeout; the search goes on beyond it.
    ///
    /// # Errors
    /// `Kind::Unreachable` with every entry of the plan and every attempt, `Kind::Timeout`, `Kind::Closed`.
    pub async fn reconnect_control(&self) -> Result<Arc<Snapshot>, Error> {
        let limit = self.config().request_timeout;
        self.control()?.reconnect(limit).await
    }

    /// Waits until all connected nodes have the same version of the schema: 10 s at most, with a look every 200 ms,
    /// unless settings say otherwise.
    ///
    /// # Errors
    /// `Kind::Closed`. Nodes that do not agree are no error: see [`SchemaAgreement::agreed`].
    pub async fn await_schema_agreement(&self) -> Result<SchemaAgreement, Error> {
        let config = self.config();
        let nodes = &self.inner.nodes;
        let up = || {
            let connected = |node: &Arc<crate::pool::Node>| node.connection().is_some();
            nodes.all().iter().filter(|node| connected(node)).map(|node| node.host_id()).collect()
        };
        Ok(self.control()?.await_agreement(&config, up).await)
    }

    fn control(&self) -> Result<control::Handle, Error> {
        let control = self.inner.control.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = control.as_ref().map(control::Control::handle);
        handle.ok_or_else(|| Error::new(Kind::Closed, "the session has no control connection"))
    }
}
