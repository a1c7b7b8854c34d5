//! The built-in HTTP client: hyper over connections of the `messina-layers` stack.
//!
//! A name is expanded to all of its addresses, shuffled, capped, tried one beside the other, and verified by its own
//! name inside TLS. Connections are kept alive and shared by all requests to a node. Redirects are answers like any
//! other: nothing is followed.

mod connect;
#[cfg(feature = "rustls")]
mod danger;
mod options;
mod payload;
mod target;

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, ResponseFuture},
    rt::{TokioExecutor, TokioTimer},
};
use tower_service::Service;

use self::connect::Connector;
pub use self::{
    connect::RemoteAddr,
    options::{AddressResolver, HttpOptions},
    payload::Payload,
    target::{Target, TargetError},
};
pub(super) use self::{
    payload::Sent,
    target::{authority_of, host_of},
};

/// Sends requests whose URI names the node; cheap to clone, and clones share their connections.
///
/// A `Host` header that a request has is sent as it is, whatever node the URI names. The address that answered is
/// among the answer's extensions ([`RemoteAddr`]).
///
/// ```no_run
/// use messina::alternator::http::{HttpClient, HttpOptions, Payload};
/// use tower::ServiceExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = HttpClient::new(HttpOptions::default());
/// let answer = client.oneshot(http::Request::get("http://db.example.com:8000/").body(Payload::default())?).await?;
/// println!("{}", answer.status());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: Arc<Client<Connector, Payload>>,
}

impl HttpClient {
    /// A client without a connection.
    #[must_use]
    pub fn new(options: HttpOptions) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(options.idle_timeout)
            .pool_max_idle_per_host(options.max_idle)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http1_max_buf_size(options.max_head)
            .build(Connector::new(options));
        Self { client: Arc::new(client) }
    }
}

impl Service<Request<Payload>> for HttpClient {
    type Response = Response<Incoming>;
    type Error = hyper_util::client::legacy::Error;
    type Future = HttpFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Payload>) -> HttpFuture {
        HttpFuture(self.client.request(request))
    }
}

/// An exchange in progress; dropping it closes its connection, unless the answer has arrived.
#[derive(Debug)]
pub struct HttpFuture(ResponseFuture);

impl Future for HttpFuture {
    type Output = Result<Response<Incoming>, hyper_util::client::legacy::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}
