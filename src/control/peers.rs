//! Reading the list of nodes on a control connection.

use std::{fmt, time::Duration};

use messina_layers::{TimedOut, error::BoxError};
use scylla_cql_core::frame::types::Consistency;
use tokio::time::timeout;

use crate::{
    connection::Connection,
    protocol::{
        request::{Query, QueryParams},
        response::{self, Response, ResultResponse, Rows},
    },
    topology::NodeInfo,
};

const PEERS_V2: &str = "SELECT * FROM system.peers_v2";
const PEERS: &str = "SELECT * FROM system.peers";

/// The nodes that the server at the other end knows, itself (`local`) first.
///
/// A server without `peers_v2` answers INVALID (0x2200) and is asked for `peers`. A row that cannot be used is
/// skipped with a warning that names host, column and value.
pub(super) async fn read_nodes(
    connection: &Connection,
    local: &NodeInfo,
    limit: Duration,
) -> Result<Vec<NodeInfo>, BoxError> {
    let (table, rows) = match query(connection, PEERS_V2, limit).await? {
        Ok(rows) => ("system.peers_v2", rows),
        Err(_invalid) => ("system.peers", query(connection, PEERS, limit).await?.map_err(BoxError::from)?),
    };
    let mut nodes = vec![local.clone()];
    for row in rows.raw() {
        let skip = |why: &dyn fmt::Display| {
            tracing::warn!(server = %connection.peer(), table, "a row of the node list is skipped: {why}");
        };
        match row
            .map_err(BoxError::from)
            .and_then(|columns| Ok(NodeInfo::from_peer(table, columns, connection.peer().port())?))
        {
            Ok(node) if nodes.iter().any(|known| known.host_id == node.host_id) => {
                skip(&format_args!("host id {} is listed twice", node.host_id));
            }
            Ok(node) => nodes.push(node),
            Err(error) => skip(&messina_layers::error::chain(&*error)),
        }
    }
    Ok(nodes)
}

/// Rows, or the server's INVALID error.
async fn query(
    connection: &Connection,
    text: &str,
    limit: Duration,
) -> Result<Result<Rows, response::ServerError>, BoxError> {
    let params = QueryParams { consistency: Consistency::One, ..QueryParams::default() };
    let reply = connection.try_send(&Query::new(text, params))?;
    let envelope = timeout(limit, reply).await.map_err(|_| TimedOut::new(limit))??;
    match response::parse(envelope, connection.dialect(), None)?.response {
        Response::Result(ResultResponse::Rows(rows)) => Ok(Ok(rows)),
        Response::Error(error) if error.code == 0x2200 => Ok(Err(error)),
        Response::Error(error) => Err(error.into()),
        _ => Err(format!("the server did not answer rows to {text:?}").into()),
    }
}
