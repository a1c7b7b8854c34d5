//! The cluster behind a session, and the control connection that tells it.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use uuid::Uuid;

use super::{Inner, ResultSet, Session};
use crate::{
    control,
    error::{Error, Kind},
    topology::{SchemaAgreement, SessionEvents, Snapshot, Tablets, schema::Schema},
};

/// The cluster, and the control connection that tells it.
impl Session {
    /// The cluster as the session knows it now: nodes, token ring, what was skipped and why.
    #[must_use]
    pub fn topology(&self) -> Arc<Snapshot> {
        self.inner.topology.snapshot()
    }

    /// The schema as the session knows it now; empty until it was read, and where the builder's
    /// `schema_metadata` is false.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        self.inner.topology.schema()
    }

    /// The tablets of a table, as far as the session knows them now: what the server told of requests that met a node or shard
    /// without their data (ScyllaDB). Tables whose data is on the token ring have none.
    #[must_use]
    pub fn tablets(&self, keyspace: &str, table: &str) -> Arc<Tablets> {
        self.inner.nodes.tablets().now(keyspace, table)
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
        Ok(self.control()?.await_agreement(&config, || self.inner.connected(), || None).await)
    }

    fn control(&self) -> Result<control::Handle, Error> {
        let closed = || Error::new(Kind::Closed, "the session has no control connection");
        self.inner.control().ok_or_else(closed)
    }
}

impl Inner {
    fn control(&self) -> Option<control::Handle> {
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        control.as_ref().map(control::Control::handle)
    }

    /// The nodes that are connected.
    fn connected(&self) -> HashSet<Uuid> {
        let nodes = self.nodes.all();
        nodes.iter().filter(|node| node.is_connected()).map(|node| node.host_id()).collect()
    }

    /// A result that says what it changed in the schema, once the nodes agree on that and the session knows it; or once the
    /// time for it is up.
    pub(super) async fn agreed(&self, mut result: ResultSet) -> Result<ResultSet, Error> {
        let (Some(change), Some(control)) = (result.schema_change(), self.control()) else { return Ok(result) };
        let (config, node) = (self.config.get(), result.served_by().host_id);
        let keyspace = change.target.keyspace().to_owned();
        let changed_by = || self.nodes.all().iter().find(|other| other.host_id() == node)?.connection();
        let agreement = control.await_agreement(&config, || self.connected(), changed_by).await;
        if agreement.agreed && config.schema {
            control.read_schema(keyspace, config.control_timeout).await;
        }
        result.set_agreement(agreement);
        Ok(result)
    }
}
