//! Reading rows of the table of client routes.

use std::fmt::Write;

use messina_layers::error::BoxError;
use scylla_cql_core::deserialize::{row::ColumnIterator, value::DeserializeValue};

use crate::{
    config::ClientRoutes,
    connection::{Connection, Paging},
    endpoint::{Covered, RouteRead, RouteRow},
    protocol::response::ServerError,
};

/// The most values that are put into one IN; servers limit them, often to a hundred.
const MOST_VALUES: usize = 100;

/// Reads the rows of our connections that `covered` says; an error answer of the server comes as a value.
pub(super) async fn read_routes(
    connection: &Connection,
    settings: &ClientRoutes,
    covered: Covered,
) -> Result<Result<RouteRead, ServerError>, BoxError> {
    let ids: Vec<&str> = match &covered {
        Covered::All => settings.connections.iter().map(|connection| &**connection.id()).collect(),
        Covered::Some { connections, .. } => connections.iter().map(|id| &**id).collect(),
    };
    let mut rows = Vec::new();
    for ids in ids.chunks(MOST_VALUES) {
        match connection.ask_rows(&statement(&settings.table, ids, &covered), Paging::default()).await? {
            Ok(found) => rows.extend(found.raw().map(|columns| columns.map_or_else(|_| RouteRow::default(), row))),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(RouteRead { covered, rows }))
}

fn statement(table: &str, ids: &[&str], covered: &Covered) -> String {
    let ids: Vec<_> = ids.iter().map(|id| format!("'{}'", id.replace('\'', "''"))).collect();
    let mut text = format!(
        "SELECT connection_id, host_id, address, port, tls_port FROM {table} WHERE connection_id IN ({})",
        ids.join(", ")
    );
    if let Covered::Some { hosts, .. } = covered {
        let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
        let _ = write!(text, " AND host_id IN ({})", hosts.join(", "));
    }
    text
}

/// A row, as far as its columns have the types that they should; what has not is a null, and told as that.
fn row(columns: ColumnIterator<'_, '_>) -> RouteRow {
    let mut row = RouteRow::default();
    for column in columns {
        let Ok(column) = column else { return row };
        let (typ, slice) = (column.spec.typ(), column.slice);
        match column.spec.name() {
            "connection_id" => row.connection_id = value(typ, slice),
            "host_id" => row.host_id = value(typ, slice),
            "address" => row.address = value(typ, slice),
            "port" => row.port = value(typ, slice),
            "tls_port" => row.tls_port = value(typ, slice),
            _ => {}
        }
    }
    row
}

fn value<'a, T: DeserializeValue<'a, 'a>>(
    typ: &'a scylla_cql_core::frame::response::result::ColumnType<'a>,
    slice: Option<scylla_cql_core::deserialize::FrameSlice<'a>>,
) -> Option<T> {
    slice?;
    T::type_check(typ).ok()?;
    T::deserialize(typ, slice).ok()
}
