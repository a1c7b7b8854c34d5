//! A driver that shares no wire code with the kit finds in it the server it expects.

use std::time::Duration;

use messina::testkit::{Answer, Cluster, Prime, Rows, rows};
use scylla::client::session_builder::SessionBuilder;
use scylla::response::PagingState;
use scylla::statement::Statement;

/// testkit: the scylla driver connects to three nodes, reads their metadata, and gets primed rows.
#[tokio::test]
async fn the_scylla_driver() {
    let cluster = Cluster::builder()
        .nodes(3)
        .own_addresses()
        .user("ada", "secret")
        .keyspaces(["ks"])
        .without_peers_v2()
        .start()
        .await
        .unwrap();
    let hundred = (0..100).fold(Rows::new("n int, tags list<text>"), |rows, n| rows.row((n, vec!["a", "b"])));
    cluster.prime("SELECT n, tags FROM ks.t", hundred);
    let insert = Prime::new("INSERT INTO ks.t (n, name) VALUES (?, ?)").params("n int, name text").partition_key([0]);
    cluster.prime_with(insert, |request| match (request.value::<i32>(0), request.value::<String>(1)) {
        (Some(7), Some(name)) if name == "Ada" => Answer::void(),
        other => Answer::error(0x2200, format!("{other:?}")),
    });
    cluster.prime("SELECT count FROM ks.t", rows!["count bigint"; (3_i64,)]);

    let session = SessionBuilder::new()
        .known_node_addr(cluster.node(1).addr())
        .user("ada", "secret")
        .connection_timeout(Duration::from_secs(5))
        .build()
        .await
        .unwrap();
    let mut known: Vec<_> = session.get_cluster_state().get_nodes_info().iter().map(|node| node.host_id).collect();
    let mut ours: Vec<_> = cluster.nodes().iter().map(|node| node.host_id().unwrap()).collect();
    known.sort();
    ours.sort();
    assert_eq!(known, ours);
    assert!(session.get_cluster_state().get_keyspace("ks").is_some());

    let count = session.query_unpaged("SELECT count FROM ks.t", ()).await.unwrap().into_rows_result().unwrap();
    assert_eq!(count.single_row::<(i64,)>().unwrap(), (3,));
    let insert = session.prepare("INSERT INTO ks.t (n, name) VALUES (?, ?)").await.unwrap();
    session.execute_unpaged(&insert, (7, "Ada")).await.unwrap();

    let select = Statement::new("SELECT n, tags FROM ks.t").with_page_size(30);
    let (mut state, mut seen) = (PagingState::start(), Vec::new());
    loop {
        let (page, next) = session.query_single_page(select.clone(), (), state).await.unwrap();
        let page = page.into_rows_result().unwrap();
        seen.extend(page.rows::<(i32, Vec<String>)>().unwrap().map(|row| row.unwrap().0));
        match next.into_paging_control_flow() {
            std::ops::ControlFlow::Continue(next) => state = next,
            std::ops::ControlFlow::Break(()) => break,
        }
    }
    assert_eq!(seen, (0..100).collect::<Vec<_>>());
}
