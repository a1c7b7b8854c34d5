//! CQL types as they are written in CQL.

use std::fmt;

use scylla_cql_core::frame::response::result::{CollectionType, ColumnType};

use crate::topology::schema::native_name;

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
