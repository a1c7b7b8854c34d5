//! A user-defined type and a row as Rust structs, written and read by the names of their fields.
//!
//! `cargo run --example udt --features testkit`; a cluster inside this process answers.

use std::sync::{Arc, Mutex};

use messina::{
    DeserializeRow, DeserializeValue, SerializeRow, SerializeValue, Session,
    testkit::{Answer, Cluster, Prime, Rows},
};
use scylla_cql_core::frame::response::result::{ColumnType, NativeType, UserDefinedType};

const INSERT: &str = "INSERT INTO ks.users (id, name, home) VALUES (?, ?, ?)";
const SELECT: &str = "SELECT home, id, name FROM ks.users WHERE id = ?";

/// `CREATE TYPE ks.address (street text, number int)`; fields are matched by name, in whatever order.
#[derive(SerializeValue, DeserializeValue, Clone, Debug, PartialEq)]
#[scylla(crate = messina)]
struct Address {
    number: i32,
    street: String,
    /// Added to the type later: absent in old values.
    #[scylla(allow_missing, default_when_null)]
    floor: i32,
}

/// `CREATE TABLE ks.users (id int PRIMARY KEY, name text, home frozen<address>)`.
#[derive(SerializeRow, DeserializeRow, Clone, Debug, PartialEq)]
#[scylla(crate = messina)]
struct User {
    id: i32,
    name: String,
    home: Option<Address>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::builder().start().await?;
    prime(&cluster);
    let session = Session::builder().contact_addr(cluster.node(0).addr()).build().await?;

    let home = Address { number: 12, street: "St James's Square".into(), floor: 0 };
    let ada = User { id: 7, name: "Ada".into(), home: Some(home) };
    session.execute(INSERT, &ada).await?;
    let read = session.execute(SELECT, (7,)).await?.one::<User>().await?;
    println!("{read:?}");

    // A struct that does not fit is told by column, CQL type and Rust type.
    if let Err(wrong) = session.execute(SELECT, (7,)).await?.one::<(i32, i32, String)>().await {
        println!("{wrong}");
    }

    assert_eq!(read, ada);
    session.close().await;
    Ok(())
}

/// A table of one row, whose type of addresses has no floor yet.
fn prime(cluster: &Cluster) {
    let native = ColumnType::Native;
    let fields = vec![("street".into(), native(NativeType::Text)), ("number".into(), native(NativeType::Int))];
    let address = UserDefinedType { name: "address".into(), keyspace: "ks".into(), field_types: fields };
    let address = ColumnType::UserDefinedType { frozen: true, definition: address.into() };
    let (id, name, home) = (("id", native(NativeType::Int)), ("name", native(NativeType::Text)), ("home", address));
    let row = Arc::new(Mutex::new(None));

    let insert = Prime::new(INSERT).of("ks", "users").typed_params([id.clone(), name.clone(), home.clone()]);
    let written = Arc::clone(&row);
    cluster.prime_with(insert, move |request| {
        let values = (request.value::<Address>(2), request.value::<i32>(0), request.value::<String>(1));
        *written.lock().unwrap_or_else(|held| held.into_inner()) = Some(values);
        Answer::void()
    });
    let columns = [home, id.clone(), name];
    cluster.prime_with(Prime::new(SELECT).of("ks", "users").typed_params([id]), move |_| {
        let row = row.lock().unwrap_or_else(|held| held.into_inner()).clone();
        row.into_iter().fold(Rows::typed(columns.clone()), Rows::row).into()
    });
}
