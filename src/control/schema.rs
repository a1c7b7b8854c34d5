//! Reading the schema on a control connection.

use std::time::Duration;

use messina_layers::{TimedOut, error::BoxError};
use scylla_cql_core::frame::types::Consistency;
use tokio::time::timeout;

use crate::{
    connection::Connection,
    protocol::{
        Values,
        request::{Query, QueryParams},
        response::{self, Response, ResultResponse, Rows},
    },
    topology::schema::{Schema, SchemaRows},
};

/// Rows of a schema table that are read at a time.
const PAGE: i32 = 5000;
/// Pages of one table after which a server that never ends is not believed.
const MOST_PAGES: usize = 10_000;
/// Code of a server's error about a table that it does not have.
const INVALID: i32 = 0x2200;

/// Reads the whole schema, or that of one keyspace; each page has its own limit.
///
/// # Errors
/// If a query fails or is not answered in time. A table that the server lacks is empty.
pub(super) async fn read_schema(
    connection: &Connection,
    keyspace: Option<&str>,
    limit: Duration,
) -> Result<Schema, BoxError> {
    let read = |table: &'static str| pages(connection, table, keyspace, limit);
    let (keyspaces, tables, columns) = tokio::try_join!(read("keyspaces"), read("tables"), read("columns"))?;
    let (indexes, views, types) = tokio::try_join!(read("indexes"), read("views"), read("types"))?;
    let (functions, aggregates) = tokio::try_join!(read("functions"), read("aggregates"))?;
    let (scylla_keyspaces, scylla_tables) = tokio::try_join!(read("scylla_keyspaces"), read("scylla_tables"))?;
    Ok(Schema::new(&SchemaRows {
        keyspaces,
        scylla_keyspaces,
        tables,
        scylla_tables,
        columns,
        indexes,
        views,
        types,
        functions,
        aggregates,
    }))
}

async fn pages(
    connection: &Connection,
    table: &str,
    keyspace: Option<&str>,
    limit: Duration,
) -> Result<Vec<Rows>, BoxError> {
    let text = match keyspace {
        None => format!("SELECT * FROM system_schema.{table}"),
        Some(name) => {
            let name = name.replace('\'', "''");
            format!("SELECT * FROM system_schema.{table} WHERE keyspace_name = '{name}'")
        }
    };
    let (mut pages, mut state) = (Vec::new(), None);
    while pages.len() < MOST_PAGES {
        let page = timeout(limit, page(connection, &text, state.as_deref())).await;
        let Some(rows) = page.map_err(|_elapsed| TimedOut::new(limit))?? else { return Ok(pages) };
        state = rows.paging_state().map(|state| state.to_vec());
        pages.push(rows);
        if state.is_none() {
            return Ok(pages);
        }
    }
    Err(format!("system_schema.{table} does not end").into())
}

/// One page; `None` if the server has no such table.
async fn page(connection: &Connection, text: &str, state: Option<&[u8]>) -> Result<Option<Rows>, BoxError> {
    let values = Values::default();
    let params = QueryParams {
        consistency: Consistency::One,
        page_size: Some(PAGE),
        paging_state: state,
        ..QueryParams::with_values(&values)
    };
    let envelope = connection.try_send(&Query::new(text, params))?.await?;
    match response::parse(envelope, connection.dialect(), None)?.response {
        Response::Result(ResultResponse::Rows(rows)) => Ok(Some(rows)),
        Response::Error(error) if error.code == INVALID => Ok(None),
        Response::Error(error) => Err(error.into()),
        _ => Err("the answer is not rows".into()),
    }
}
