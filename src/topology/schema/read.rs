//! From the rows of the schema's tables to values.
//!
//! Tables and columns: Apache Cassandra's `system_schema` keyspace since 3.0, and what ScyllaDB adds to it.

mod types;

use std::{collections::BTreeMap, sync::Arc};

use scylla_cql_core::frame::response::result::ColumnType;
use uuid::Uuid;

use super::{
    Aggregate, Column, ColumnKind, Function, Index, Keyspace, Replication, Schema, Table, View,
    cql_type::{Types, parse},
    words::option_text,
};
use crate::{
    protocol::response::Rows,
    topology::{
        Skipped,
        row::{Row, RowError},
    },
};

/// The pages of one table of `system_schema`.
type Pages = Vec<Rows>;

/// The rows of the schema's tables; those that a server lacks are empty.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "each is the table of this name")]
pub struct SchemaRows {
    pub keyspaces: Pages,
    pub scylla_keyspaces: Pages,
    pub tables: Pages,
    pub scylla_tables: Pages,
    pub columns: Pages,
    pub indexes: Pages,
    pub views: Pages,
    pub types: Pages,
    pub functions: Pages,
    pub aggregates: Pages,
}

impl Schema {
    /// Makes values of rows. A row that cannot be used costs itself alone, and leaves a reason.
    #[must_use]
    pub fn new(rows: &SchemaRows) -> Self {
        let mut reader = Reader::default();
        reader.keyspaces(rows);
        reader.types(rows);
        let mut columns: BTreeMap<(String, String), Vec<Column>> = BTreeMap::new();
        reader.each("columns", &rows.columns, |reader, row| {
            let (keyspace, table) = (text(row, "keyspace_name")?, text(row, "table_name")?);
            let column = reader.column(&keyspace, row)?;
            columns.entry((keyspace, table)).or_default().push(column);
            Ok(())
        });
        reader.tables(rows, &mut columns);
        reader.functions(rows);
        let keyspaces = reader.keyspaces.into_iter().map(|(name, keyspace)| (name, Arc::new(keyspace))).collect();
        Self { keyspaces, skipped: reader.skipped }
    }
}

#[derive(Default)]
struct Reader {
    keyspaces: BTreeMap<String, Keyspace>,
    skipped: Vec<Skipped>,
}

impl Reader {
    fn each(
        &mut self,
        table: &'static str,
        pages: &Pages,
        mut read: impl FnMut(&mut Self, &Row<'_>) -> Result<(), RowError>,
    ) {
        for row in pages.iter().flat_map(Rows::raw) {
            let row = match row.map_err(|error| RowError::new(table, "?", error)).and_then(|row| Row::read(table, row))
            {
                Ok(row) => row,
                Err(error) => {
                    self.skipped.push(error.skipped("an unknown keyspace"));
                    continue;
                }
            };
            if let Err(error) = read(self, &row) {
                let name = |column| text(&row, column).ok();
                let whose = name("keyspace_name").unwrap_or_else(|| "?".to_owned());
                let what = ["table_name", "type_name", "view_name", "function_name", "aggregate_name"];
                let what = what.into_iter().find_map(name).map_or_else(String::new, |what| format!(".{what}"));
                self.skipped.push(error.skipped(format_args!("{whose}{what}")));
            }
        }
    }

    fn keyspaces(&mut self, rows: &SchemaRows) {
        self.each("keyspaces", &rows.keyspaces, |reader, row| {
            let name = text(row, "keyspace_name")?;
            let keyspace = Keyspace {
                name: name.clone(),
                replication: replication(row)?,
                durable_writes: row.get("durable_writes")?.unwrap_or(true),
                tablets: false,
                tables: BTreeMap::new(),
                views: BTreeMap::new(),
                types: BTreeMap::new(),
                functions: Vec::new(),
                aggregates: Vec::new(),
            };
            reader.keyspaces.insert(name, keyspace);
            Ok(())
        });
        self.each("scylla_keyspaces", &rows.scylla_keyspaces, |reader, row| {
            let tablets = row.get::<i32>("initial_tablets")?.is_some();
            if let Some(keyspace) = reader.keyspaces.get_mut(&text(row, "keyspace_name")?) {
                keyspace.tablets = tablets;
            }
            Ok(())
        });
    }

    fn typ(&self, keyspace: &str, row: &Row<'_>, column: &str, text: &str) -> Result<ColumnType<'static>, RowError> {
        let none = Types::new();
        let types = self.keyspaces.get(keyspace).map_or(&none, |keyspace| &keyspace.types);
        parse(text, types).map_err(|error| row.error(column, error))
    }

    fn column(&self, keyspace: &str, row: &Row<'_>) -> Result<Column, RowError> {
        let kind = match text(row, "kind")?.as_str() {
            "partition_key" => ColumnKind::PartitionKey,
            "clustering" => ColumnKind::Clustering,
            "static" => ColumnKind::Static,
            "regular" => ColumnKind::Regular,
            _ => return Err(row.error("kind", "neither partition_key, clustering, static nor regular")),
        };
        let position = row.get::<i32>("position")?.unwrap_or(-1);
        Ok(Column {
            name: text(row, "column_name")?,
            typ: self.typ(keyspace, row, "type", &text(row, "type")?)?,
            kind,
            position: usize::try_from(position).unwrap_or(0),
            descending: row.get::<String>("clustering_order")?.is_some_and(|order| order.eq_ignore_ascii_case("desc")),
        })
    }

    fn tables(&mut self, rows: &SchemaRows, columns: &mut BTreeMap<(String, String), Vec<Column>>) {
        self.each("tables", &rows.tables, |reader, row| {
            let table = table(row, "table_name", columns)?;
            if let Some(keyspace) = reader.keyspaces.get_mut(&table.keyspace) {
                keyspace.tables.insert(table.name.clone(), Arc::new(table));
            }
            Ok(())
        });
        self.each("scylla_tables", &rows.scylla_tables, |reader, row| {
            let partitioner = row.get::<String>("partitioner")?;
            reader.change(row, |table| table.partitioner = partitioner)
        });
        self.each("indexes", &rows.indexes, |reader, row| {
            let options: BTreeMap<String, String> = row.get("options")?.unwrap_or_default();
            let (name, kind) = (text(row, "index_name")?, text(row, "kind")?);
            let target = options.get("target").cloned().unwrap_or_default();
            let index = Index { name: name.clone(), kind, target, options };
            reader.change(row, |table| {
                table.indexes.insert(name, index);
            })
        });
        self.each("views", &rows.views, |reader, row| {
            let table = table(row, "view_name", columns)?;
            let view =
                View { base_table: text(row, "base_table_name")?, where_clause: row.get("where_clause")?, table };
            if let Some(keyspace) = reader.keyspaces.get_mut(&view.table.keyspace) {
                keyspace.views.insert(view.table.name.clone(), Arc::new(view));
            }
            Ok(())
        });
    }

    fn change(&mut self, row: &Row<'_>, change: impl FnOnce(&mut Table)) -> Result<(), RowError> {
        let (keyspace, table) = (text(row, "keyspace_name")?, text(row, "table_name")?);
        let table = self.keyspaces.get_mut(&keyspace).and_then(|keyspace| keyspace.tables.get_mut(&table));
        if let Some(table) = table {
            change(Arc::make_mut(table));
        }
        Ok(())
    }

    fn functions(&mut self, rows: &SchemaRows) {
        self.each("functions", &rows.functions, |reader, row| {
            let keyspace = text(row, "keyspace_name")?;
            let types = reader.typs(&keyspace, row, "argument_types")?;
            let function = Function {
                name: text(row, "function_name")?,
                arguments: list(row, "argument_names")?.into_iter().zip(types).collect(),
                returns: reader.typ(&keyspace, row, "return_type", &text(row, "return_type")?)?,
                language: text(row, "language")?,
                body: text(row, "body")?,
                called_on_null: row.get("called_on_null_input")?.unwrap_or(false),
            };
            if let Some(keyspace) = reader.keyspaces.get_mut(&keyspace) {
                keyspace.functions.push(function);
            }
            Ok(())
        });
        self.each("aggregates", &rows.aggregates, |reader, row| {
            let keyspace = text(row, "keyspace_name")?;
            let aggregate = Aggregate {
                name: text(row, "aggregate_name")?,
                arguments: reader.typs(&keyspace, row, "argument_types")?,
                returns: reader.typ(&keyspace, row, "return_type", &text(row, "return_type")?)?,
                state_function: text(row, "state_func")?,
                state: reader.typ(&keyspace, row, "state_type", &text(row, "state_type")?)?,
                final_function: row.get("final_func")?,
                initial: row.get("initcond")?,
            };
            if let Some(keyspace) = reader.keyspaces.get_mut(&keyspace) {
                keyspace.aggregates.push(aggregate);
            }
            Ok(())
        });
    }

    fn typs(&self, keyspace: &str, row: &Row<'_>, column: &str) -> Result<Vec<ColumnType<'static>>, RowError> {
        list(row, column)?.iter().map(|typ| self.typ(keyspace, row, column, typ)).collect()
    }
}

fn text(row: &Row<'_>, column: &str) -> Result<String, RowError> {
    row.get(column)?.ok_or_else(|| row.error(column, "there has to be a name"))
}

fn list(row: &Row<'_>, column: &str) -> Result<Vec<String>, RowError> {
    Ok(row.get(column)?.unwrap_or_default())
}

fn replication(row: &Row<'_>) -> Result<Replication, RowError> {
    let mut options: BTreeMap<String, String> = row.get("replication")?.unwrap_or_default();
    let class = options.remove("class").ok_or_else(|| row.error("replication", "it has no class"))?;
    // A factor may be `3/1`: three replicas, one of which is transient.
    let factor = |text: &String| {
        let full = text.split('/').next().unwrap_or_default().trim();
        full.parse::<usize>().map_err(|_| row.error("replication", format_args!("`{text}` is no number of replicas")))
    };
    Ok(match class.rsplit('.').next().unwrap_or(&class) {
        "SimpleStrategy" => match options.get("replication_factor") {
            Some(text) => Replication::Simple(factor(text)?),
            None => return Err(row.error("replication", "SimpleStrategy without replication_factor")),
        },
        "NetworkTopologyStrategy" => {
            let factors = options.iter().map(|(datacenter, text)| Ok((datacenter.clone(), factor(text)?)));
            Replication::NetworkTopology(factors.collect::<Result<_, RowError>>()?)
        }
        "EverywhereStrategy" => Replication::Everywhere,
        "LocalStrategy" => Replication::Local,
        _ => Replication::Other { class, options },
    })
}

fn table(row: &Row<'_>, name: &str, columns: &mut BTreeMap<(String, String), Vec<Column>>) -> Result<Table, RowError> {
    let (keyspace, name) = (text(row, "keyspace_name")?, text(row, name)?);
    let columns = columns.remove(&(keyspace.clone(), name.clone())).unwrap_or_default();
    let key = |kind| {
        let mut key: Vec<&Column> = columns.iter().filter(|column| column.kind == kind).collect();
        key.sort_by_key(|column| column.position);
        key.into_iter().map(|column| column.name.clone()).collect::<Vec<_>>()
    };
    let (partition_key, clustering) = (key(ColumnKind::PartitionKey), key(ColumnKind::Clustering));
    let options =
        row.values().filter_map(|(name, value)| Some((name.to_owned(), option_text(name, &value)?))).collect();
    Ok(Table {
        keyspace,
        name,
        id: row.get::<Uuid>("id")?,
        columns: columns.into_iter().map(|column| (column.name.clone(), column)).collect(),
        partition_key,
        clustering,
        indexes: BTreeMap::new(),
        partitioner: None,
        options,
    })
}
