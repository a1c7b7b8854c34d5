//! `messina probe --alternator`.

use messina::testkit::http::{HttpCluster, HttpFault, On};

use crate::support::probe;

/// alternator 4.2: every node is asked for health, list and filters, those too that only a list names.
/// driver 7.9: a table for people, with a verdict for each contact point.
#[tokio::test]
async fn nodes_of_a_cluster() {
    let cluster = HttpCluster::start(3).await.unwrap();
    cluster.node(2).stop();
    let seed = cluster.node(0).addr().to_string();
    let ran = probe(&[&seed, "--alternator", "--timeout", "2"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let row = ran.row(cluster.node(0).addr());
    assert!(row.contains("healthy") && row.contains("3 nodes") && row.contains("known"), "{row}");
    let dead = ran.out.lines().find(|line| line.contains(&cluster.url(2)) && line.contains("(listed)")).unwrap();
    assert!(dead.contains("refused"), "{dead}");
    assert!(ran.verdict(&cluster.url(0)).contains("listed that do not answer"), "{ran:?}");
}

/// alternator 4.4: whether the filters are known is told, and nothing works where no address does; as JSON too.
#[tokio::test]
async fn as_json() {
    let cluster = HttpCluster::builder().nodes(2).without_filters().start().await.unwrap();
    let ran = probe(&[&cluster.url(0), "--alternator", "--json"]).await;
    assert_eq!((ran.code, ran.json()["hosts"][0]["filters"].as_str()), (0, Some("ignored")), "{ran:?}");
    cluster.nodes().iter().for_each(|node| node.fault(On::List, HttpFault::Status(503)));
    let ran = probe(&[&cluster.url(0), "--alternator", "--json"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.json()["hosts"][0]["error"].as_str().unwrap().contains("503"), "{ran:?}");
}

/// driver 7.9: what has no meaning here is said as such, with exit code 2.
#[tokio::test]
async fn options_of_cql() {
    let ran = probe(&["127.0.0.1:1", "--alternator", "--query", "SELECT 1"]).await;
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("--query"), "{ran:?}");
}
