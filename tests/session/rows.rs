//! What becomes of rows.

use messina::testkit::{Prime, rows};

use crate::support::start;

/// surface 1: text without values, text with values, and a prepared statement give typed rows.
#[tokio::test(start_paused = true)]
async fn typed_rows() {
    let (cluster, session) = start(1).await;
    cluster.prime("SELECT id, name FROM ks.users", rows!["id int, name text"; (1, "Ada"), (2, "Grace")]);
    let by_id = Prime::new("SELECT id, name FROM ks.users WHERE id = ?").params("id int").partition_key([0]);
    cluster.prime(by_id, rows!["id int, name text"; (7, "Ada")]);

    let all = session.execute("SELECT id, name FROM ks.users", ()).await.unwrap().all::<(i32, String)>().await.unwrap();
    assert_eq!(all, [(1, "Ada".into()), (2, "Grace".into())]);

    let text = "SELECT id, name FROM ks.users WHERE id = ?";
    let one: (i32, String) = session.execute(text, (7,)).await.unwrap().one().await.unwrap();
    assert_eq!(one, (7, "Ada".into()));
    let prepared = session.prepare(text).await.unwrap();
    let one: (i32, String) = session.execute(&prepared, (7,)).await.unwrap().one().await.unwrap();
    assert_eq!(one, (7, "Ada".into()));
    assert_eq!(cluster.node(0).count(messina::testkit::Stage::Prepare), 1);
}
