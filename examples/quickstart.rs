//! Ten lines: connect by a name, write, read.
//!
//! `cargo run --example quickstart --features testkit -- db.example.com:9042` uses a cluster of yours and makes a
//! keyspace `messina_quickstart` there; without an argument a cluster inside this process answers.

use messina::{
    Session,
    testkit::{Answer, Cluster, Prime, rows},
};

const SCHEMA: [&str; 2] = [
    "CREATE KEYSPACE IF NOT EXISTS messina_quickstart \
     WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE IF NOT EXISTS messina_quickstart.users (id int PRIMARY KEY, name text)",
];
const INSERT: &str = "INSERT INTO messina_quickstart.users (id, name) VALUES (?, ?)";
const SELECT: &str = "SELECT id, name FROM messina_quickstart.users WHERE id = ?";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (contact_point, _cluster) = contact_point().await?;

    let session = Session::builder().contact_point(contact_point).build().await?;
    for statement in SCHEMA {
        session.execute(statement, ()).await?;
    }
    session.execute(INSERT, (7, "Ada")).await?;
    let (id, name): (i32, String) = session.execute(SELECT, (7,)).await?.one().await?;
    println!("user {id} is {name}");

    assert_eq!((id, name.as_str()), (7, "Ada"));
    session.close().await;
    Ok(())
}

/// The argument, or a cluster in this process that knows the statements above.
async fn contact_point() -> Result<(String, Option<Cluster>), Box<dyn std::error::Error>> {
    if let Some(given) = std::env::args().nth(1) {
        return Ok((given, None));
    }
    let cluster = Cluster::builder().nodes(1).start().await?;
    for statement in SCHEMA {
        cluster.prime(statement, Answer::void());
    }
    cluster.prime(Prime::new(INSERT).of("messina_quickstart", "users").params("id int, name text"), Answer::void());
    let ada = rows!["id int, name text"; (7, "Ada")];
    cluster.prime(Prime::new(SELECT).of("messina_quickstart", "users").params("id int"), ada);
    Ok((cluster.node(0).addr().to_string(), Some(cluster)))
}
