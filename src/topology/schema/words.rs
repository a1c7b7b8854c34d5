//! Names, literals and types as CQL writes them.

use std::fmt::{self, Display, Write};

use scylla_cql_core::{
    frame::response::result::{CollectionType, ColumnType},
    value::CqlValue,
};

use super::cql_type::native_name;

/// The value of a table's option as CQL writes it; `None` for what is no option.
pub(super) fn option_text(name: &str, value: &CqlValue) -> Option<String> {
    // Names and ids, and options that servers refuse or that hold binary data.
    const NONE: [&str; 13] = [
        "keyspace_name",
        "table_name",
        "view_name",
        "base_table_id",
        "base_table_name",
        "include_all_columns",
        "where_clause",
        "id",
        "flags",
        "extensions",
        "dclocal_read_repair_chance",
        "read_repair_chance",
        "cdc",
    ];
    if NONE.contains(&name) {
        return None;
    }
    Some(match value {
        CqlValue::Text(text) | CqlValue::Ascii(text) => literal(text),
        CqlValue::Int(number) => number.to_string(),
        CqlValue::Double(number) => format!("{number:?}"),
        CqlValue::Boolean(value) => value.to_string(),
        CqlValue::Map(entries) => {
            let text = |value: &CqlValue| match value {
                CqlValue::Text(text) | CqlValue::Ascii(text) => Some(literal(text)),
                _ => None,
            };
            let entries = entries.iter().map(|(key, value)| Some(format!("{}: {}", text(key)?, text(value)?)));
            format!("{{{}}}", entries.collect::<Option<Vec<_>>>()?.join(", "))
        }
        _ => return None,
    })
}

pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name, quoted where it has to be.
pub(super) struct Name<'a>(pub(super) &'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.0.bytes();
        let plain = bytes.next().is_some_and(|b| b.is_ascii_lowercase())
            && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && !RESERVED.contains(&self.0);
        if plain { f.write_str(self.0) } else { write!(f, "\"{}\"", self.0.replace('"', "\"\"")) }
    }
}

/// The reserved words of CQL (Apache Cassandra's documentation, appendix A).
const RESERVED: [&str; 58] = [
    "add",
    "allow",
    "alter",
    "and",
    "apply",
    "asc",
    "authorize",
    "batch",
    "begin",
    "by",
    "columnfamily",
    "create",
    "default",
    "delete",
    "desc",
    "describe",
    "drop",
    "entries",
    "execute",
    "from",
    "full",
    "grant",
    "if",
    "in",
    "index",
    "infinity",
    "insert",
    "into",
    "is",
    "keyspace",
    "limit",
    "materialized",
    "mbean",
    "mbeans",
    "modify",
    "nan",
    "norecursive",
    "not",
    "null",
    "of",
    "on",
    "or",
    "order",
    "primary",
    "rename",
    "replace",
    "revoke",
    "schema",
    "select",
    "set",
    "table",
    "to",
    "token",
    "truncate",
    "unlogged",
    "unset",
    "update",
    "use",
];

/// A type, with `frozen<..>` where it stands.
pub(super) struct Type<'a>(pub(super) &'a ColumnType<'a>);

impl Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frozen = match self.0 {
            ColumnType::Collection { frozen, .. } | ColumnType::UserDefinedType { frozen, .. } => *frozen,
            // A tuple is frozen whether CQL says so or not, and some places refuse the word.
            _ => false,
        };
        if frozen {
            f.write_str("frozen<")?;
        }
        match self.0 {
            ColumnType::Native(native) => f.write_str(native_name(native))?,
            ColumnType::Collection { typ: CollectionType::List(element), .. } => write!(f, "list<{}>", Type(element))?,
            ColumnType::Collection { typ: CollectionType::Set(element), .. } => write!(f, "set<{}>", Type(element))?,
            ColumnType::Collection { typ: CollectionType::Map(key, value), .. } => {
                write!(f, "map<{}, {}>", Type(key), Type(value))?;
            }
            ColumnType::Vector { typ, dimensions } => write!(f, "vector<{}, {dimensions}>", Type(typ))?,
            ColumnType::UserDefinedType { definition, .. } => Name(&definition.name).fmt(f)?,
            ColumnType::Tuple(elements) => write!(f, "tuple<{}>", joined(elements.iter().map(Type)))?,
            other => write!(f, "{other:?}")?,
        }
        if frozen { f.write_str(">") } else { Ok(()) }
    }
}

pub(super) fn joined(items: impl Iterator<Item: Display>) -> String {
    let mut all = String::new();
    for (place, item) in items.enumerate() {
        let _ = write!(all, "{}{item}", if place == 0 { "" } else { ", " });
    }
    all
}
