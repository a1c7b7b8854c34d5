//! Every CQL type there and back, in every protocol version.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::net::IpAddr;

use messina::protocol::ProtocolVersion;
use messina::serialize::value::SerializeValue as Serialize;
use messina::session::OwnedRow;
use messina::value::{
    Counter, CqlDate, CqlDecimal, CqlDuration, CqlTime, CqlTimestamp, CqlTimeuuid, CqlValue, CqlVarint, MaybeEmpty,
    Row, Unset,
};
use messina::{DeserializeValue, SerializeValue, Session, Statement};
use uuid::Uuid;

use crate::support::case::{Case, Clusters, case};
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

pub(crate) fn cases() -> Vec<Case> {
    let single = || [Spec::single()];
    let (v3, v4, v5) = (ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5);
    vec![
        case("types::there_and_back_v3", single(), move |c| there_and_back(c, v3)),
        case("types::there_and_back_v4", single(), move |c| there_and_back(c, v4)),
        case("types::there_and_back_v5", single(), move |c| there_and_back(c, v5)),
        case("types::unset_leaves_a_value", single(), unset_leaves_a_value),
        case("types::unset_is_refused_in_v3", single(), unset_is_refused_in_v3),
        case("types::a_whole_row", single(), a_whole_row),
        case("types::what_expires", single(), what_expires),
    ]
}

#[derive(Clone, Debug, PartialEq, SerializeValue, DeserializeValue)]
#[scylla(crate = messina)]
struct Place {
    street: Option<String>,
    zip: Option<i32>,
}

fn place(street: &str, zip: Option<i32>) -> Place {
    Place { street: Some(street.to_owned()), zip }
}

/// A table with a column of every type, and a session in one version.
struct Table {
    session: Session,
    name: String,
}

impl Table {
    async fn create(clusters: &Clusters, version: ProtocolVersion, name: &str) -> Self {
        let way = Way::through(Mode::Delay, &[clusters[0].native()]).await;
        let session = way.builder().protocol_version(version).build().await.unwrap();
        for statement in [
            "CREATE KEYSPACE IF NOT EXISTS types WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TYPE IF NOT EXISTS types.place (street text, zip int)",
        ] {
            session.execute(statement, ()).await.unwrap();
        }
        let name = format!("types.{name}");
        session.execute(format!("CREATE TABLE {name} ({COLUMNS})"), ()).await.unwrap();
        session.execute(format!("CREATE TABLE {name}_counter (id int PRIMARY KEY, n counter)"), ()).await.unwrap();
        Self { session, name }
    }

    /// Writes a value into a column, reads it back, and reads what a literal of the same value becomes.
    async fn keeps<T>(&self, column: &str, value: T, literal: &str)
    where
        T: Serialize + PartialEq + Debug + Sync,
        (T,): OwnedRow,
    {
        let Self { session, name } = self;
        let update = format!("UPDATE {name} SET {column} = ? WHERE id = 1");
        session.execute(update, (&value,)).await.unwrap_or_else(|error| panic!("{column}: {error}"));
        let update = format!("UPDATE {name} SET {column} = {literal} WHERE id = 2");
        session.execute(update, ()).await.unwrap_or_else(|error| panic!("{column}: {error}"));
        for id in [1, 2] {
            assert_eq!(self.read::<T>(column, id).await, value, "{column}, id {id}");
        }
    }

    async fn read<T>(&self, column: &str, id: i32) -> T
    where
        (T,): OwnedRow,
    {
        let select = format!("SELECT {column} FROM {} WHERE id = ?", self.name);
        let rows = self.session.execute(select, (id,)).await.unwrap_or_else(|error| panic!("{column}: {error}"));
        rows.one::<(T,)>().await.unwrap_or_else(|error| panic!("{column}: {error}")).0
    }
}

const COLUMNS: &str = "id int PRIMARY KEY, c_ascii ascii, c_bigint bigint, c_blob blob, c_boolean boolean, c_date date, \
    c_decimal decimal, c_double double, c_duration duration, c_float float, c_inet inet, c_int int, c_smallint smallint, \
    c_text text, c_time time, c_timestamp timestamp, c_timeuuid timeuuid, c_tinyint tinyint, c_uuid uuid, \
    c_varchar varchar, c_varint varint, c_list list<int>, c_set set<text>, c_map map<text, bigint>, \
    c_nested frozen<map<int, frozen<list<frozen<set<text>>>>>>, c_tuple tuple<int, text>, c_place place, \
    c_frozen frozen<place>, c_places list<frozen<place>>, c_deep tuple<frozen<list<frozen<tuple<int, frozen<place>>>>>, int>, \
    c_vector vector<float, 3>, c_words vector<text, 2>, c_vectors list<frozen<vector<int, 2>>>";

/// cassandra: create, insert and select of every type, ascii to vector, with values and as literals; null and empty.
/// cql 3: v3 has date, time, smallint, tinyint and duration as custom types, v4 duration, all have vectors so.
async fn there_and_back(clusters: Clusters, version: ProtocolVersion) {
    let table = Table::create(&clusters, version, &format!("all_{version:?}").to_lowercase()).await;
    let t = &table;
    t.keeps("c_ascii", "abc".to_owned(), "'abc'").await;
    t.keeps("c_bigint", i64::MAX, "9223372036854775807").await;
    t.keeps("c_blob", vec![0xCA_u8, 0xFE, 0], "0xcafe00").await;
    t.keeps("c_boolean", true, "true").await;
    t.keeps("c_date", CqlDate((1 << 31) + 19782), "'2024-02-29'").await;
    let decimal = CqlDecimal::from_signed_be_bytes_slice_and_exponent(&[0xCF, 0xC7], 3);
    t.keeps("c_decimal", decimal, "-12.345").await;
    t.keeps("c_double", 1.5_f64, "1.5").await;
    t.keeps("c_duration", CqlDuration { months: 1, days: 2, nanoseconds: 3 }, "1mo2d3ns").await;
    t.keeps(
        "c_duration",
        CqlDuration { months: -13, days: -40, nanoseconds: i64::MIN + 1 },
        "-1y1mo40d9223372036854775807ns",
    )
    .await;
    t.keeps("c_float", -0.25_f32, "-0.25").await;
    t.keeps("c_inet", "127.0.0.1".parse::<IpAddr>().unwrap(), "'127.0.0.1'").await;
    t.keeps("c_inet", "2001:db8::1".parse::<IpAddr>().unwrap(), "'2001:db8::1'").await;
    t.keeps("c_int", -7_i32, "-7").await;
    t.keeps("c_smallint", -300_i16, "-300").await;
    t.keeps("c_text", "héllo ☃".to_owned(), "'héllo ☃'").await;
    t.keeps("c_time", CqlTime(45_296_789_012_345), "'12:34:56.789012345'").await;
    t.keeps("c_timestamp", CqlTimestamp(1_709_210_096_789), "'2024-02-29T12:34:56.789Z'").await;
    let uuid = Uuid::from_u128(0x5055_4d6e_29bb_11e5_b345_feff_819c_dc9f);
    t.keeps("c_timeuuid", CqlTimeuuid::from_bytes(uuid.into_bytes()), "50554d6e-29bb-11e5-b345-feff819cdc9f").await;
    t.keeps("c_tinyint", -5_i8, "-5").await;
    t.keeps("c_uuid", uuid, "50554d6e-29bb-11e5-b345-feff819cdc9f").await;
    t.keeps("c_varchar", "x".repeat(300), &format!("'{}'", "x".repeat(300))).await;
    let varint = CqlVarint::from_signed_bytes_be(vec![0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    t.keeps("c_varint", varint, "-1208925819614629174706176").await;
    collections(t).await;
    nothing_and_empty(t).await;
    let Table { session, name } = t;
    session.execute(format!("UPDATE {name}_counter SET n = n + ? WHERE id = 1"), (Counter(5),)).await.unwrap();
    let rows = session.execute(format!("SELECT n FROM {name}_counter WHERE id = 1"), ()).await.unwrap();
    assert_eq!(rows.one::<(Counter,)>().await.unwrap(), (Counter(5),));
}

async fn collections(t: &Table) {
    let set = |words: &[&str]| -> BTreeSet<String> { words.iter().map(|&word| word.to_owned()).collect() };
    t.keeps("c_list", vec![2, 1, 2], "[2, 1, 2]").await;
    t.keeps("c_set", set(&["b", "a"]), "{'a', 'b'}").await;
    t.keeps("c_map", HashMap::from([("k".to_owned(), 5_i64)]), "{'k': 5}").await;
    let nested = BTreeMap::from([(1, vec![set(&["x"]), set(&["y", "z"])]), (2, vec![set(&[])])]);
    t.keeps("c_nested", nested, "{1: [{'x'}, {'y', 'z'}], 2: [{}]}").await;
    t.keeps("c_tuple", (4, Some("four".to_owned())), "(4, 'four')").await;
    t.keeps("c_tuple", (4, None::<String>), "(4, null)").await;
    t.keeps("c_place", place("Main", None), "{street: 'Main', zip: null}").await;
    t.keeps("c_frozen", place("Main", Some(12)), "{street: 'Main', zip: 12}").await;
    t.keeps("c_frozen", Place { street: Some("Main".to_owned()), zip: None }, "{street: 'Main'}").await;
    t.keeps("c_places", vec![place("a", Some(1)), place("b", None)], "[{street: 'a', zip: 1}, {street: 'b'}]").await;
    let deep = (vec![(1, place("a", Some(2)))], 3);
    t.keeps("c_deep", deep, "([(1, {street: 'a', zip: 2})], 3)").await;
    t.keeps("c_vector", vec![1.0_f32, 2.0, 3.0], "[1.0, 2.0, 3.0]").await;
    t.keeps("c_words", vec!["a".to_owned(), "bc".to_owned()], "['a', 'bc']").await;
    t.keeps("c_vectors", vec![vec![1, 2], vec![3, 4]], "[[1, 2], [3, 4]]").await;
}

async fn nothing_and_empty(t: &Table) {
    t.session.execute(format!("INSERT INTO {} (id) VALUES (3)", t.name), ()).await.unwrap();
    for column in ["c_int", "c_text", "c_list", "c_place", "c_vector"] {
        assert_eq!(t.read::<Option<CqlValue>>(column, 3).await, None, "{column}");
    }
    t.keeps("c_int", None::<i32>, "null").await;
    t.keeps("c_text", None::<String>, "null").await;
    t.keeps("c_text", String::new(), "''").await;
    t.keeps("c_blob", Vec::<u8>::new(), "0x").await;
    t.keeps("c_int", MaybeEmpty::<i32>::Empty, "blobAsInt(0x)").await;
    // A collection that is not frozen has no empty value: it is as if it had never been written.
    t.keeps("c_list", None::<Vec<i32>>, "[]").await;
    t.keeps("c_nested", BTreeMap::<i32, Vec<BTreeSet<String>>>::new(), "{}").await;
}

/// cassandra: a value that is not set leaves what was there; null removes it.
async fn unset_leaves_a_value(clusters: Clusters) {
    for version in [ProtocolVersion::V4, ProtocolVersion::V5] {
        let t = Table::create(&clusters, version, &format!("unset_{version:?}").to_lowercase()).await;
        let Table { session, name } = &t;
        let insert = format!("INSERT INTO {name} (id, c_int, c_text) VALUES (?, ?, ?)");
        session.execute(insert.as_str(), (1, 7, "kept")).await.unwrap();
        session.execute(insert.as_str(), (1, 8, Unset)).await.unwrap();
        assert_eq!(t.read::<i32>("c_int", 1).await, 8);
        assert_eq!(t.read::<String>("c_text", 1).await, "kept");
        session.execute(insert.as_str(), (1, 8, None::<String>)).await.unwrap();
        assert_eq!(t.read::<Option<String>>("c_text", 1).await, None);
    }
}

/// cassandra: v3 cannot say that a value is not set; the request fails and nothing is sent.
async fn unset_is_refused_in_v3(clusters: Clusters) {
    let t = Table::create(&clusters, ProtocolVersion::V3, "unset_v3").await;
    let Table { session, name } = &t;
    let insert = format!("INSERT INTO {name} (id, c_int, c_text) VALUES (?, ?, ?)");
    let error = session.execute(insert.as_str(), (1, 8, Unset)).await.unwrap_err();
    assert!(error.to_string().contains("unset"), "{error}");
    let rows = session.execute(format!("SELECT id FROM {name}"), ()).await.unwrap();
    assert_eq!(rows.first::<(i32,)>().await.unwrap(), None);
}

/// cassandra: a row without a Rust type of its own, column by column.
async fn a_whole_row(clusters: Clusters) {
    let t = Table::create(&clusters, ProtocolVersion::V5, "whole").await;
    let Table { session, name } = &t;
    let insert =
        format!("INSERT INTO {name} (id, c_vector, c_place, c_set) VALUES (1, [1, 2, 3], {{zip: 5}}, {{'a'}})");
    session.execute(insert, ()).await.unwrap();
    let rows = session.execute(format!("SELECT id, c_vector, c_place, c_set, c_int FROM {name}"), ()).await.unwrap();
    let row = rows.one::<Row>().await.unwrap();
    let float = CqlValue::Float;
    let place = CqlValue::UserDefinedType {
        keyspace: "types".to_owned(),
        name: "place".to_owned(),
        fields: vec![("street".to_owned(), None), ("zip".to_owned(), Some(CqlValue::Int(5)))],
    };
    assert_eq!(
        row.columns,
        [
            Some(CqlValue::Int(1)),
            Some(CqlValue::Vector(vec![float(1.0), float(2.0), float(3.0)])),
            Some(place),
            Some(CqlValue::Set(vec![CqlValue::Text("a".to_owned())])),
            None,
        ]
    );
}

/// cassandra: on v5 a request may say what time it is: what expires is gone for one that says a later time.
async fn what_expires(clusters: Clusters) {
    let table = Table::create(&clusters, ProtocolVersion::V5, "expiring").await;
    let session = &table.session;
    session.execute("CREATE TABLE types.expires (id int PRIMARY KEY, v int)", ()).await.unwrap();
    let insert = Statement::new("INSERT INTO types.expires (id, v) VALUES (1, 7) USING TTL 1000");
    session.execute(insert.with_now_in_seconds(2_000_000_000), ()).await.unwrap();
    let read = session.prepare("SELECT v FROM types.expires WHERE id = ?").await.unwrap();
    for (now, expected) in [(2_000_000_999, Some(7)), (2_000_001_001, None)] {
        let request = read.bind((1,)).unwrap().with_now_in_seconds(now);
        let found = session.execute_request(&request).await.unwrap().first::<(i32,)>().await.unwrap();
        assert_eq!(found.map(|row| row.0), expected, "at {now}");
    }
}
