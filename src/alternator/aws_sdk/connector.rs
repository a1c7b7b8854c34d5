//! The SDK's HTTP client.

use std::time::Duration;

use aws_sdk_dynamodb::config::{HttpClient as SdkHttpClient, RuntimeComponents};
use aws_smithy_runtime_api::{
    client::{
        http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
        orchestrator::{HttpRequest, HttpResponse},
        result::ConnectorError,
    },
    http::Response,
};
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::alternator::{
    balance::{AlternatorBalance, RequestError},
    encoding::decoded,
    http::{HttpClient, Payload},
};

#[derive(Clone, Debug)]
pub(super) struct Balanced {
    service: AlternatorBalance<HttpClient>,
    longest: usize,
}

impl Balanced {
    pub(super) const fn new(service: AlternatorBalance<HttpClient>, longest: usize) -> Self {
        Self { service, longest }
    }
}

impl SdkHttpClient for Balanced {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        // The connections are shared; what the SDK sets is a limit of the call. The time to connect is within it: a
        // node that cannot be connected to is left for the next one long before.
        let limit = settings.read_timeout();
        SharedHttpConnector::new(Connector { balanced: self.clone(), limit })
    }
}

#[derive(Debug)]
struct Connector {
    balanced: Balanced,
    limit: Option<Duration>,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (balanced, limit) = (self.balanced.clone(), self.limit);
        HttpConnectorFuture::new(async move {
            let sending = send(balanced, request);
            match limit {
                None => sending.await,
                Some(limit) => match tokio::time::timeout(limit, sending).await {
                    Ok(result) => result,
                    Err(_) => Err(ConnectorError::timeout(format!("no answer within {limit:?}").into())),
                },
            }
        })
    }
}

async fn send(balanced: Balanced, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
    let request = request.try_into_http1x().map_err(|error| ConnectorError::user(error.into()))?;
    let (parts, body) = request.into_parts();
    let bytes = match body.bytes() {
        Some(bytes) => Bytes::copy_from_slice(bytes),
        None => body.collect().await.map_err(ConnectorError::user)?.to_bytes(),
    };
    let mut request = http::Request::from_parts(parts, Payload::from(bytes));
    // The signature covers the host of the endpoint, which is the first node's; it is sent as that to every node.
    if !request.headers().contains_key(http::header::HOST)
        && let Some(host) = request.uri().authority().and_then(|host| host.as_str().parse().ok())
    {
        request.headers_mut().insert(http::header::HOST, host);
    }
    let answer = balanced.service.oneshot(request).await.map_err(told)?;
    let answer = decoded(answer, balanced.longest).map(SdkBody::from_body_1_x);
    Response::try_from(answer).map_err(|error| ConnectorError::other(error.into(), None))
}

/// The SDK sends again what failed with an error of the connection or of time.
fn told(error: RequestError) -> ConnectorError {
    match &error {
        RequestError::OutOfTime { .. } => ConnectorError::timeout(error.into()),
        RequestError::Closed | RequestError::Invalid(_) | RequestError::Unsigned(_) => {
            ConnectorError::user(error.into())
        }
        _ => ConnectorError::io(error.into()),
    }
}
