//! Column types, by number and by class name.

use std::sync::Arc;

use messina::protocol::ProtocolVersion::V4;
use messina::protocol::response::{MAX_DEPTH, ParseError, Problem, ResultResponse, Rows};
use scylla_cql_core::frame::response::result::{CollectionType, ColumnType, NativeType, UserDefinedType};

use crate::golden::read_result;

/// The result of one column of this type, without rows.
fn rows(typ: &str) -> Result<Rows, ParseError> {
    let body = format!("00000002 00000001 00000001 0000 0000 0001 'c' {typ} 00000000");
    match read_result(V4, &body)? {
        ResultResponse::Rows(rows) => Ok(rows),
        other => panic!("{other:?}"),
    }
}

fn column_type(typ: &str) -> ColumnType<'static> {
    rows(typ).unwrap().metadata().columns()[0].typ().clone()
}

fn class_rows(class: &str) -> Result<Rows, ParseError> {
    rows(&format!("0000 {:04X} '{class}'", class.len()))
}

fn class(class: &str) -> ColumnType<'static> {
    let rows = class_rows(class).unwrap();
    assert_eq!(rows.metadata().opaque_types(), []);
    rows.metadata().columns()[0].typ().clone()
}

/// The classes that were not known.
fn opaque(class: &str) -> (ColumnType<'static>, Vec<String>) {
    let rows = class_rows(class).unwrap();
    let opaque = rows.metadata().opaque_types();
    assert!(opaque.iter().all(|opaque| opaque.column == 0));
    let classes = opaque.iter().map(|opaque| opaque.class.clone()).collect();
    (rows.metadata().columns()[0].typ().clone(), classes)
}

fn int() -> ColumnType<'static> {
    ColumnType::Native(NativeType::Int)
}

fn text() -> ColumnType<'static> {
    ColumnType::Native(NativeType::Text)
}

fn list(inner: ColumnType<'static>, frozen: bool) -> ColumnType<'static> {
    ColumnType::Collection { frozen, typ: CollectionType::List(Box::new(inner)) }
}

fn vector(inner: ColumnType<'static>, dimensions: u16) -> ColumnType<'static> {
    ColumnType::Vector { typ: Box::new(inner), dimensions }
}

fn address(frozen: bool) -> ColumnType<'static> {
    ColumnType::UserDefinedType {
        frozen,
        definition: Arc::new(UserDefinedType {
            name: "addr".into(),
            keyspace: "ks".into(),
            field_types: vec![("zip".into(), int()), ("city".into(), text())],
        }),
    }
}

/// cql 3: every native type has its number, and no other number is one.
#[test]
fn native_types_have_their_numbers() {
    for (number, native) in [
        (0x01, NativeType::Ascii),
        (0x02, NativeType::BigInt),
        (0x03, NativeType::Blob),
        (0x04, NativeType::Boolean),
        (0x05, NativeType::Counter),
        (0x06, NativeType::Decimal),
        (0x07, NativeType::Double),
        (0x08, NativeType::Float),
        (0x09, NativeType::Int),
        (0x0B, NativeType::Timestamp),
        (0x0C, NativeType::Uuid),
        (0x0D, NativeType::Text),
        (0x0E, NativeType::Varint),
        (0x0F, NativeType::Timeuuid),
        (0x10, NativeType::Inet),
        (0x11, NativeType::Date),
        (0x12, NativeType::Time),
        (0x13, NativeType::SmallInt),
        (0x14, NativeType::TinyInt),
        (0x15, NativeType::Duration),
    ] {
        assert_eq!(column_type(&format!("{number:04X}")), ColumnType::Native(native));
    }
    for number in [0x0A, 0x16, 0x1F, 0x23, 0x32, 0xFFFF] {
        let error = rows(&format!("{number:04X}")).unwrap_err();
        assert_eq!(error.problem, Problem::Unknown(number));
        assert_eq!((error.what, error.offset), ("a column type", 19));
    }
}

/// cql 3: lists, maps, sets, tuples and user types contain others.
#[test]
fn types_contain_others() {
    assert_eq!(column_type("0020 0009"), list(int(), false));
    assert_eq!(
        column_type("0021 0009 000D"),
        ColumnType::Collection { frozen: false, typ: CollectionType::Map(Box::new(int()), Box::new(text())) }
    );
    assert_eq!(
        column_type("0022 0020 000D"),
        ColumnType::Collection { frozen: false, typ: CollectionType::Set(Box::new(list(text(), false))) }
    );
    assert_eq!(column_type("0031 0002 0009 000D"), ColumnType::Tuple(vec![int(), text()]));
    assert_eq!(column_type("0031 0000"), ColumnType::Tuple(vec![]));
    assert_eq!(column_type("0030 0002 'ks' 0004 'addr' 0002 0003 'zip' 0009 0004 'city' 000D"), address(false),);
}

/// cql 3: every native type has a class name.
#[test]
fn native_types_have_class_names() {
    for (name, native) in [
        ("AsciiType", NativeType::Ascii),
        ("LongType", NativeType::BigInt),
        ("BytesType", NativeType::Blob),
        ("BooleanType", NativeType::Boolean),
        ("CounterColumnType", NativeType::Counter),
        ("DecimalType", NativeType::Decimal),
        ("DoubleType", NativeType::Double),
        ("FloatType", NativeType::Float),
        ("Int32Type", NativeType::Int),
        ("TimestampType", NativeType::Timestamp),
        ("DateType", NativeType::Timestamp),
        ("UUIDType", NativeType::Uuid),
        ("UTF8Type", NativeType::Text),
        ("IntegerType", NativeType::Varint),
        ("TimeUUIDType", NativeType::Timeuuid),
        ("InetAddressType", NativeType::Inet),
        ("SimpleDateType", NativeType::Date),
        ("TimeType", NativeType::Time),
        ("ShortType", NativeType::SmallInt),
        ("ByteType", NativeType::TinyInt),
        ("DurationType", NativeType::Duration),
    ] {
        let native = ColumnType::Native(native);
        assert_eq!(class(name), native);
        assert_eq!(class(&format!("org.apache.cassandra.db.marshal.{name}")), native);
        assert_eq!(class(&format!("ReversedType({name})")), native);
    }
}

/// cql 3: vectors and other types come by class name, with blanks where servers put them.
#[test]
fn class_names_contain_others() {
    let package = "org.apache.cassandra.db.marshal.";
    let float = || ColumnType::Native(NativeType::Float);
    assert_eq!(class(&format!("{package}VectorType({package}FloatType , 3)")), vector(float(), 3));
    assert_eq!(class("VectorType(FloatType,65535)"), vector(float(), 65_535));
    assert_eq!(class("VectorType(VectorType(Int32Type, 2), 3)"), vector(vector(int(), 2), 3));
    assert_eq!(class("ListType(Int32Type)"), list(int(), false));
    assert_eq!(class("FrozenType(ListType(ListType(Int32Type)))"), list(list(int(), true), true));
    assert_eq!(
        class("TupleType(FrozenType(ListType(Int32Type)),ListType(Int32Type), UTF8Type)"),
        ColumnType::Tuple(vec![list(int(), true), list(int(), false), text()]),
    );
    assert_eq!(
        class("MapType(Int32Type , SetType(UTF8Type))"),
        ColumnType::Collection {
            frozen: false,
            typ: CollectionType::Map(
                Box::new(int()),
                Box::new(ColumnType::Collection { frozen: false, typ: CollectionType::Set(Box::new(text())) }),
            ),
        }
    );
    let user_type = "UserType(ks,61646472,7a6970:Int32Type,63697479:UTF8Type)";
    assert_eq!(class(user_type), address(false));
    assert_eq!(class(&format!("FrozenType({user_type})")), address(true));
    assert_eq!(class("6b:Int32Type"), int());
    assert_eq!(column_type("0020 0000 0009 'Int32Type'"), list(int(), false));
}

/// cql 3: a class that is not known is a blob, and is named.
#[test]
fn unknown_classes_are_blobs_with_a_name() {
    let blob = || ColumnType::Native(NativeType::Blob);
    assert_eq!(opaque("com.example.Shape"), (blob(), vec!["com.example.Shape".to_owned()]));
    let deep = format!("Odd({}{})", "(".repeat(30_000), ")".repeat(30_000));
    assert_eq!(opaque(&deep), (blob(), vec![deep]));
    assert_eq!(opaque(""), (blob(), vec![String::new()]));
    assert_eq!(opaque("ListType(Odd)"), (list(blob(), false), vec!["Odd".to_owned()]));
    let composite = "CompositeType(Int32Type,UTF8Type)";
    assert_eq!(opaque(composite), (blob(), vec![composite.to_owned()]));
    let empty = "EmptyType";
    assert_eq!(opaque(empty), (blob(), vec![empty.to_owned()]));
}

/// cql 3: a vector whose cells cannot be told apart is a blob as a whole.
#[test]
fn a_vector_that_cannot_be_told_is_a_blob() {
    let blob = || ColumnType::Native(NativeType::Blob);
    let of_unknown = opaque("VectorType(FrozenType(Odd), 3)");
    assert_eq!(of_unknown.0, blob());
    assert_eq!(of_unknown.1, ["Odd", "VectorType(FrozenType(Odd), 3)"]);
    assert_eq!(opaque("ListType(VectorType(Odd, 3))").0, list(blob(), false));
    assert_eq!(opaque("VectorType(FloatType, 65536)").0, blob());
    assert_eq!(opaque("VectorType(FloatType, 0)").0, blob());
    assert_eq!(opaque("VectorType(VectorType(UTF8Type, 0), 65535)").0, blob());
    assert_eq!(opaque("VectorType(FloatType, 99999999999999999999)").0, blob());
    let mut huge = "Int32Type".to_owned();
    for _ in 0..8 {
        huge = format!("VectorType({huge}, 65535)");
    }
    assert_eq!(opaque(&huge).0, blob(), "no value is longer than 2 GiB");
    let of_lists = class("VectorType(ListType(Int32Type), 65535)");
    assert_eq!(of_lists, vector(list(int(), false), 65_535));
}

/// cql 3: a class that is known but wrongly written is an error that shows it.
#[test]
fn wrong_class_names_are_errors() {
    for wrong in [
        "ListType",
        "ListType()x",
        "ListType(Int32Type",
        "ListType(Int32Type,Int32Type)",
        "ListType(Int32Type))",
        "MapType(Int32Type)",
        "MapType(Int32Type,Int32Type,Int32Type)",
        "TupleType()",
        "TupleType(Int32Type",
        "TupleType(Int32Type Int32Type)",
        "VectorType(Int32Type)",
        "VectorType(Int32Type, x)",
        "VectorType(Int32Type, -1)",
        "VectorType(Int32Type, 3, 4)",
        "UserType(ks)",
        "UserType(ks,616)",
        "UserType(ks,gg)",
        "UserType(ks,ff)",
        "UserType(ks,61,62)",
        "UserType(ks,61,62#Int32Type)",
        "UserType(ks,61,62:Int32Type",
        "Odd((",
        "Int32Type(",
        "Int32Type x",
        ")",
    ] {
        match class_rows(wrong).unwrap_err().problem {
            Problem::Class { class, .. } => assert_eq!(class, wrong),
            other => panic!("{wrong}: {other:?}"),
        }
    }
    let long = format!("ListType({}", "x".repeat(10_000));
    match class_rows(&long).unwrap_err().problem {
        Problem::Class { class, .. } => assert_eq!(class.len(), 200),
        other => panic!("{other:?}"),
    }
}

/// cql 3: types are nested at most 32 deep, by number and by class name.
#[test]
fn types_have_a_depth() {
    let lists = |depth: usize| format!("{} 0009", "0020 ".repeat(depth - 1));
    assert!(rows(&lists(MAX_DEPTH)).is_ok());
    for depth in [MAX_DEPTH + 1, 100_000] {
        let error = rows(&lists(depth)).unwrap_err();
        assert_eq!(error.problem, Problem::TooDeep(MAX_DEPTH));
    }
    let classes = |depth: usize| format!("{}Int32Type{}", "ListType(".repeat(depth - 1), ")".repeat(depth - 1));
    assert!(class_rows(&classes(MAX_DEPTH)).is_ok());
    for depth in [MAX_DEPTH + 1, 6_000] {
        let error = class_rows(&classes(depth)).unwrap_err();
        assert_eq!(error.problem, Problem::TooDeep(MAX_DEPTH));
    }
    let mixed = |depth: usize| {
        let class = classes(depth / 2);
        format!("{} 0000 {:04X} '{class}'", "0020 ".repeat(depth / 2), class.len())
    };
    assert!(rows(&mixed(MAX_DEPTH)).is_ok());
    assert_eq!(rows(&mixed(MAX_DEPTH + 2)).unwrap_err().problem, Problem::TooDeep(MAX_DEPTH));
    for kind in ["0022", "0021 0009", "0031 0001", "0030 0000 0000 0001 0000"] {
        let error = rows(&format!("{} 0009", format!("{kind} ").repeat(MAX_DEPTH))).unwrap_err();
        assert_eq!(error.problem, Problem::TooDeep(MAX_DEPTH));
    }
    for kind in ["SetType(", "TupleType(", "FrozenType(", "MapType(Int32Type,", "VectorType(", "UserType(k,61,62:"] {
        let error = class_rows(&kind.repeat(1_000)).unwrap_err();
        assert_eq!(error.problem, Problem::TooDeep(MAX_DEPTH));
    }
}
