//! Types derived for the `scylla` crate work unchanged.

use std::collections::{BTreeSet, HashMap};

use messina::protocol::ProtocolVersion;

use crate::support::case::{Case, Clusters, case};
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("derived::for_scylla", [Spec::single()], for_scylla),
        case("derived::every_type_for_scylla", [Spec::single()], every_type_for_scylla),
        case("derived::for_messina", [Spec::single()], for_messina),
    ]
}

mod scyllas {
    #[derive(Clone, Debug, PartialEq, scylla::SerializeValue, scylla::DeserializeValue)]
    pub(super) struct Address {
        pub(super) street: String,
        pub(super) zip: Option<i32>,
    }

    #[derive(Clone, Debug, PartialEq, scylla::SerializeRow, scylla::DeserializeRow)]
    pub(super) struct User {
        pub(super) id: i32,
        #[scylla(rename = "name")]
        pub(super) called: String,
        pub(super) home: Option<Address>,
        pub(super) tags: Vec<String>,
        pub(super) seen: Option<scylla::value::CqlTimestamp>,
    }
}

mod ours {
    #[derive(Clone, Debug, PartialEq, messina::SerializeValue, messina::DeserializeValue)]
    #[scylla(crate = messina)]
    pub(super) struct Address {
        pub(super) street: String,
        pub(super) zip: Option<i32>,
    }

    #[derive(Clone, Debug, PartialEq, messina::SerializeRow, messina::DeserializeRow)]
    #[scylla(crate = messina)]
    pub(super) struct User {
        pub(super) id: i32,
        #[scylla(rename = "name")]
        pub(super) called: String,
        pub(super) home: Option<Address>,
        pub(super) tags: Vec<String>,
        pub(super) seen: Option<messina::value::CqlTimestamp>,
    }
}

macro_rules! users {
    ($clusters:expr, $types:ident, $keyspace:literal) => {{
        use $types::{Address, User};
        let way = Way::through(Mode::Delay, &[$clusters[0].native()]).await;
        let session = way.builder().build().await.unwrap();
        for statement in [
            concat!(
                "CREATE KEYSPACE ",
                $keyspace,
                " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
            ),
            concat!("CREATE TYPE ", $keyspace, ".address (street text, zip int)"),
            concat!(
                "CREATE TABLE ",
                $keyspace,
                ".users (id int PRIMARY KEY, name text, home frozen<address>, tags list<text>, seen timestamp)"
            ),
        ] {
            session.execute(statement, ()).await.unwrap();
        }
        let home = Some(Address { street: "Via Roma".to_owned(), zip: None });
        let tags = vec!["a".to_owned(), "b".to_owned()];
        let ada = User { id: 1, called: "Ada".to_owned(), home, tags, seen: None };
        let insert = concat!("INSERT INTO ", $keyspace, ".users (id, name, home, tags, seen) VALUES (?, ?, ?, ?, ?)");
        session.execute(insert, &ada).await.unwrap();
        // By name, so in any order.
        let select = concat!("SELECT tags, seen, home, name, id FROM ", $keyspace, ".users WHERE id = ?");
        let rows = session.execute(select, (1,)).await.unwrap();
        assert_eq!(rows.one::<User>().await.unwrap(), ada);
        let mut users =
            session.execute(concat!("SELECT * FROM ", $keyspace, ".users"), ()).await.unwrap().stream::<User>();
        assert_eq!(users.try_next().await.unwrap(), Some(ada));
        assert_eq!(users.try_next().await.unwrap(), None);
    }};
}

/// cassandra: rows and a user-defined type whose traits were derived by the `scylla` crate.
async fn for_scylla(clusters: Clusters) {
    users!(clusters, scyllas, "derived_for_scylla");
}

/// cassandra: the same with our own re-exports.
async fn for_messina(clusters: Clusters) {
    users!(clusters, ours, "derived_for_messina");
}

/// Every type, as the `scylla` crate names it.
#[derive(Clone, Debug, PartialEq, scylla::SerializeRow, scylla::DeserializeRow)]
struct Everything {
    id: i32,
    a_ascii: String,
    a_bigint: i64,
    a_blob: Vec<u8>,
    a_boolean: bool,
    a_date: scylla::value::CqlDate,
    a_decimal: scylla::value::CqlDecimal,
    a_double: f64,
    a_duration: scylla::value::CqlDuration,
    a_float: f32,
    a_inet: std::net::IpAddr,
    a_smallint: i16,
    a_time: scylla::value::CqlTime,
    a_timestamp: scylla::value::CqlTimestamp,
    a_timeuuid: scylla::value::CqlTimeuuid,
    a_tinyint: i8,
    a_uuid: uuid::Uuid,
    a_varint: scylla::value::CqlVarint,
    a_list: Vec<Option<String>>,
    a_set: BTreeSet<i32>,
    a_map: HashMap<String, scyllas::Address>,
    a_tuple: (i32, Option<String>, Vec<i64>),
    a_place: Option<scyllas::Address>,
    a_vector: Vec<f32>,
    a_null: Option<i32>,
}

const EVERYTHING: &str = "id int PRIMARY KEY, a_ascii ascii, a_bigint bigint, a_blob blob, a_boolean boolean, a_date date, \
    a_decimal decimal, a_double double, a_duration duration, a_float float, a_inet inet, a_smallint smallint, a_time time, \
    a_timestamp timestamp, a_timeuuid timeuuid, a_tinyint tinyint, a_uuid uuid, a_varint varint, a_list list<text>, \
    a_set set<int>, a_map map<text, frozen<address>>, a_tuple tuple<int, text, frozen<list<bigint>>>, a_place address, \
    a_vector vector<float, 3>, a_null int";

/// cassandra: one derived row with every type, inserted and selected by the field names, in every version.
async fn every_type_for_scylla(clusters: Clusters) {
    let way = Way::through(Mode::Delay, &[clusters[0].native()]).await;
    let session = way.builder().build().await.unwrap();
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
    let create = format!("CREATE KEYSPACE derived_all WITH replication = {replication}");
    session.execute(create, ()).await.unwrap();
    for (id, version) in [(3, ProtocolVersion::V3), (4, ProtocolVersion::V4), (5, ProtocolVersion::V5)] {
        let session = way.builder().keyspace("derived_all").protocol_version(version).build().await.unwrap();
        session.execute("CREATE TYPE IF NOT EXISTS address (street text, zip int)", ()).await.unwrap();
        session.execute(format!("CREATE TABLE IF NOT EXISTS everything ({EVERYTHING})"), ()).await.unwrap();
        let row = everything(id);
        let names: Vec<&str> = EVERYTHING.split(", a_").map(|column| column.split(' ').next().unwrap()).collect();
        let names = names.join(", a_");
        let markers = vec!["?"; names.split(", ").count()].join(", ");
        session.execute(format!("INSERT INTO everything ({names}) VALUES ({markers})"), &row).await.unwrap();
        let rows = session.execute("SELECT * FROM everything WHERE id = ?", (id,)).await.unwrap();
        assert_eq!(rows.one::<Everything>().await.unwrap(), row, "{version:?}");
    }
}

fn everything(id: i32) -> Everything {
    use scylla::value::{CqlDate, CqlDecimal, CqlDuration, CqlTime, CqlTimestamp, CqlTimeuuid, CqlVarint};
    let uuid = uuid::Uuid::from_u128(0x5055_4d6e_29bb_11e5_b345_feff_819c_dc9f);
    let home = scyllas::Address { street: "Via Roma".to_owned(), zip: None };
    Everything {
        id,
        a_ascii: "ascii".to_owned(),
        a_bigint: i64::MIN,
        a_blob: vec![0, 255],
        a_boolean: false,
        a_date: CqlDate(1 << 31),
        a_decimal: CqlDecimal::from_signed_be_bytes_slice_and_exponent(&[1, 2], -3),
        a_double: f64::MIN_POSITIVE,
        a_duration: CqlDuration { months: 1, days: 2, nanoseconds: 3 },
        a_float: f32::MAX,
        a_inet: "::1".parse().unwrap(),
        a_smallint: i16::MIN,
        a_time: CqlTime(86_399_999_999_999),
        a_timestamp: CqlTimestamp(-1),
        a_timeuuid: CqlTimeuuid::from_bytes(uuid.into_bytes()),
        a_tinyint: i8::MIN,
        a_uuid: uuid,
        a_varint: CqlVarint::from_signed_bytes_be_slice(&[0x80, 0]),
        a_list: vec![Some("a".to_owned())],
        a_set: BTreeSet::from([-1, 1]),
        a_map: HashMap::from([("home".to_owned(), home.clone())]),
        a_tuple: (1, None, vec![2, 3]),
        a_place: Some(home),
        a_vector: vec![0.5, -0.5, 0.0],
        a_null: None,
    }
}
