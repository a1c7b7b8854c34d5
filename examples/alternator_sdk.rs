//! `aws-sdk-dynamodb` over live nodes: the SDK's own client, with nothing changed but how it is made.
//!
//! It runs against nodes inside this process, of which one answers 503 and another one dies: `cargo run --all-features
//! --example alternator_sdk`.

use std::time::Duration;

use aws_sdk_dynamodb::{config::Credentials, types::AttributeValue};
use messina::{
    alternator::{
        Alternator,
        affinity::Mode,
        aws_sdk::{self, SdkOptions},
    },
    testkit::http::{HttpCluster, HttpFault, HttpReply, On},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = HttpCluster::builder().nodes(3).credentials("cassandra", "secret").start().await?;
    for node in cluster.nodes() {
        node.answer(|request| match request.operation() {
            "GetItem" => HttpReply::new(200, r#"{"Item":{"id":{"N":"7"},"name":{"S":"Ada"}}}"#),
            _ => HttpReply::new(200, "{}"),
        });
    }

    // Writes that are decided by Paxos go to the node that their key leads to, so that they do not contend.
    let builder = Alternator::builder().seed(cluster.url(0)).affinity(Mode::Rmw).partition_key("users", "id");
    let alternator = builder.build()?;
    alternator.ready(Duration::from_secs(5)).await?;

    let credentials = Credentials::new("cassandra", "secret", None, None, "example");
    let client = aws_sdk::client(&alternator, SdkOptions::default(), |config| config.credentials_provider(credentials));

    cluster.node(1).fault(On::Requests, HttpFault::Status(503));
    for id in 0..20 {
        let put = client.put_item().table_name("users").item("id", AttributeValue::N(id.to_string()));
        put.condition_expression("attribute_not_exists(id)").send().await?;
        if id == 10 {
            cluster.node(2).stop();
        }
    }
    let answer = client.get_item().table_name("users").key("id", AttributeValue::N("7".to_owned())).send().await?;
    println!("{:?}", answer.item().and_then(|item| item.get("name")));
    println!("{}", alternator.status());

    let bytes = cluster.nodes().iter().filter_map(|node| node.last()).map(|request| request.head_bytes).max();
    println!("the longest head of a request: {} bytes", bytes.unwrap_or(0));
    alternator.close().await;
    Ok(())
}
