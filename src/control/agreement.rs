//! Waiting until the nodes agree on the schema.

use std::{collections::HashSet, sync::Arc, time::Duration};

use messina_layers::{
    TimedOut,
    error::{BoxError, chain},
};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::handle::Handle;
use crate::{
    config::Config,
    connection::{Connection, Paging},
    protocol::response::Rows,
    topology::SchemaAgreement,
};

const LOCAL: &str = "SELECT schema_version FROM system.local WHERE key='local'";
const PEERS: &str = "SELECT host_id, schema_version FROM system.peers";

impl Handle {
    /// Looks at the versions of the control node and of the nodes that are `up`, until there is only one or time is up.
    ///
    /// What the control node says of others may be old: a node that is known to have changed the schema is asked itself, on
    /// the connection that `changed_by` gives.
    pub(crate) async fn await_agreement(
        &self,
        config: &Config,
        up: impl Fn() -> HashSet<Uuid>,
        changed_by: impl Fn() -> Option<Arc<Connection>>,
    ) -> SchemaAgreement {
        let started = Instant::now();
        let limit = config.agreement.timeout;
        let mut seen = SchemaAgreement::new(Vec::new(), Duration::ZERO);
        if !limit.is_zero() {
            let looks = async {
                loop {
                    match self.look(config.control_timeout, &up, changed_by()).await {
                        Ok(versions) => seen = SchemaAgreement::new(versions, started.elapsed()),
                        Err(error) => tracing::debug!(error = %chain(&*error), "no look at the schema versions"),
                    }
                    if seen.agreed {
                        return;
                    }
                    sleep(config.agreement.interval).await;
                }
            };
            // An interval between two looks may be as long as the wait: what was seen last is the answer then.
            let _ = timeout(limit, looks).await;
        }
        seen.elapsed = started.elapsed();
        if !seen.agreed && config.agreement.warn_on_failure {
            tracing::warn!(versions = ?seen.versions, waited = ?seen.elapsed, "the nodes do not agree on the schema");
        }
        seen
    }

    async fn look(
        &self,
        limit: Duration,
        up: impl Fn() -> HashSet<Uuid>,
        changed_by: Option<Arc<Connection>>,
    ) -> Result<Vec<Uuid>, BoxError> {
        let current = self.shared().current().ok_or("there is no control connection")?;
        let connection = &current.connection;
        let mut versions = Vec::new();
        for connection in changed_by.as_deref().into_iter().chain([connection]) {
            let local = query(connection, LOCAL, limit).await?;
            for row in local.typed::<(Option<Uuid>,)>()? {
                versions.extend(row?.0);
            }
        }
        let peers = query(connection, PEERS, limit).await?;
        let up = up();
        for row in peers.typed::<(Option<Uuid>, Option<Uuid>)>()? {
            let (host_id, version) = row?;
            if host_id.is_some_and(|host_id| up.contains(&host_id)) {
                versions.extend(version);
            }
        }
        versions.sort_unstable();
        versions.dedup();
        Ok(versions)
    }
}

async fn query(connection: &Connection, text: &str, limit: Duration) -> Result<Rows, BoxError> {
    let rows = timeout(limit, connection.ask_rows(text, Paging::default())).await;
    Ok(rows.map_err(|_elapsed| TimedOut::new(limit))???)
}
