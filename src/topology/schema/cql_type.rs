//! CQL types, read from the text that the schema's tables hold.

use std::{collections::BTreeMap, sync::Arc};

use scylla_cql_core::frame::response::result::{CollectionType, ColumnType, NativeType, UserDefinedType};
use thiserror::Error;

/// A text that names no type.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is no CQL type: {problem}")]
pub struct TypeError {
    text: String,
    problem: &'static str,
}

/// The user-defined types of a keyspace.
pub(super) type Types = BTreeMap<String, Arc<UserDefinedType<'static>>>;

/// Types within types; as deep as responses may nest them.
const DEPTH: usize = 32;

/// Reads a type; names that CQL does not know are looked up among `types`.
pub(super) fn parse(text: &str, types: &Types) -> Result<ColumnType<'static>, TypeError> {
    parse_at(text, types, DEPTH)
}

/// The user-defined types that a type names, directly or not.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(['<', '>', ',']).map(str::trim);
    words.filter(|word| !word.is_empty() && native(word).is_none()).map(unquoted)
}

fn parse_at(text: &str, types: &Types, depth: usize) -> Result<ColumnType<'static>, TypeError> {
    let text = text.trim();
    let fail = |problem| TypeError { text: text.chars().take(100).collect(), problem };
    let Some(depth) = depth.checked_sub(1) else { return Err(fail("it nests too deep")) };
    let Some((outer, rest)) = text.split_once('<').filter(|_| !text.starts_with('"')) else {
        if let Some(native) = native(text) {
            return Ok(ColumnType::Native(native));
        }
        let definition = types.get(unquoted(text)).ok_or_else(|| fail("no such type is known"))?;
        return Ok(ColumnType::UserDefinedType { frozen: false, definition: Arc::clone(definition) });
    };
    let inner = rest.trim_end().strip_suffix('>').ok_or_else(|| fail("the angle bracket is not closed"))?;
    let inner = split_top(inner);
    let one = |text: &str| parse_at(text, types, depth).map(Box::new);
    let collection = |typ| ColumnType::Collection { frozen: false, typ };
    Ok(match (outer.trim().to_ascii_lowercase().as_str(), &inner[..]) {
        ("frozen", [element]) => match *one(element)? {
            ColumnType::Collection { typ, .. } => ColumnType::Collection { frozen: true, typ },
            ColumnType::UserDefinedType { definition, .. } => ColumnType::UserDefinedType { frozen: true, definition },
            other => other,
        },
        ("list", [element]) => collection(CollectionType::List(one(element)?)),
        ("set", [element]) => collection(CollectionType::Set(one(element)?)),
        ("map", [key, value]) => collection(CollectionType::Map(one(key)?, one(value)?)),
        ("tuple", [_, ..]) => {
            let elements = inner.iter().map(|element| parse_at(element, types, depth));
            ColumnType::Tuple(elements.collect::<Result<_, _>>()?)
        }
        ("vector", [element, length]) => {
            let dimensions = length.parse().map_err(|_| fail("the length of the vector is no number"))?;
            ColumnType::Vector { typ: one(element)?, dimensions }
        }
        _ => return Err(fail("no such type takes these parameters")),
    })
}

/// Splits at the commas that stand outside of angle brackets.
fn split_top(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|c| {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn unquoted(name: &str) -> &str {
    name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name)
}

/// Every type without parameters, by the name that CQL writes; `varchar` is another name of `text`.
const NATIVES: [(&str, NativeType); 20] = [
    ("ascii", NativeType::Ascii),
    ("bigint", NativeType::BigInt),
    ("blob", NativeType::Blob),
    ("boolean", NativeType::Boolean),
    ("counter", NativeType::Counter),
    ("date", NativeType::Date),
    ("decimal", NativeType::Decimal),
    ("double", NativeType::Double),
    ("duration", NativeType::Duration),
    ("float", NativeType::Float),
    ("inet", NativeType::Inet),
    ("int", NativeType::Int),
    ("smallint", NativeType::SmallInt),
    ("text", NativeType::Text),
    ("time", NativeType::Time),
    ("timestamp", NativeType::Timestamp),
    ("timeuuid", NativeType::Timeuuid),
    ("tinyint", NativeType::TinyInt),
    ("uuid", NativeType::Uuid),
    ("varint", NativeType::Varint),
];

fn native(name: &str) -> Option<NativeType> {
    let name = if name.eq_ignore_ascii_case("varchar") { "text" } else { name };
    NATIVES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, native)| native.clone())
}

/// The name of a type without parameters, as CQL writes it.
pub(crate) fn native_name(native: &NativeType) -> &'static str {
    NATIVES.iter().find(|(_, known)| known == native).map_or("an unknown type", |(name, _)| name)
}
