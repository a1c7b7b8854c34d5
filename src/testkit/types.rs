//! CQL types: read from text, written to the wire.

use scylla_cql_core::frame::response::result::{CollectionType, ColumnType, NativeType};

/// Reads `"id int, tags map<text, list<int>>"`.
pub(super) fn parse_columns(text: &str) -> Vec<(String, ColumnType<'static>)> {
    split_top(text)
        .into_iter()
        .map(|column| match column.split_once(char::is_whitespace) {
            Some((name, typ)) => (name.to_owned(), parse(typ)),
            None => panic!("{column:?} in {text:?}: a column is a name and a type"),
        })
        .collect()
}

fn parse(text: &str) -> ColumnType<'static> {
    let text = text.trim();
    let Some((outer, rest)) = text.split_once('<') else {
        return match native(text) {
            Some(native) => ColumnType::Native(native),
            None => panic!("{text:?} is no CQL type"),
        };
    };
    let Some(inner) = rest.trim_end().strip_suffix('>') else {
        panic!("{text:?}: the angle bracket is not closed");
    };
    let inner = split_top(inner);
    let collection = |typ| ColumnType::Collection { frozen: false, typ };
    match (outer.trim().to_lowercase().as_str(), &inner[..]) {
        ("frozen", [one]) => parse(one),
        ("list", [one]) => collection(CollectionType::List(Box::new(parse(one)))),
        ("set", [one]) => collection(CollectionType::Set(Box::new(parse(one)))),
        ("map", [key, value]) => collection(CollectionType::Map(Box::new(parse(key)), Box::new(parse(value)))),
        ("tuple", [_, ..]) => ColumnType::Tuple(inner.iter().map(|typ| parse(typ)).collect()),
        ("vector", [element, length]) => match length.parse() {
            Ok(dimensions) => ColumnType::Vector { typ: Box::new(parse(element)), dimensions },
            Err(error) => panic!("{text:?}: {error}"),
        },
        _ => panic!("{text:?} is no CQL type"),
    }
}

/// Splits at the commas that stand outside of angle brackets.
fn split_top(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|c| {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
    .collect()
}

/// Name, wire id and type of everything that is no collection.
const NATIVES: [(&str, u16, NativeType); 21] = [
    ("ascii", 0x01, NativeType::Ascii),
    ("bigint", 0x02, NativeType::BigInt),
    ("blob", 0x03, NativeType::Blob),
    ("boolean", 0x04, NativeType::Boolean),
    ("counter", 0x05, NativeType::Counter),
    ("decimal", 0x06, NativeType::Decimal),
    ("double", 0x07, NativeType::Double),
    ("float", 0x08, NativeType::Float),
    ("int", 0x09, NativeType::Int),
    ("timestamp", 0x0B, NativeType::Timestamp),
    ("uuid", 0x0C, NativeType::Uuid),
    ("text", 0x0D, NativeType::Text),
    ("varchar", 0x0D, NativeType::Text),
    ("varint", 0x0E, NativeType::Varint),
    ("timeuuid", 0x0F, NativeType::Timeuuid),
    ("inet", 0x10, NativeType::Inet),
    ("date", 0x11, NativeType::Date),
    ("time", 0x12, NativeType::Time),
    ("smallint", 0x13, NativeType::SmallInt),
    ("tinyint", 0x14, NativeType::TinyInt),
    ("duration", 0x15, NativeType::Duration),
];

fn native(name: &str) -> Option<NativeType> {
    let name = name.to_lowercase();
    NATIVES.iter().find(|(known, ..)| *known == name).map(|(.., typ)| typ.clone())
}

/// Writes a type option: id, then what belongs to it.
pub(super) fn write(out: &mut Vec<u8>, typ: &ColumnType<'_>) {
    match typ {
        ColumnType::Native(native) => {
            let id = NATIVES.iter().find(|(.., known)| known == native).map_or(3, |known| known.1);
            put_short(out, id);
        }
        ColumnType::Collection { typ: CollectionType::List(element), .. } => {
            put_short(out, 0x20);
            write(out, element);
        }
        ColumnType::Collection { typ: CollectionType::Map(key, value), .. } => {
            put_short(out, 0x21);
            write(out, key);
            write(out, value);
        }
        ColumnType::Collection { typ: CollectionType::Set(element), .. } => {
            put_short(out, 0x22);
            write(out, element);
        }
        ColumnType::UserDefinedType { definition, .. } => {
            put_short(out, 0x30);
            put_string(out, &definition.keyspace);
            put_string(out, &definition.name);
            put_short(out, count(definition.field_types.len()));
            for (name, typ) in &definition.field_types {
                put_string(out, name);
                write(out, typ);
            }
        }
        ColumnType::Tuple(elements) => {
            put_short(out, 0x31);
            put_short(out, count(elements.len()));
            for element in elements {
                write(out, element);
            }
        }
        // What has no id of its own travels as a class name.
        other => {
            put_short(out, 0x00);
            put_string(out, &class_name(other));
        }
    }
}

/// The server's class name of a type, for types inside of a vector.
fn class_name(typ: &ColumnType<'_>) -> String {
    let name = match typ {
        ColumnType::Native(native) => match native {
            NativeType::Ascii => "AsciiType",
            NativeType::BigInt => "LongType",
            NativeType::Boolean => "BooleanType",
            NativeType::Counter => "CounterColumnType",
            NativeType::Decimal => "DecimalType",
            NativeType::Double => "DoubleType",
            NativeType::Float => "FloatType",
            NativeType::Int => "Int32Type",
            NativeType::Timestamp => "TimestampType",
            NativeType::Uuid => "UUIDType",
            NativeType::Text => "UTF8Type",
            NativeType::Varint => "IntegerType",
            NativeType::Timeuuid => "TimeUUIDType",
            NativeType::Inet => "InetAddressType",
            NativeType::Date => "SimpleDateType",
            NativeType::Time => "TimeType",
            NativeType::SmallInt => "ShortType",
            NativeType::TinyInt => "ByteType",
            NativeType::Duration => "DurationType",
            _ => "BytesType",
        },
        ColumnType::Collection { typ: CollectionType::List(element), .. } => {
            return format!("{PACKAGE}ListType({})", class_name(element));
        }
        ColumnType::Collection { typ: CollectionType::Set(element), .. } => {
            return format!("{PACKAGE}SetType({})", class_name(element));
        }
        ColumnType::Collection { typ: CollectionType::Map(key, value), .. } => {
            return format!("{PACKAGE}MapType({},{})", class_name(key), class_name(value));
        }
        ColumnType::Tuple(elements) => {
            let elements: Vec<_> = elements.iter().map(class_name).collect();
            return format!("{PACKAGE}TupleType({})", elements.join(","));
        }
        ColumnType::Vector { typ, dimensions } => {
            return format!("{PACKAGE}VectorType({}, {dimensions})", class_name(typ));
        }
        _ => "BytesType",
    };
    format!("{PACKAGE}{name}")
}

const PACKAGE: &str = "org.apache.cassandra.db.marshal.";

// ===== Small parts of a body =====

pub(super) fn put_short(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(super) fn put_int(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// A count or a length; what does not fit is cut, since no test sends that much.
pub(super) fn count(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

pub(super) fn put_string(out: &mut Vec<u8>, text: &str) {
    let bytes = &text.as_bytes()[..usize::from(count(text.len()))];
    put_short(out, count(bytes.len()));
    out.extend_from_slice(bytes);
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            put_int(out, i32::try_from(bytes.len()).unwrap_or(i32::MAX));
            out.extend_from_slice(bytes);
        }
        None => put_int(out, -1),
    }
}

pub(super) fn put_short_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_short(out, count(bytes.len()));
    out.extend_from_slice(bytes);
}

pub(super) fn put_inet(out: &mut Vec<u8>, addr: std::net::SocketAddr) {
    match addr.ip() {
        std::net::IpAddr::V4(ip) => {
            out.push(4);
            out.extend_from_slice(&ip.octets());
        }
        std::net::IpAddr::V6(ip) => {
            out.push(16);
            out.extend_from_slice(&ip.octets());
        }
    }
    put_int(out, i32::from(addr.port()));
}
