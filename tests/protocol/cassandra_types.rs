//! One value of every type, as a real Cassandra 5.0 sent it.

use messina::protocol::ProtocolVersion;
use scylla_cql_core::value::{
    CqlDate, CqlDecimal, CqlDuration, CqlTime, CqlTimestamp, CqlTimeuuid, CqlValue, CqlVarint, Row,
};

use crate::cassandra::rows_with;

/// The value that a line of `cassandra_rows.txt` should give.
fn expected(column: &str) -> Option<CqlValue> {
    let text = |text: &str| CqlValue::Text(text.to_owned());
    let floats = |values: [f32; 3]| values.into_iter().map(CqlValue::Float).collect();
    let address = |street: &str, zip: Option<i32>| CqlValue::UserDefinedType {
        keyspace: "ty".to_owned(),
        name: "addr".to_owned(),
        fields: vec![("street".to_owned(), Some(text(street))), ("zip".to_owned(), zip.map(CqlValue::Int))],
    };
    Some(match column {
        "ascii = 'abc'" => CqlValue::Ascii("abc".to_owned()),
        "bigint = 9223372036854775807" => CqlValue::BigInt(i64::MAX),
        "blob = 0xcafe00" => CqlValue::Blob(vec![0xCA, 0xFE, 0]),
        "boolean = true" => CqlValue::Boolean(true),
        "date = '2024-02-29'" => CqlValue::Date(CqlDate((1 << 31) + 19_782)),
        "decimal = -12.345" => CqlValue::Decimal(CqlDecimal::from_signed_be_bytes_and_exponent(vec![0xCF, 0xC7], 3)),
        "double = 1.5" => CqlValue::Double(1.5),
        "duration = 1mo2d3ns" => CqlValue::Duration(CqlDuration { months: 1, days: 2, nanoseconds: 3 }),
        "float = -0.25" => CqlValue::Float(-0.25),
        "inet = '127.0.0.1'" => CqlValue::Inet("127.0.0.1".parse().unwrap()),
        "inet = '2001:db8::1'" => CqlValue::Inet("2001:db8::1".parse().unwrap()),
        "int = -7" => CqlValue::Int(-7),
        "smallint = -300" => CqlValue::SmallInt(-300),
        "text = 'héllo'" => text("héllo"),
        "time = '12:34:56.789012345'" => CqlValue::Time(CqlTime(45_296_789_012_345)),
        "timestamp = '2024-02-29T12:34:56.789Z'" => CqlValue::Timestamp(CqlTimestamp(1_709_210_096_789)),
        "timeuuid = 50554d6e-29bb-11e5-b345-feff819cdc9f" => {
            CqlValue::Timeuuid("50554d6e-29bb-11e5-b345-feff819cdc9f".parse::<CqlTimeuuid>().unwrap())
        }
        "tinyint = -5" => CqlValue::TinyInt(-5),
        "uuid = 123e4567-e89b-12d3-a456-426614174000" => {
            CqlValue::Uuid("123e4567-e89b-12d3-a456-426614174000".parse().unwrap())
        }
        "varint = -1208925819614629174706176" => {
            let bytes = [&[0xFF][..], &[0; 10]].concat();
            CqlValue::Varint(CqlVarint::from_signed_bytes_be(bytes))
        }
        "list<int> = [1,2]" => CqlValue::List(vec![CqlValue::Int(1), CqlValue::Int(2)]),
        "set<text> = {'a','b'}" => CqlValue::Set(vec![text("a"), text("b")]),
        "map<text,bigint> = {'k':5}" => CqlValue::Map(vec![(text("k"), CqlValue::BigInt(5))]),
        "frozen<map<int,frozen<list<text>>>> = {1:['x','y']}" => {
            CqlValue::Map(vec![(CqlValue::Int(1), CqlValue::List(vec![text("x"), text("y")]))])
        }
        "tuple<int,text> = (4,null)" => CqlValue::Tuple(vec![Some(CqlValue::Int(4)), None]),
        "addr = {street:'Main',zip:null}" => address("Main", None),
        "frozen<addr> = {street:'Main',zip:12}" => address("Main", Some(12)),
        "vector<float,3> = [1.0,2.0,3.0]" => CqlValue::Vector(floats([1.0, 2.0, 3.0])),
        "vector<text,2> = ['a','bc']" => CqlValue::Vector(vec![text("a"), text("bc")]),
        "list<frozen<vector<int,2>>> = [[1,2]]" => {
            CqlValue::List(vec![CqlValue::Vector(vec![CqlValue::Int(1), CqlValue::Int(2)])])
        }
        "list<frozen<addr>> = [{street:'a',zip:1}]" => CqlValue::List(vec![address("a", Some(1))]),
        "int = null" => return None,
        "blob = 0x" => CqlValue::Blob(Vec::new()),
        "text = ''" => text(""),
        other => panic!("no value for {other}"),
    })
}

/// cassandra: one row of every type, in every version.
/// cql 3: types that a version has no number for come by class name.
#[test]
fn every_type() {
    let lines = include_str!("cassandra_rows.txt").lines().filter(|line| !line.starts_with('#'));
    let mut read = 0;
    for line in lines {
        let [version, column, body] = line.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        let version: ProtocolVersion = version.parse().unwrap();
        let header = format!("{:02x}00000108{:08x}", 0x80 | version.as_u8(), body.len() / 2);
        let rows = rows_with(&format!("{header}{body}"), version, None);
        assert_eq!(rows.metadata().opaque_types(), []);
        let table = rows.metadata().columns()[0].table_spec();
        assert_eq!((table.ks_name(), table.table_name()), ("ty", "t"));
        let values: Vec<Row> = rows.typed().unwrap().map(Result::unwrap).collect();
        assert_eq!(values[0].columns, [expected(column)], "{version} {column}");
        read += 1;
    }
    assert_eq!(read, 3 * 34);
}
