//! A statement on a connection that was probed.

use scylla_cql_core::value::Row;
use tokio::time::Instant;

use super::{CLOSE, ProbedQuery, Run};
use crate::{error::Error, establish::Accepted, session::Session};

/// How many rows are kept.
const MAX_ROWS: usize = 1000;

pub(super) async fn execute(run: &Run, accepted: &Accepted, cql: String) -> ProbedQuery {
    let host_id = accepted.node.as_ref().map(|node| node.host_id).unwrap_or_default();
    let connection = accepted.connection.clone();
    let addr = connection.peer();
    let session = Session::over_connections((*run.config).clone(), [(host_id, connection)]);
    let mut query = ProbedQuery::not_run(cql);
    query.addr = Some(addr);
    let started = Instant::now();
    query.error = rows(&session, &mut query).await.err().map(|error| error.to_string());
    query.elapsed = started.elapsed();
    session.close_within(CLOSE).await;
    query
}

async fn rows(session: &Session, query: &mut ProbedQuery) -> Result<(), Error> {
    let mut next = Some(session.execute(query.cql.as_str(), ()).await?);
    while let Some(result) = next {
        if query.columns.is_empty() {
            query.columns = result.columns().iter().map(|column| column.name().to_owned()).collect();
        }
        if query.columns.is_empty() {
            return Ok(());
        }
        for row in result.page().rows::<Row>()? {
            if query.rows.len() == MAX_ROWS {
                query.more = true;
                return Ok(());
            }
            query.rows.push(row?.columns.iter().map(|value| value.as_ref().map(ToString::to_string)).collect());
        }
        next = result.next_page().await?;
    }
    Ok(())
}
