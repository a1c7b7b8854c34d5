//! Requests without an SDK.

use std::{net::SocketAddr, time::Duration};

use http_body_util::BodyExt;
use messina::{
    alternator::{RequestOptions, Signer, affinity::Mode, client::AlternatorClient, encoding::Compression, operation},
    testkit::http::{HttpFault, On},
};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{
    Case,
    harness::{client, fronts},
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("raw::items_conditions_and_pages", |server| Box::pin(items(server))),
        ("raw::failover_under_traffic", |server| Box::pin(failover(server))),
        ("raw::affinity_of_a_real_table", |server| Box::pin(affinity(server))),
    ]
}

fn options() -> RequestOptions {
    RequestOptions::default().signed(Signer::new("cassandra", "secret"))
}

async fn call(client: &AlternatorClient, name: &str, json: Value) -> (u16, Value) {
    let answer = client.clone().oneshot(operation(name, json.to_string()).unwrap()).await.unwrap();
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

async fn done(client: &AlternatorClient, name: &str, json: Value) -> Value {
    let (status, answer) = call(client, name, json).await;
    assert_eq!(status, 200, "{name}: {answer}");
    answer
}

async fn table(client: &AlternatorClient, name: &str) {
    let table = json!({
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "ck", "KeyType": "RANGE"}],
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "ck", "AttributeType": "N"}],
        "BillingMode": "PAY_PER_REQUEST",
    });
    done(client, "CreateTable", table).await;
    let until = tokio::time::Instant::now() + Duration::from_secs(5);
    while done(client, "DescribeTable", json!({"TableName": name})).await["Table"]["TableStatus"] != "ACTIVE" {
        assert!(tokio::time::Instant::now() < until);
    }
}

/// alternator 10.1: items, conditions, batches, pages, and a scan, signed and compressed, over nodes that check.
/// alternator 8: there is a client for Rust (ALB 86).
async fn items(server: SocketAddr) {
    let cluster = fronts(server).await;
    let alternator = client(&cluster, |builder| builder).await;
    let client = alternator.client(options().compressed(Compression::default()).with_compressed_answers());
    table(&client, "items").await;
    let long = "x".repeat(3000);
    for ck in 0..7 {
        let item = json!({"pk": {"S": "a"}, "ck": {"N": ck.to_string()}, "text": {"S": long}});
        done(&client, "PutItem", json!({"TableName": "items", "Item": item})).await;
    }
    let key = json!({"pk": {"S": "a"}, "ck": {"N": "3"}});
    let got = done(&client, "GetItem", json!({"TableName": "items", "Key": key, "ConsistentRead": true})).await;
    assert_eq!(got["Item"]["text"]["S"], long);
    let again = json!({"TableName": "items", "Item": key, "ConditionExpression": "attribute_not_exists(pk)"});
    let (status, answer) = call(&client, "PutItem", again).await;
    assert!(status == 400 && answer["__type"].as_str().unwrap().contains("ConditionalCheckFailed"), "{answer}");
    let mut query = json!({
        "TableName": "items", "Limit": 3, "KeyConditionExpression": "pk = :a",
        "ExpressionAttributeValues": {":a": {"S": "a"}}});
    let mut seen = Vec::new();
    loop {
        let page = done(&client, "Query", query.clone()).await;
        seen.extend(page["Items"].as_array().unwrap().iter().map(|item| item["ck"]["N"].clone()));
        match page.get("LastEvaluatedKey") {
            Some(last) => query["ExclusiveStartKey"] = last.clone(),
            None => break,
        }
    }
    assert_eq!(seen, ["0", "1", "2", "3", "4", "5", "6"]);
    let delete = json!({"RequestItems": {"items": [{"DeleteRequest": {"Key": key}}]}});
    done(&client, "BatchWriteItem", delete).await;
    assert_eq!(done(&client, "Scan", json!({"TableName": "items"})).await["Count"], 6);
    let packed = |request: &messina::testkit::http::HttpRequest| request.header("content-encoding") == Some("gzip");
    assert!(cluster.nodes().iter().flat_map(|node| node.received()).any(|request| packed(&request)));
}

/// alternator 8: one node refuses, another answers 503: nothing of it reaches the caller, and every item is there.
async fn failover(server: SocketAddr) {
    let cluster = fronts(server).await;
    let alternator = client(&cluster, |builder| builder).await;
    let client = alternator.client(options());
    table(&client, "failover").await;
    for ck in 0..30 {
        match ck {
            10 => cluster.node(1).fault(On::Requests, HttpFault::Status(503)),
            20 => cluster.node(1).heal(On::Requests),
            _ => {}
        }
        let item = json!({"pk": {"S": "a"}, "ck": {"N": ck.to_string()}});
        done(&client, "PutItem", json!({"TableName": "failover", "Item": item})).await;
    }
    cluster.node(0).stop();
    for _ in 0..20 {
        assert_eq!(done(&client, "Scan", json!({"TableName": "failover"})).await["Count"], 30);
    }
}

/// alternator 6.2: the key of a real table is found out through `DescribeTable`, signed as everything else.
async fn affinity(server: SocketAddr) {
    let cluster = fronts(server).await;
    let alternator = client(&cluster, |builder| builder.affinity(Mode::AnyWrite)).await;
    let client = alternator.client(options());
    table(&client, "affinity").await;
    let write = |ck: u32| {
        let item = json!({"pk": {"S": "hello"}, "ck": {"N": ck.to_string()}});
        done(&client, "PutItem", json!({"TableName": "affinity", "Item": item}))
    };
    let writes = || -> Vec<usize> {
        let is_write = |request: &&messina::testkit::http::HttpRequest| request.operation() == "PutItem";
        cluster.nodes().iter().map(|node| node.received().iter().filter(is_write).count()).collect()
    };
    let until = tokio::time::Instant::now() + Duration::from_secs(5);
    loop {
        let before = writes();
        for ck in 0..12 {
            write(ck).await;
        }
        let hit = writes().iter().zip(before).filter(|(after, before)| *after > before).count();
        if hit == 1 {
            break;
        }
        assert!(tokio::time::Instant::now() < until, "no affinity");
    }
}
