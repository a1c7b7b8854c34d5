//! The clients that are compared.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration, time::SystemTime};

use alternator_driver::{AlternatorClient, AlternatorConfig};
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Region},
    types::AttributeValue,
};
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use aws_smithy_runtime_api::client::identity::Identity;
use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client as HyperClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use messina::alternator::{
    Alternator, RequestOptions, Signer,
    aws_sdk::{self, SdkOptions},
    operation,
};
use tower::ServiceExt;

use crate::server::Server;

/// Sends one GetItem and reads its answer.
pub type Call = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// The floor comes first.
pub const KINDS: [&str; 6] = ["floor", "sdk", "peer", "messina-sdk-all", "messina-sdk", "messina-raw"];

const KEY: &str = r#"{"TableName":"t","Key":{"id":{"N":"7"}}}"#;

fn credentials() -> Credentials {
    Credentials::new("cassandra", "secret", None, None, "bench")
}

fn text(error: impl std::fmt::Debug) -> String {
    format!("{error:?}")
}

/// A client that is given these nodes to begin with; those without discovery know the first of them only.
pub fn make(kind: &str, server: &Server, seeds: &[usize]) -> Call {
    match kind {
        "floor" => floor(server, seeds[0]),
        "sdk" => {
            let config = Config::builder()
                .behavior_version(BehaviorVersion::latest())
                .region(Region::new("us-east-1"))
                .credentials_provider(credentials())
                .endpoint_url(server.url(seeds[0]));
            sdk(Client::from_conf(config.build()))
        }
        "peer" => {
            let config = AlternatorConfig::builder()
                .seed_hosts(seeds.iter().map(|seed| server.ips[*seed].clone()))
                .port(server.port)
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
            sdk(aws_sdk::client(&alternator(server, seeds), options, |config| {
                config.credentials_provider(credentials())
            }))
        }
        "messina-sdk" => {
            let options = SdkOptions::default();
            sdk(aws_sdk::client(&alternator(server, seeds), options, |config| {
                config.credentials_provider(credentials())
            }))
        }
        _ => {
            let signer = Signer::new("cassandra", "secret");
            let client = alternator(server, seeds).client(RequestOptions::default().signed(signer));
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

fn alternator(server: &Server, seeds: &[usize]) -> Alternator {
    let builder = seeds.iter().fold(Alternator::builder(), |builder, node| builder.seed(server.url(*node)));
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

fn floor(server: &Server, node: usize) -> Call {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(Duration::from_secs(3)));
    let client: HyperClient<_, Full<Bytes>> = HyperClient::builder(TokioExecutor::new()).build(connector);
    let host: HeaderValue = format!("{}:{}", server.ips[node], server.port).parse().expect("a host");
    let uri: http::Uri = format!("{}/", server.url(node)).parse().expect("an URI");
    let identity: Identity = credentials().into();
    Arc::new(move || {
        let (client, identity, uri, host) = (client.clone(), identity.clone(), uri.clone(), host.clone());
        Box::pin(async move {
            let request = Request::post(uri)
                .header("host", host)
                .header("x-amz-target", "DynamoDB_20120810.GetItem")
                .header("content-type", "application/x-amz-json-1.0");
            let mut request = request.body(Full::from(KEY)).map_err(text)?;
            sign_plainly(&mut request, &identity)?;
            let answer = client.request(request).await.map_err(text)?;
            answer.into_body().collect().await.map(drop).map_err(text)
        })
    })
}

/// As the documentation of `aws-sigv4` has it.
fn sign_plainly(request: &mut Request<Full<Bytes>>, identity: &Identity) -> Result<(), String> {
    let params = v4::SigningParams::builder()
        .identity(identity)
        .region("us-east-1")
        .name("dynamodb")
        .time(SystemTime::now())
        .settings(SigningSettings::default());
    let params = params.build().map_err(text)?.into();
    let headers: Result<Vec<_>, _> =
        request.headers().iter().map(|(name, value)| value.to_str().map(|value| (name.as_str(), value))).collect();
    let uri = request.uri().to_string();
    let body = SignableBody::Bytes(KEY.as_bytes());
    let signable = SignableRequest::new("POST", uri, headers.map_err(text)?.into_iter(), body).map_err(text)?;
    let (instructions, _) = sign(signable, &params).map_err(text)?.into_parts();
    instructions.apply_to_request_http1x(request);
    Ok(())
}
