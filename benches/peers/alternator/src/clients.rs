//! The clients that are compared.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration, time::SystemTime};

use alternator_driver::{AlternatorClient, AlternatorConfig};
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Region},
    types::AttributeValue,
};
use http_body_util::BodyExt;
use hyper_util::{
    client::legacy::{Client as HyperClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use messina::alternator::{
    Alternator, RequestOptions, Signer,
    aws_sdk::{self, SdkOptions},
    http::Payload,
    operation,
};
use tower::ServiceExt;

/// Sends one GetItem and reads its answer.
pub type Call = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// The floor comes first.
pub const KINDS: [&str; 6] = ["floor", "sdk", "peer", "messina-sdk-all", "messina-sdk", "messina-raw"];

const KEY: &str = r#"{"TableName":"t","Key":{"id":{"N":"7"}}}"#;

pub struct Nodes {
    pub ips: Vec<String>,
    pub port: u16,
}

impl Nodes {
    fn url(&self, node: usize) -> String {
        format!("http://{}:{}", self.ips[node], self.port)
    }
}

fn credentials() -> Credentials {
    Credentials::new("cassandra", "secret", None, None, "bench")
}

fn text(error: impl std::fmt::Debug) -> String {
    format!("{error:?}")
}

pub async fn make(kind: &str, nodes: &Nodes) -> Call {
    match kind {
        "floor" => floor(nodes),
        "sdk" => {
            let config = Config::builder()
                .behavior_version(BehaviorVersion::latest())
                .region(Region::new("us-east-1"))
                .credentials_provider(credentials())
                .endpoint_url(nodes.url(0));
            sdk(Client::from_conf(config.build()))
        }
        "peer" => {
            let config = AlternatorConfig::builder()
                .seed_hosts(nodes.ips.iter().cloned())
                .port(nodes.port)
                .credentials_provider(credentials());
            let client = AlternatorClient::from_conf(config.build());
            Arc::new(move || {
                let client = client.clone();
                Box::pin(async move {
                    let key = AttributeValue::N("7".to_owned());
                    client.get_item().table_name("t").key("id", key).send().await.map(drop).map_err(text)
                })
            })
        }
        "messina-sdk-all" => {
            let options = SdkOptions::default().with_all_headers();
            sdk(aws_sdk::client(&alternator(nodes).await, options, |config| config.credentials_provider(credentials())))
        }
        "messina-sdk" => {
            let options = SdkOptions::default();
            sdk(aws_sdk::client(&alternator(nodes).await, options, |config| config.credentials_provider(credentials())))
        }
        _ => {
            let signer = Signer::new("cassandra", "secret");
            let client = alternator(nodes).await.client(RequestOptions::default().signed(signer));
            Arc::new(move || {
                let client = client.clone();
                Box::pin(async move {
                    let request = operation("GetItem", KEY).map_err(text)?;
                    let answer = client.oneshot(request).await.map_err(text)?;
                    let status = answer.status();
                    answer.into_body().collect().await.map_err(text)?;
                    if status == 200 { Ok(()) } else { Err(status.to_string()) }
                })
            })
        }
    }
}

async fn alternator(nodes: &Nodes) -> Alternator {
    let builder = (0..nodes.ips.len()).fold(Alternator::builder(), |builder, node| builder.seed(nodes.url(node)));
    builder.build().expect("a client")
}

fn sdk(client: Client) -> Call {
    Arc::new(move || {
        let client = client.clone();
        Box::pin(async move {
            let key = AttributeValue::N("7".to_owned());
            client.get_item().table_name("t").key("id", key).send().await.map(drop).map_err(text)
        })
    })
}

fn floor(nodes: &Nodes) -> Call {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(Duration::from_secs(3)));
    let client: HyperClient<_, Payload> = HyperClient::builder(TokioExecutor::new()).build(connector);
    let host = format!("{}:{}", nodes.ips[0], nodes.port);
    let signer = Signer::new("cassandra", "secret").host(host.parse().expect("a host"));
    let uri: http::Uri = format!("http://{host}/").parse().expect("an URI");
    Arc::new(move || {
        let (client, signer, uri) = (client.clone(), signer.clone(), uri.clone());
        Box::pin(async move {
            let mut request = operation("GetItem", KEY).map_err(text)?;
            *request.uri_mut() = uri;
            signer.sign(&mut request, SystemTime::now()).map_err(text)?;
            let answer = client.request(request).await.map_err(text)?;
            answer.into_body().collect().await.map(drop).map_err(text)
        })
    })
}
