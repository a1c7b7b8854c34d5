//! Requests of DynamoDB's API without an SDK: a tower layer that sends each to a live node, and on to the next.
//!
//! It runs against nodes inside this process, of which one dies in the middle: `cargo run --all-features --example
//! alternator_layer`.

use std::time::Duration;

use messina::{
    alternator::{Alternator, RequestOptions, Signer, events::Event, operation},
    testkit::http::HttpCluster,
};
use tower::ServiceExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = HttpCluster::builder().nodes(3).credentials("cassandra", "secret").start().await?;

    // One seed is enough: the others are found through it.
    let builder = Alternator::builder().seed(cluster.url(0));
    let alternator = builder.intervals(Duration::from_millis(100), Duration::from_secs(60)).build()?;
    let mut events = alternator.events();
    alternator.ready(Duration::from_secs(5)).await?;
    println!("{}", alternator.status());

    // Signed once; whatever node a request is sent to, the signature is right.
    let client = alternator.client(RequestOptions::default().signed(Signer::new("cassandra", "secret")));
    let get = || operation("GetItem", r#"{"TableName":"users","Key":{"id":{"N":"7"}}}"#);
    for _ in 0..20 {
        assert_eq!(client.clone().oneshot(get()?).await?.status(), 200);
    }

    // The seed dies. No request notices, and within a poll no request is sent there any more.
    cluster.node(0).stop();
    for _ in 0..20 {
        assert_eq!(client.clone().oneshot(get()?).await?.status(), 200);
    }
    let removed = async { while !matches!(events.next().await, Some(Event::Removed(_))) {} };
    tokio::time::timeout(Duration::from_secs(10), removed).await?;
    println!("after the death of a node:\n{}", alternator.status());
    assert_eq!(alternator.nodes().len(), 2);

    alternator.close().await;
    Ok(())
}
