//! The built-in HTTP client: hyper over connections of the `messina-layers` stack.
//!
//! A name is expanded to all of its addresses, shuffled, capped, tried one beside the other, and verified by its own
//! name inside TLS. Connections are kept alive and shared by all requests to a node. Redirects are answers like any
//! other: nothing is followed.

mod cap;
mod connect;
#[cfg(feature = "rustls")]
mod danger;
mod options;
mod payload;
mod target;

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use hyper_util::{
    client::legacy::{Client, ResponseFuture},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::sync::{AcquireError, OwnedSemaphorePermit};
use tower_service::Service;

use self::{cap::Caps, connect::Connector};
pub use self::{
    cap::HttpBody,
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
    caps: Option<Caps>,
}

impl HttpClient {
    /// A client without a connection.
    #[must_use]
    pub fn new(options: HttpOptions) -> Self {
        let caps = options.most.map(Caps::new);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(options.idle_timeout)
            .pool_max_idle_per_host(options.max_idle.min(options.most.unwrap_or(usize::MAX)))
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http1_max_buf_size(options.max_head)
            .build(Connector::new(options));
        Self { client: Arc::new(client), caps }
    }
}

impl Service<Request<Payload>> for HttpClient {
    type Response = Response<HttpBody>;
    type Error = hyper_util::client::legacy::Error;
    type Future = HttpFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Payload>) -> HttpFuture {
        let permits = self.caps.as_ref().and_then(|caps| caps.of(request.uri()));
        HttpFuture(match permits.map(|permits| (Arc::clone(&permits).try_acquire_owned(), permits)) {
            None => State::Sending(self.client.request(request), None),
            Some((Ok(permit), _)) => State::Sending(self.client.request(request), Some(permit)),
            Some((Err(_), permits)) => {
                request.body().queue(true);
                let (acquire, client) = (Box::pin(permits.acquire_owned()), Arc::clone(&self.client));
                State::Waiting(Box::new(Waiting { acquire, request: Some(request), client }))
            }
        })
    }
}

/// An exchange in progress; dropping it closes its connection, unless the answer has arrived.
pub struct HttpFuture(State);

type Acquire = dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send;

enum State {
    Waiting(Box<Waiting>),
    Sending(ResponseFuture, Option<OwnedSemaphorePermit>),
}

/// For a connection of the node to become free.
struct Waiting {
    acquire: Pin<Box<Acquire>>,
    request: Option<Request<Payload>>,
    client: Arc<Client<Connector, Payload>>,
}

impl Future for HttpFuture {
    type Output = Result<Response<HttpBody>, hyper_util::client::legacy::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match &mut self.0 {
                State::Sending(sending, permit) => {
                    let answer = ready!(Pin::new(sending).poll(cx))?;
                    let permit = permit.take();
                    return Poll::Ready(Ok(answer.map(|body| HttpBody::new(body, permit))));
                }
                State::Waiting(waiting) => {
                    // Nobody closes the semaphore; without a permit the request would merely be one too many.
                    let permit = ready!(waiting.acquire.as_mut().poll(cx)).ok();
                    let Some(request) = waiting.request.take() else { return Poll::Pending };
                    request.body().queue(false);
                    self.0 = State::Sending(waiting.client.request(request), permit);
                }
            }
        }
    }
}

impl fmt::Debug for HttpFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.0 {
            State::Waiting(_) => "Waiting",
            State::Sending(..) => "Sending",
        };
        f.debug_tuple("HttpFuture").field(&state).finish()
    }
}
