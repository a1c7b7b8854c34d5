//! A client over HTTP nodes.

use std::time::Duration;

use http_body_util::BodyExt;
use messina::{
    alternator::{Alternator, RequestError, client::AlternatorBuilder, operation},
    testkit::http::HttpCluster,
};
use tower::ServiceExt;

/// A client of these nodes that polls often; seeds are the nodes named.
pub(crate) fn builder(cluster: &HttpCluster, seeds: &[usize]) -> AlternatorBuilder {
    let builder = Alternator::builder().intervals(Duration::from_millis(50), Duration::from_secs(60));
    seeds.iter().fold(builder, |builder, seed| builder.seed(cluster.url(*seed)))
}

pub(crate) async fn ready(builder: AlternatorBuilder) -> Alternator {
    let alternator = builder.build().unwrap();
    alternator.ready(Duration::from_secs(5)).await.unwrap();
    alternator
}

/// The status and body of the answer to an operation.
pub(crate) async fn call(alternator: &Alternator, name: &str, json: &str) -> Result<(u16, String), RequestError> {
    let request = operation(name, json.to_owned()).unwrap();
    let answer = alternator.service().oneshot(request).await?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    Ok((status, String::from_utf8(body.to_vec()).unwrap()))
}

/// Waits, within 5 s, for something that becomes true by itself.
pub(crate) async fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    let until = tokio::time::Instant::now() + Duration::from_secs(5);
    while !check() {
        assert!(tokio::time::Instant::now() < until, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// How many requests the nodes received, in their order.
pub(crate) fn requests(cluster: &HttpCluster) -> Vec<usize> {
    cluster.nodes().iter().map(messina::testkit::http::HttpNode::requests).collect()
}

/// Which of the nodes requests may go to.
pub(crate) fn listed(alternator: &Alternator, cluster: &HttpCluster) -> Vec<usize> {
    let nodes = alternator.nodes();
    let has = |node: &usize| nodes.contains(&cluster.url(*node).parse().unwrap());
    (0..cluster.nodes().len()).filter(has).collect()
}
