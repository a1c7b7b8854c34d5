//! The table that is read and written, and the statements.

/// Rows of the table; their keys are 0 and so on.
pub const ROWS: i32 = 100_000;
/// Rows by the page.
pub const PAGE: i32 = 5000;
/// The value of every row, 100 bytes.
pub const VALUE: &str =
    "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv";

pub const SCHEMA: [&str; 2] = [
    "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE IF NOT EXISTS ks.t (pk int PRIMARY KEY, v text)",
];
// None of them is the beginning of another.
pub const POINT: &str = "SELECT v FROM ks.t WHERE pk = ?";
pub const INSERT: &str = "INSERT INTO ks.t (pk, v) VALUES (?, ?)";
pub const SCAN: &str = "SELECT pk, v FROM ks.t";

/// Makes the table and its rows in a real cluster.
pub async fn fill(at: &str) {
    let session = messina::Session::builder().contact_point(at).build().await.expect("a session");
    for statement in SCHEMA {
        session.execute(statement, ()).await.expect("made");
    }
    let tasks = (0..64).map(|task| {
        let session = session.clone();
        tokio::spawn(async move {
            for key in (task..ROWS).step_by(64) {
                session.execute(INSERT, (key, VALUE)).await.expect("written");
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("a worker");
    }
}
