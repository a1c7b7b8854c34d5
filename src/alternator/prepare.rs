//! The layer above the balancing, for requests without an SDK: affinity, compression, headers, signature; and the
//! decompression of answers.

mod lookup;

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::SystemTime,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use messina_layers::BoxError;
use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_layer::Layer;
use tower_service::Service;

use self::lookup::affinity;
use super::{
    client::Inner,
    encoding::{ACCEPTED, Compress, Decoded, decoded},
    headers::slim,
    http::Payload,
    sign::{SignError, Signer},
    wire::{Wire, wire_options},
};

/// What is done to requests before they are sent, and to answers.
///
/// By default: not signed, not compressed, answers neither, no header but those that the server needs, and the user agent
/// `messina/VERSION` where a request has none.
#[derive(Clone, Debug, Default)]
pub struct RequestOptions {
    signer: Option<Signer>,
    pub(super) wire: Wire,
}

wire_options!(RequestOptions);

impl RequestOptions {
    /// Signs every request, once, before a node is chosen.
    #[must_use]
    pub fn signed(mut self, signer: Signer) -> Self {
        self.signer = Some(signer);
        self
    }
}

/// Layers [`Prepare`] over the balancing; see [`Alternator::client`](super::Alternator::client).
#[derive(Clone, Debug)]
pub struct PrepareLayer {
    inner: Arc<Inner>,
    options: Arc<RequestOptions>,
}

impl PrepareLayer {
    pub(super) fn new(inner: Arc<Inner>, options: RequestOptions) -> Self {
        Self { inner, options: Arc::new(options) }
    }
}

impl<S> Layer<S> for PrepareLayer {
    type Service = Prepare<S>;

    fn layer(&self, service: S) -> Prepare<S> {
        Prepare { service, layer: self.clone() }
    }
}

/// Prepares each request, then sends it through the service below. Always ready: it drives a clone of that service.
#[derive(Clone, Debug)]
pub struct Prepare<S> {
    service: S,
    layer: PrepareLayer,
}

impl<S, B> Service<Request<Payload>> for Prepare<S>
where
    S: Service<Request<Payload>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: From<SignError> + Send,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Decoded<B>>;
    type Error = S::Error;
    type Future = PrepareFuture<S>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Payload>) -> PrepareFuture<S> {
        let options = &self.layer.options;
        affinity(&self.layer.inner, &self.service, options, &mut request);
        let limit = options.wire.longest_answer;
        match prepare(options, &mut request) {
            Ok(()) => PrepareFuture { sending: Some(Oneshot::new(self.service.clone(), request)), failed: None, limit },
            Err(error) => PrepareFuture { sending: None, failed: Some(error), limit },
        }
    }
}

/// Everything that has to be done before the request is signed, and the signature.
fn prepare(options: &RequestOptions, request: &mut Request<Payload>) -> Result<(), SignError> {
    let wire = &options.wire;
    let compression = match request.extensions_mut().remove::<Compress>() {
        Some(Compress(compression)) => compression,
        None => wire.compression,
    };
    if let Some(compression) = compression {
        compression.apply(request);
    }
    let headers = request.headers_mut();
    if wire.compressed_answers {
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED));
    }
    wire.user_agent.apply(headers);
    if wire.slim {
        slim(headers, &wire.kept);
    }
    match &options.signer {
        Some(signer) => signer.sign(request, SystemTime::now()),
        None => Ok(()),
    }
}

pin_project! {
    /// A request under way; dropping it drops all its attempts.
    pub struct PrepareFuture<S: Service<Request<Payload>>> {
        #[pin]
        sending: Option<Oneshot<S, Request<Payload>>>,
        failed: Option<SignError>,
        limit: usize,
    }
}

impl<S: Service<Request<Payload>>> fmt::Debug for PrepareFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrepareFuture")
    }
}

impl<S, B> Future for PrepareFuture<S>
where
    S: Service<Request<Payload>, Response = Response<B>>,
    S::Error: From<SignError>,
{
    type Output = Result<Response<Decoded<B>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Some(error) = this.failed.take() {
            return Poll::Ready(Err(error.into()));
        }
        match this.sending.as_pin_mut() {
            Some(sending) => sending.poll(cx).map_ok(|answer| decoded(answer, *this.limit)),
            None => panic!("PrepareFuture polled after completion"),
        }
    }
}
