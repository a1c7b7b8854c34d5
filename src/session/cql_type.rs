//! CQL types as they are written in CQL.

use std::fmt;

use scylla_cql_core::frame::response::result::{CollectionType, ColumnType, NativeType};

/// Shows a type as CQL writes it.
pub(super) struct CqlType<'a>(pub(super) &'a ColumnType<'a>);

impl fmt::Display for CqlType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ColumnType::Native(native) => f.write_str(native_name(native)),
            ColumnType::Collection { typ, .. } => match typ {
                CollectionType::List(element) => write!(f, "list<{}>", CqlType(element)),
                CollectionType::Set(element) => write!(f, "set<{}>", CqlType(element)),
                CollectionType::Map(key, value) => write!(f, "map<{}, {}>", CqlType(key), CqlType(value)),
                other => write!(f, "{other:?}"),
            },
            ColumnType::Vector { typ, dimensions } => write!(f, "vector<{}, {dimensions}>", CqlType(typ)),
            ColumnType::UserDefinedType { definition, .. } => write!(f, "{}.{}", definition.keyspace, definition.name),
            ColumnType::Tuple(types) => {
                f.write_str("tuple<")?;
                for (i, typ) in types.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { ", " }, CqlType(typ))?;
                }
                f.write_str(">")
            }
            other => write!(f, "{other:?}"),
        }
    }
}

fn native_name(native: &NativeType) -> &'static str {
    match native {
        NativeType::Ascii => "ascii",
        NativeType::Boolean => "boolean",
        NativeType::Blob => "blob",
        NativeType::Counter => "counter",
        NativeType::Date => "date",
        NativeType::Decimal => "decimal",
        NativeType::Double => "double",
        NativeType::Duration => "duration",
        NativeType::Float => "float",
        NativeType::Int => "int",
        NativeType::BigInt => "bigint",
        NativeType::Text => "text",
        NativeType::Timestamp => "timestamp",
        NativeType::Inet => "inet",
        NativeType::SmallInt => "smallint",
        NativeType::TinyInt => "tinyint",
        NativeType::Time => "time",
        NativeType::Timeuuid => "timeuuid",
        NativeType::Uuid => "uuid",
        NativeType::Varint => "varint",
        _ => "an unknown type",
    }
}
