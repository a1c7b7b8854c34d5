//! Signatures of requests, for those who have no SDK.

mod daily;

use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningParams, SigningSettings, sign},
    sign::v4,
};
use aws_smithy_runtime_api::client::identity::Identity;
use http::{HeaderValue, Request, header};
use messina_layers::BoxError;
use tower_layer::Layer;
use tower_service::Service;

use self::daily::Kept;
use super::http::Payload;

/// The region that a signature names unless told otherwise; the server takes any.
const REGION: &str = "us-east-1";

/// Signs requests; cheap to clone. Neither `Debug` nor an error shows the secret.
#[derive(Clone)]
pub struct Signer {
    identity: Identity,
    access_key: Arc<str>,
    region: Arc<str>,
    host: Option<HeaderValue>,
    key: Arc<Kept>,
}

impl Signer {
    /// Signs with these keys. The role of a certificate needs no signature, and no signer.
    #[must_use]
    pub fn new(access_key: &str, secret: &str) -> Self {
        Self::with_token(access_key, secret, None)
    }

    /// Signs with the keys of a session and its token.
    #[must_use]
    pub fn with_token(access_key: &str, secret: &str, token: Option<&str>) -> Self {
        let identity = Credentials::new(access_key, secret, token.map(str::to_owned), None, "messina").into();
        Self { identity, access_key: access_key.into(), region: REGION.into(), host: None, key: Arc::default() }
    }

    /// Another region (`us-east-1`); it is part of the signature and means nothing to the server.
    #[must_use]
    pub fn region(mut self, region: &str) -> Self {
        self.region = region.into();
        self.key = Arc::default();
        self
    }

    /// What `Host` says in requests that have none; any node takes any.
    #[must_use]
    pub fn host(mut self, host: HeaderValue) -> Self {
        self.host = Some(host);
        self
    }

    /// Signs a request as it is now: neither its body nor a header that it has may change any more.
    ///
    /// # Errors
    /// If a header of the request is no text.
    pub fn sign(&self, request: &mut Request<Payload>, time: SystemTime) -> Result<(), SignError> {
        let host = self.host.clone().unwrap_or_else(|| HeaderValue::from_static("alternator"));
        let host = request.headers_mut().entry(header::HOST).or_insert(host).clone();
        if let (Some(credentials), Ok(since)) = (self.identity.data::<Credentials>(), time.duration_since(UNIX_EPOCH))
            && request.uri().path() == "/"
            && request.uri().query().is_none()
        {
            return self.sign_root(request, credentials, since.as_secs());
        }
        let failed = |error: BoxError| SignError(error.into());
        let params = v4::SigningParams::builder()
            .identity(&self.identity)
            .region(&self.region)
            .name("dynamodb")
            .time(time)
            .settings(SigningSettings::default())
            .build();
        let params: SigningParams<'_> = params.map_err(|error| failed(error.into()))?.into();
        let host = host.to_str().map_err(|error| failed(error.into()))?;
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let uri = format!("http://{host}{path}");
        let mut headers = Vec::with_capacity(request.headers().len());
        for (name, value) in request.headers() {
            headers.push((name.as_str(), value.to_str().map_err(|error| failed(error.into()))?));
        }
        let body = SignableBody::Bytes(request.body().bytes());
        let signable = SignableRequest::new(request.method().as_str(), uri, headers.into_iter(), body);
        let signed = sign(signable.map_err(|error| failed(error.into()))?, &params);
        let (instructions, _) = signed.map_err(|error| failed(error.into()))?.into_parts();
        instructions.apply_to_request_http1x(request);
        Ok(())
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

/// A request that cannot be signed.
#[derive(Clone, Debug)]
pub struct SignError(Arc<dyn std::error::Error + Send + Sync>);

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request cannot be signed")
    }
}

impl std::error::Error for SignError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// Layers [`Sign`] over an HTTP client, below the balancing: each attempt is signed anew, for its own node.
#[derive(Clone, Debug)]
pub struct SignLayer(Signer);

impl SignLayer {
    /// Signs with this.
    #[must_use]
    pub const fn new(signer: Signer) -> Self {
        Self(signer)
    }
}

impl<S> Layer<S> for SignLayer {
    type Service = Sign<S>;

    fn layer(&self, inner: S) -> Sign<S> {
        Sign { inner, signer: self.0.clone() }
    }
}

/// Signs each request; readiness is that of the client below. What cannot be signed is sent unsigned, and refused.
#[derive(Clone, Debug)]
pub struct Sign<S> {
    inner: S,
    signer: Signer,
}

impl<S> Service<Request<Payload>> for Sign<S>
where
    S: Service<Request<Payload>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Payload>) -> S::Future {
        if let Err(error) = self.signer.sign(&mut request, SystemTime::now()) {
            tracing::warn!(error = %messina_layers::error::chain(&error), "sent unsigned");
        }
        self.inner.call(request)
    }
}
