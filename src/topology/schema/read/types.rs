//! User-defined types, each after those that it holds.

use std::{borrow::Cow, sync::Arc};

use scylla_cql_core::frame::response::result::UserDefinedType;

use super::{Reader, SchemaRows, list, text};
use crate::topology::{
    Skipped,
    schema::{
        TypeError,
        cql_type::{names, parse},
    },
};

/// Names and types as they are written.
type Fields = Vec<(String, String)>;

impl Reader {
    /// A type may hold others, so each waits for those that it names.
    pub(super) fn types(&mut self, rows: &SchemaRows) {
        let mut waiting: Vec<(String, String, Fields)> = Vec::new();
        self.each("types", &rows.types, |_, row| {
            let (names, types) = (list(row, "field_names")?, list(row, "field_types")?);
            if names.len() != types.len() {
                return Err(row.error("field_types", "not as many as names"));
            }
            let fields = names.into_iter().zip(types).collect();
            waiting.push((text(row, "keyspace_name")?, text(row, "type_name")?, fields));
            Ok(())
        });
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut still = Vec::new();
            for (keyspace, name, fields) in std::mem::take(&mut waiting) {
                let Some(known) = self.keyspaces.get_mut(&keyspace).map(|keyspace| &mut keyspace.types) else {
                    let why = "no such keyspace";
                    self.skipped.push(Skipped::new("types", &keyspace, "keyspace_name", &keyspace, why));
                    continue;
                };
                if !fields.iter().flat_map(|(_, typ)| names(typ)).all(|name| known.contains_key(name) || is_type(name))
                {
                    still.push((keyspace, name, fields));
                    continue;
                }
                let parsed = fields.iter().map(|(field, typ)| Ok((Cow::Owned(field.clone()), parse(typ, known)?)));
                match parsed.collect::<Result<Vec<_>, TypeError>>() {
                    Ok(field_types) => {
                        let (short, keyspace) = (Cow::Owned(name.clone()), Cow::Owned(keyspace));
                        known.insert(name, Arc::new(UserDefinedType { name: short, keyspace, field_types }));
                    }
                    Err(error) => {
                        let whose = format!("{keyspace}.{name}");
                        self.skipped.push(Skipped::new("types", whose, "field_types", "?", error));
                    }
                }
            }
            if still.len() == before {
                for (keyspace, name, _) in still {
                    let whose = format!("{keyspace}.{name}");
                    self.skipped.push(Skipped::new(
                        "types",
                        whose,
                        "field_types",
                        "?",
                        "it names a type that is not known",
                    ));
                }
                return;
            }
            waiting = still;
        }
    }
}

/// Words that stand for a type with parameters.
fn is_type(name: &str) -> bool {
    let known = ["frozen", "list", "set", "map", "tuple", "vector"];
    known.iter().any(|known| name.eq_ignore_ascii_case(known)) || name.bytes().all(|b| b.is_ascii_digit())
}
