//! Column types as they travel: a number, and what it needs.

use std::sync::Arc;

use scylla_cql_core::frame::response::result::{CollectionType, ColumnType, NativeType, UserDefinedType};

use super::class_name;
use crate::protocol::parse_error::{ParseError, Problem};
use crate::protocol::reader::{Reader, capacity};

/// How deep types may be nested; real ones reach a handful.
pub const MAX_DEPTH: usize = 32;

/// Reads a type. Class names that are not known are added to `opaque`, and their types are blobs.
pub(super) fn read(reader: &mut Reader<'_>, opaque: &mut Vec<String>) -> Result<ColumnType<'static>, ParseError> {
    read_nested(reader, opaque, 1)
}

fn read_nested(
    reader: &mut Reader<'_>,
    opaque: &mut Vec<String>,
    depth: usize,
) -> Result<ColumnType<'static>, ParseError> {
    if depth > MAX_DEPTH {
        return Err(reader.error("a column type", Problem::TooDeep(MAX_DEPTH)));
    }
    let before = *reader;
    let number = reader.short("a column type")?;
    let mut inner = || read_nested(reader, opaque, depth + 1);
    let typ = match number {
        0x0000 => return read_custom(reader, opaque, depth),
        0x0020 => collection(CollectionType::List(Box::new(inner()?))),
        0x0021 => collection(CollectionType::Map(Box::new(inner()?), Box::new(inner()?))),
        0x0022 => collection(CollectionType::Set(Box::new(inner()?))),
        0x0030 => return read_user_type(reader, opaque, depth),
        0x0031 => {
            let count = reader.short_count("the types of a tuple", 2)?;
            let mut types = Vec::with_capacity(capacity(count));
            for _ in 0..count {
                types.push(read_nested(reader, opaque, depth + 1)?);
            }
            ColumnType::Tuple(types)
        }
        other => match native(other) {
            Some(native) => ColumnType::Native(native),
            None => return Err(before.error("a column type", Problem::Unknown(i64::from(other)))),
        },
    };
    Ok(typ)
}

const fn collection(typ: CollectionType<'static>) -> ColumnType<'static> {
    ColumnType::Collection { frozen: false, typ }
}

const fn native(number: u16) -> Option<NativeType> {
    Some(match number {
        0x0001 => NativeType::Ascii,
        0x0002 => NativeType::BigInt,
        0x0003 => NativeType::Blob,
        0x0004 => NativeType::Boolean,
        0x0005 => NativeType::Counter,
        0x0006 => NativeType::Decimal,
        0x0007 => NativeType::Double,
        0x0008 => NativeType::Float,
        0x0009 => NativeType::Int,
        0x000B => NativeType::Timestamp,
        0x000C => NativeType::Uuid,
        0x000D => NativeType::Text,
        0x000E => NativeType::Varint,
        0x000F => NativeType::Timeuuid,
        0x0010 => NativeType::Inet,
        0x0011 => NativeType::Date,
        0x0012 => NativeType::Time,
        0x0013 => NativeType::SmallInt,
        0x0014 => NativeType::TinyInt,
        0x0015 => NativeType::Duration,
        _ => return None,
    })
}

fn read_custom(
    reader: &mut Reader<'_>,
    opaque: &mut Vec<String>,
    depth: usize,
) -> Result<ColumnType<'static>, ParseError> {
    let what = "the class name of a type";
    let before = *reader;
    let class = reader.string(what)?;
    class_name::parse(class, depth, opaque).map_err(|problem| before.error(what, problem))
}

fn read_user_type(
    reader: &mut Reader<'_>,
    opaque: &mut Vec<String>,
    depth: usize,
) -> Result<ColumnType<'static>, ParseError> {
    let keyspace = reader.string("the keyspace of a user type")?.to_owned();
    let name = reader.string("the name of a user type")?.to_owned();
    let count = reader.short_count("the fields of a user type", 4)?;
    let mut field_types = Vec::with_capacity(capacity(count));
    for _ in 0..count {
        let name = reader.string("the name of a field")?.to_owned();
        let typ = read_nested(reader, opaque, depth + 1)?;
        field_types.push((name.into(), typ));
    }
    Ok(ColumnType::UserDefinedType {
        frozen: false,
        definition: Arc::new(UserDefinedType { name: name.into(), keyspace: keyspace.into(), field_types }),
    })
}
