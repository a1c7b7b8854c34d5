//! Derived types: ours, and those made for the `scylla` crate.

use messina::testkit::{Prime, Rows, rows};
use messina::value::{CqlValue, Row};
use messina::{DeserializeRow, DeserializeValue, SerializeRow, SerializeValue, Session};
use scylla_cql_core::frame::response::result::{ColumnType, NativeType, UserDefinedType};

use crate::support::{Nodes, start};

const INSERT: &str = "INSERT INTO ks.users (id, name, home) VALUES (?, ?, ?)";

/// surface 1: derived types name this crate.
mod ours {
    use super::{DeserializeRow, DeserializeValue, SerializeRow, SerializeValue};

    #[derive(SerializeValue, DeserializeValue, Clone, Debug, PartialEq)]
    #[scylla(crate = messina)]
    pub(super) struct Address {
        pub(super) street: String,
        pub(super) number: i32,
    }

    #[derive(SerializeRow, DeserializeRow, Clone, Debug, PartialEq)]
    #[scylla(crate = messina)]
    pub(super) struct User {
        pub(super) name: Option<String>,
        pub(super) id: i32,
        pub(super) home: Address,
    }
}

/// surface 1: a type that was derived for the `scylla` crate.
mod theirs {
    use scylla::{DeserializeRow, DeserializeValue, SerializeRow, SerializeValue};

    #[derive(SerializeValue, DeserializeValue, Clone, Debug, PartialEq)]
    pub(super) struct Address {
        pub(super) street: String,
        pub(super) number: i32,
    }

    #[derive(SerializeRow, DeserializeRow, Clone, Debug, PartialEq)]
    pub(super) struct User {
        pub(super) name: Option<String>,
        pub(super) id: i32,
        pub(super) home: Address,
    }
}

fn address() -> ColumnType<'static> {
    let field_types = vec![
        ("street".into(), ColumnType::Native(NativeType::Text)),
        ("number".into(), ColumnType::Native(NativeType::Int)),
    ];
    let definition = UserDefinedType { name: "address".into(), keyspace: "ks".into(), field_types };
    ColumnType::UserDefinedType { frozen: false, definition: definition.into() }
}

fn columns() -> [(&'static str, ColumnType<'static>); 3] {
    [("id", ColumnType::Native(NativeType::Int)), ("name", ColumnType::Native(NativeType::Text)), ("home", address())]
}

/// A session whose [`INSERT`] answers with the row it was given.
async fn echo() -> (Nodes, Session) {
    let (cluster, session) = start(1).await;
    cluster.prime_with(Prime::new(INSERT).typed_params(columns()), |request| {
        let id = request.value::<i32>(0).unwrap();
        let name = request.value::<Option<String>>(1).unwrap_or_default();
        let home = request.value::<ours::Address>(2).unwrap();
        Rows::typed(columns()).row((id, name, home)).into()
    });
    (cluster, session)
}

/// surface 1: derived rows and values go there and back, by name.
#[tokio::test(start_paused = true)]
async fn derived_here() {
    let (_cluster, session) = echo().await;
    let home = ours::Address { street: "Marylebone".into(), number: 12 };
    let user = ours::User { name: Some("Ada".into()), id: 7, home };
    let back = session.execute(INSERT, &user).await.unwrap().one::<ours::User>().await.unwrap();
    assert_eq!(back, user);
}

/// surface 1: a type derived for the `scylla` crate works unchanged.
#[tokio::test(start_paused = true)]
async fn derived_for_scylla() {
    let (_cluster, session) = echo().await;
    let home = theirs::Address { street: "Marylebone".into(), number: 12 };
    let user = theirs::User { name: None, id: 7, home };
    let back = session.execute(INSERT, &user).await.unwrap().one::<theirs::User>().await.unwrap();
    assert_eq!(back, user);
}

/// surface 1: rows whose types are not known beforehand.
#[tokio::test(start_paused = true)]
async fn rows_of_any_type() {
    let (cluster, session) = start(1).await;
    cluster.prime("SELECT * FROM ks.t", rows!["id int, name text"; (1, None::<String>)]);
    let row = session.execute("SELECT * FROM ks.t", ()).await.unwrap().one::<Row>().await.unwrap();
    assert_eq!(row.columns, [Some(CqlValue::Int(1)), None]);
}

/// surface 1: values by name, in a map.
#[tokio::test(start_paused = true)]
async fn values_by_name() {
    let (cluster, session) = start(1).await;
    let text = "SELECT id FROM ks.t WHERE id = :id AND n = :n";
    cluster.prime_with(Prime::new(text).params("id int, n int").columns("sum int"), |request| {
        let sum = request.value::<i32>(0).unwrap() + request.value::<i32>(1).unwrap();
        rows!["sum int"; (sum,)].into()
    });
    let values = std::collections::HashMap::from([("n", 4), ("id", 3)]);
    assert_eq!(session.execute(text, values).await.unwrap().one::<(i32,)>().await.unwrap(), (7,));
}
