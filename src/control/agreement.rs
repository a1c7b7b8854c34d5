//! Waiting until the nodes agree on the schema.

use std::{collections::HashSet, time::Duration};

use messina_layers::{
    TimedOut,
    error::{BoxError, chain},
};
use scylla_cql_core::frame::types::Consistency;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::handle::Handle;
use crate::{
    config::Config,
    connection::Connection,
    protocol::{
        request::{Query, QueryParams},
        response::{self, Response, ResultResponse, Rows},
    },
    topology::SchemaAgreement,
};

const LOCAL: &str = "SELECT schema_version FROM system.local WHERE key='local'";
const PEERS: &str = "SELECT host_id, schema_version FROM system.peers";

impl Handle {
    /// Looks at the versions of the control node and of the nodes that are `up`, until there is only one or time is up.
    pub(crate) async fn await_agreement(&self, config: &Config, up: impl Fn() -> HashSet<Uuid>) -> SchemaAgreement {
        let started = Instant::now();
        let limit = config.agreement.timeout;
        let mut seen = SchemaAgreement::new(Vec::new(), Duration::ZERO);
        if !limit.is_zero() {
            let looks = async {
                loop {
                    match self.look(config.control_timeout, &up).await {
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

    async fn look(&self, limit: Duration, up: impl Fn() -> HashSet<Uuid>) -> Result<Vec<Uuid>, BoxError> {
        let current = self.shared().current().ok_or("there is no control connection")?;
        let connection = &current.connection;
        let local = query(connection, LOCAL, limit).await?;
        let mut versions = Vec::new();
        for row in local.typed::<(Option<Uuid>,)>()? {
            versions.extend(row?.0);
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
    let params = QueryParams { consistency: Consistency::One, ..QueryParams::default() };
    let reply = connection.try_send(&Query::new(text, params))?;
    let envelope = timeout(limit, reply).await.map_err(|_elapsed| TimedOut::new(limit))??;
    match response::parse(envelope, connection.dialect(), None)?.response {
        Response::Result(ResultResponse::Rows(rows)) => Ok(rows),
        Response::Error(error) => Err(error.into()),
        _ => Err(format!("the server did not answer rows to {text:?}").into()),
    }
}
