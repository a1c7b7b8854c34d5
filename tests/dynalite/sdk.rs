//! The same through `aws-sdk-dynamodb`.

use std::net::SocketAddr;

use aws_sdk_dynamodb::{
    Client,
    config::Credentials,
    types::{AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType},
};
use messina::{
    alternator::{
        Alternator,
        aws_sdk::{self, SdkOptions},
        encoding::Compression,
    },
    testkit::http::{HttpFault, On},
};

use crate::{
    Case,
    harness::{client, fronts},
};

pub(crate) fn cases() -> Vec<Case> {
    vec![("sdk::items_over_failing_nodes", |server| Box::pin(items(server)))]
}

fn sdk(alternator: &Alternator, options: SdkOptions) -> Client {
    let credentials = Credentials::new("cassandra", "secret", None, None, "test");
    aws_sdk::client(alternator, options, |config| config.credentials_provider(credentials))
}

/// alternator A15: the SDK's own client, its typed inputs, its paginator and its errors, over nodes of which one answers 503 and
/// another one dies.
async fn items(server: SocketAddr) {
    let cluster = fronts(server).await;
    let alternator = client(&cluster, |builder| builder).await;
    let client = sdk(&alternator, SdkOptions::default().compressed(Compression::default()));
    let key = KeySchemaElement::builder().attribute_name("pk").key_type(KeyType::Hash).build().unwrap();
    let kind = ScalarAttributeType::S;
    let attribute = AttributeDefinition::builder().attribute_name("pk").attribute_type(kind).build().unwrap();
    let create = client.create_table().table_name("sdk").key_schema(key).attribute_definitions(attribute);
    create.billing_mode(BillingMode::PayPerRequest).send().await.unwrap();
    let put = |i: usize| {
        let put = client.put_item().table_name("sdk").item("pk", AttributeValue::S(i.to_string()));
        put.item("text", AttributeValue::S("y".repeat(2000)))
    };
    for i in 0..20 {
        match i {
            5 => cluster.node(2).fault(On::Requests, HttpFault::Status(503)),
            15 => cluster.node(1).stop(),
            _ => {}
        }
        put(i).send().await.unwrap();
    }
    let again = put(3).condition_expression("attribute_not_exists(pk)").send().await.unwrap_err();
    assert!(again.into_service_error().is_conditional_check_failed_exception());
    let mut pages = client.scan().table_name("sdk").limit(7).into_paginator().items().send();
    let mut count = 0;
    while pages.next().await.transpose().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 20);
}
