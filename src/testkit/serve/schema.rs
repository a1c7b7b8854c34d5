//! The tables of `system_schema`: there, and but for keyspaces empty.

use scylla_cql_core::value::CqlValue;

use super::system::{Cell, text};
use crate::testkit::node::Inner;

type Column = (&'static str, &'static str);

/// The columns of a table; `None` where there is no such table.
fn columns(table: &str) -> Option<&'static [Column]> {
    const OPTIONS: &[Column] = &[
        ("keyspace_name", "text"),
        ("table_name", "text"),
        ("comment", "text"),
        ("compaction", "frozen<map<text, text>>"),
        ("compression", "frozen<map<text, text>>"),
        ("default_time_to_live", "int"),
        ("extensions", "frozen<map<text, blob>>"),
        ("flags", "frozen<set<text>>"),
        ("gc_grace_seconds", "int"),
        ("id", "uuid"),
    ];
    const FUNCTION: &[Column] = &[
        ("keyspace_name", "text"),
        ("function_name", "text"),
        ("argument_types", "frozen<list<text>>"),
        ("argument_names", "frozen<list<text>>"),
        ("body", "text"),
        ("called_on_null_input", "boolean"),
        ("language", "text"),
        ("return_type", "text"),
    ];
    const AGGREGATE: &[Column] = &[
        ("keyspace_name", "text"),
        ("aggregate_name", "text"),
        ("argument_types", "frozen<list<text>>"),
        ("final_func", "text"),
        ("initcond", "text"),
        ("return_type", "text"),
        ("state_func", "text"),
        ("state_type", "text"),
    ];
    const VIEW: &[Column] = &[
        ("keyspace_name", "text"),
        ("view_name", "text"),
        ("base_table_id", "uuid"),
        ("base_table_name", "text"),
        ("id", "uuid"),
        ("include_all_columns", "boolean"),
        ("where_clause", "text"),
    ];
    const COLUMN: &[Column] = &[
        ("keyspace_name", "text"),
        ("table_name", "text"),
        ("column_name", "text"),
        ("clustering_order", "text"),
        ("column_name_bytes", "blob"),
        ("kind", "text"),
        ("position", "int"),
        ("type", "text"),
    ];
    Some(match table {
        "keyspaces" => {
            &[("keyspace_name", "text"), ("durable_writes", "boolean"), ("replication", "frozen<map<text, text>>")]
        }
        "tables" => OPTIONS,
        "columns" => COLUMN,
        "views" => VIEW,
        "functions" => FUNCTION,
        "aggregates" => AGGREGATE,
        "types" => &[
            ("keyspace_name", "text"),
            ("type_name", "text"),
            ("field_names", "frozen<list<text>>"),
            ("field_types", "frozen<list<text>>"),
        ],
        "indexes" => &[
            ("keyspace_name", "text"),
            ("table_name", "text"),
            ("index_name", "text"),
            ("kind", "text"),
            ("options", "frozen<map<text, text>>"),
        ],
        _ => return None,
    })
}

/// Names and types of a table's columns, without values.
pub(super) fn template(table: &str) -> Option<Vec<Cell>> {
    Some(columns(table)?.iter().map(|(name, typ)| (*name, *typ, None)).collect())
}

/// The rows of a table: the keyspaces that the cluster was given, each on up to three nodes.
pub(super) fn rows(node: &Inner, table: &str) -> Vec<Vec<Cell>> {
    let names = node.cluster.keyspaces.iter().flatten().filter(|_| table == "keyspaces");
    let copies = node.cluster.members.len().min(3);
    let option = |key: &str, value: String| (CqlValue::Text(key.into()), CqlValue::Text(value));
    let replication = CqlValue::Map(vec![
        option("class", "org.apache.cassandra.locator.SimpleStrategy".into()),
        option("replication_factor", copies.to_string()),
    ]);
    names
        .map(|name| {
            vec![
                ("keyspace_name", "text", text(name)),
                ("durable_writes", "boolean", Some(CqlValue::Boolean(true))),
                ("replication", "frozen<map<text, text>>", Some(replication.clone())),
            ]
        })
        .collect()
}
