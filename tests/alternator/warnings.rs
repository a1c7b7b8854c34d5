//! What is warned of, and what is not.

use messina::testkit::http::HttpCluster;

use crate::{
    http_support::{builder, call, ready},
    log::Log,
};

/// alternator 3.4: a node that refuses is told of when its state changes or the list does, not with each connect that fails.
#[tokio::test]
async fn a_failed_connect_is_no_warning() {
    let log = Log::watch();
    let cluster = HttpCluster::start(3).await.unwrap();
    let alternator = ready(builder(&cluster, &[0, 1, 2])).await;
    cluster.node(1).stop();
    for _ in 0..50 {
        assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap().0, 200);
    }
    assert_eq!(log.warned("could not connect"), 0);
}
