//! The tower service that dials into a network of pipes.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use messina_layers::{Candidate, LocalBind, Transport};
use tower_service::Service;

use super::{Network, Pipe};

/// Dials into a [`Network`]: stands where a TCP connector stands in a connect stack.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use messina::testkit::{Cluster, Network};
/// use messina_layers::{Address, Candidate};
/// use tower::ServiceExt;
///
/// let network = Network::new();
/// let cluster = Cluster::builder().network(&network).start().await?;
/// let addr = cluster.node(0).addr();
/// let transport = network.connector().oneshot(Candidate::new(Address::Socket(addr), addr)).await?;
/// assert_eq!(transport.io.peer_addr(), addr);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PipeConnector {
    network: Network,
}

impl PipeConnector {
    pub(super) fn new(network: Network) -> Self {
        Self { network }
    }
}

impl<T: LocalBind + Send + 'static> Service<Candidate<T>> for PipeConnector {
    type Response = Transport<T, Pipe>;
    type Error = io::Error;
    type Future = PipeConnecting<T>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, candidate: Candidate<T>) -> Self::Future {
        let network = self.network.clone();
        PipeConnecting {
            // A test's dial may be boxed: it is one of a handful.
            dial: Box::pin(async move {
                let pipe = network.dial_from(candidate.addr(), candidate.target().ports()).await?;
                Ok(Transport::new(candidate, pipe))
            }),
        }
    }
}

type Dial<T> = Pin<Box<dyn Future<Output = io::Result<Transport<T, Pipe>>> + Send>>;

/// The future of [`PipeConnector`].
pub struct PipeConnecting<T> {
    dial: Dial<T>,
}

impl<T> Future for PipeConnecting<T> {
    type Output = io::Result<Transport<T, Pipe>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.dial.as_mut().poll(cx)
    }
}

impl<T> fmt::Debug for PipeConnecting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipeConnecting").finish_non_exhaustive()
    }
}
