//! `aws-sdk-dynamodb` over the balancing.

use std::{collections::HashSet, time::Duration};

use aws_sdk_dynamodb::{Client, config::Credentials, types::AttributeValue};
use messina::{
    alternator::{
        Alternator,
        affinity::Mode,
        aws_sdk::{self, SdkOptions},
        encoding::Compression,
        health::State,
    },
    testkit::http::{HttpCluster, HttpFault, HttpReply, HttpRequest, On},
};

use crate::http_support::{builder, eventually, ready, requests};

async fn checking(nodes: usize) -> HttpCluster {
    HttpCluster::builder().nodes(nodes).credentials("cassandra", "secret").start().await.unwrap()
}

fn client(alternator: &Alternator, options: SdkOptions) -> Client {
    let credentials = Credentials::new("cassandra", "secret", None, None, "test");
    aws_sdk::client(alternator, options, |config| config.credentials_provider(credentials))
}

async fn get(client: &Client) -> Result<(), String> {
    let get = client.get_item().table_name("t").key("pk", AttributeValue::S("a".to_owned()));
    get.send().await.map(drop).map_err(|error| format!("{error:?}"))
}

fn sent(cluster: &HttpCluster) -> Vec<HttpRequest> {
    let all = cluster.nodes().iter().flat_map(|node| node.received());
    all.filter(|request| request.method == "POST").collect()
}

/// alternator A15a: signed once with the host of the endpoint, a request is right at every node.
/// alternator A7a: a node that answers 503, and one that dies, cost no retry of the SDK and no error.
#[tokio::test]
async fn one_signature_for_all_nodes() {
    let cluster = checking(3).await;
    let alternator = ready(builder(&cluster, &[0])).await;
    let client = client(&alternator, SdkOptions::default());
    cluster.node(1).fault(On::Requests, HttpFault::Status(503));
    let from = tokio::time::Instant::now();
    for i in 0..30 {
        if i == 15 {
            cluster.node(2).stop();
        }
        get(&client).await.unwrap();
    }
    assert!(from.elapsed() < Duration::from_secs(3), "{:?}", from.elapsed());
    let hosts: HashSet<_> = sent(&cluster).iter().map(|request| request.header("host").unwrap().to_owned()).collect();
    assert_eq!(hosts, [cluster.node(0).addr().to_string()].into());
}

/// alternator 7.1: slim headers are at most 470 bytes with a signature, and the signature is right; all headers are more.
#[tokio::test]
async fn slim_headers() {
    let cluster = checking(1).await;
    let alternator = ready(builder(&cluster, &[0])).await;
    get(&client(&alternator, SdkOptions::default())).await.unwrap();
    let slim = cluster.node(0).last().unwrap();
    assert!(slim.head_bytes <= 470, "{} bytes: {:?}", slim.head_bytes, slim.headers);
    assert!(slim.header("user-agent").unwrap().starts_with("messina/"));
    assert!(slim.header("amz-sdk-invocation-id").is_none() && slim.header("x-amz-user-agent").is_none());
    get(&client(&alternator, SdkOptions::default().with_all_headers())).await.unwrap();
    let all = cluster.node(0).last().unwrap();
    assert!(all.head_bytes > slim.head_bytes && all.header("amz-sdk-invocation-id").is_some());
}

/// alternator 7.3: requests are compressed before they are signed.
#[tokio::test]
async fn compressed() {
    let cluster = checking(1).await;
    let alternator = ready(builder(&cluster, &[0])).await;
    let client = client(&alternator, SdkOptions::default().compressed(Compression::default()));
    let put = client.put_item().table_name("t").item("pk", AttributeValue::S("a".to_owned()));
    put.item("text", AttributeValue::S("b".repeat(5000))).send().await.unwrap();
    let received = cluster.node(0).last().unwrap();
    assert_eq!(received.header("content-encoding"), Some("gzip"));
    assert_eq!(received.header("content-length"), Some(received.body.len().to_string().as_str()));
    assert!(received.body.len() < 300);
}

/// alternator 8: without credentials nothing is signed and none are needed (R 65, JS 41).
#[tokio::test]
async fn without_credentials() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let alternator = ready(builder(&cluster, &[0])).await;
    let client = aws_sdk::client(&alternator, SdkOptions::default(), |config| config.allow_no_auth());
    get(&client).await.unwrap();
    let received = cluster.node(0).last().unwrap();
    assert!(received.header("authorization").is_none() && received.header("x-amz-date").is_none());
    assert!(received.header("user-agent").unwrap().starts_with("messina/"));
}

/// alternator 6.1: conditional writes of one key go to one node, by the typed input; the others go anywhere.
/// alternator 6.2: the table's key is asked for through the SDK, once.
#[tokio::test]
async fn affinity() {
    let cluster = checking(3).await;
    for node in cluster.nodes() {
        node.answer(|request| match request.operation() {
            "DescribeTable" => {
                HttpReply::new(200, r#"{"Table":{"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}}"#)
            }
            _ => HttpReply::new(200, "{}"),
        });
    }
    let alternator = ready(builder(&cluster, &[0]).affinity(Mode::Rmw)).await;
    eventually("active", || alternator.status().nodes.iter().all(|node| node.state == State::Active)).await;
    let client = client(&alternator, SdkOptions::default());
    let put = |condition: Option<&str>| {
        let put = client.put_item().table_name("t").item("pk", AttributeValue::S("hello".to_owned()));
        put.set_condition_expression(condition.map(str::to_owned)).send()
    };
    put(Some("attribute_not_exists(pk)")).await.unwrap();
    let described = || sent(&cluster).iter().filter(|request| request.operation() == "DescribeTable").count();
    eventually("described", || described() == 1).await;
    for _ in 0..30 {
        put(Some("attribute_not_exists(pk)")).await.unwrap();
    }
    let hit = |before: Vec<usize>| requests(&cluster).iter().zip(before).filter(|(now, before)| *now > before).count();
    let before = requests(&cluster);
    for _ in 0..10 {
        put(Some("attribute_not_exists(pk)")).await.unwrap();
    }
    assert_eq!((hit(before), described()), (1, 1));
    let before = requests(&cluster);
    for _ in 0..40 {
        put(None).await.unwrap();
    }
    assert_eq!(hit(before), 3);
}

/// alternator 10.3: a limit that the SDK sets is kept, and is an error of time.
#[tokio::test]
async fn limits_of_the_sdk() {
    let cluster = HttpCluster::start(1).await.unwrap();
    cluster.node(0).fault(On::Requests, HttpFault::Hang);
    let alternator = ready(builder(&cluster, &[0])).await;
    let client = aws_sdk::client(&alternator, SdkOptions::default(), |config| {
        let timeouts = aws_sdk_dynamodb::config::timeout::TimeoutConfig::builder();
        let retries = aws_sdk_dynamodb::config::retry::RetryConfig::disabled();
        config
            .allow_no_auth()
            .retry_config(retries)
            .timeout_config(timeouts.read_timeout(Duration::from_millis(100)).build())
    });
    let from = tokio::time::Instant::now();
    let error = get(&client).await.unwrap_err();
    assert!(from.elapsed() < Duration::from_secs(5) && error.contains("no answer within 100ms"), "{error}");
}
