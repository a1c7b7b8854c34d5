//! One connection after the other: init, system tables, primed statements.

use messina::testkit::{Answer, Cluster, Stage, rows};

use crate::client::{Client, OPTIONS, SOON, Table, error};

/// testkit: OPTIONS, STARTUP, the cluster's name and a primed statement, logged in wire order.
#[tokio::test]
async fn a_connection_from_options_to_rows() {
    let cluster = Cluster::builder().name("metal").start().await.unwrap();
    cluster.prime("SELECT id, name FROM ks.users", rows!["id int, name text"; (7, "Ada")]);
    let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();

    let supported = client.ask(OPTIONS, &[]).await;
    assert_eq!((supported.version, supported.stream, supported.opcode), (0x84, 7, 0x06));
    let text = String::from_utf8_lossy(&supported.body).into_owned();
    assert!(text.contains("PROTOCOL_VERSIONS") && text.contains("5/v5"), "{text}");

    assert_eq!(client.startup(&[]).await.opcode, 0x02);
    let name = client.query("SELECT cluster_name FROM system.local WHERE key='local'").await;
    assert_eq!(Table::read(&name).text(0, "cluster_name"), "metal");
    let users = Table::read(&client.query("SELECT id, name FROM  ks.users;").await);
    assert_eq!(users.columns, [("id".to_owned(), 0x09), ("name".to_owned(), 0x0D)]);
    assert_eq!(users.rows, [[Some(vec![0, 0, 0, 7]), Some(b"Ada".to_vec())]]);

    let log = cluster.node(0).connections();
    assert_eq!(log[0].stages(), [Stage::Options, Stage::Startup, Stage::Cluster, Stage::Query]);
    assert!(log[0].received_bytes().starts_with(&[4, 0, 0, 7, 5, 0, 0, 0, 0, 4, 0, 0, 7, 1]));
    drop(client);
    cluster.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
}

/// testkit: a statement that nobody primed is refused by its name.
#[tokio::test]
async fn an_unknown_statement_is_an_error() {
    let cluster = Cluster::builder().start().await.unwrap();
    cluster.prime("INSERT", Answer::error(0x1001, "busy"));
    let mut client = Client::ready(cluster.node(0).addr()).await;
    let (code, text) = error(&client.query("SELECT nothing").await);
    assert_eq!((code, text.as_str()), (0x2200, "no answer is primed for: SELECT nothing"));
    assert_eq!(error(&client.query("INSERT").await), (0x1001, "busy".to_owned()));
}
