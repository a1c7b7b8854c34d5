//! The end of an attempt: from here on a task drives the connection.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use messina_layers::{Candidate, error::AttemptError};
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite};
use tower::{Layer, Service};

use super::{
    Open,
    error::{WrongCluster, WrongHost},
    handshake::Greeted,
    register::Registered,
};
use crate::{
    connection::{Compression, Connection},
    error::stage,
    metrics::{ConnectMetrics, Rejection},
    protocol::{Dialect, response::Supported},
    topology::NodeInfo,
};

/// A connection that passed every step, with what the attempt learned, by value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Accepted {
    /// The connection, driven by a task of its own; it closes when the last handle is dropped.
    pub connection: Connection,
    /// The negotiated version and ScyllaDB's extensions of it.
    pub dialect: Dialect,
    /// The negotiated compression.
    pub compression: Option<Compression>,
    /// What the server said of itself in SUPPORTED.
    pub supported: Supported,
    /// The cluster's name.
    pub cluster_name: String,
    /// Who answered; read only where it was not known before.
    pub node: Option<NodeInfo>,
    /// The event types that the connection is registered for.
    pub events: Vec<&'static str>,
}

/// Layers [`Accept`].
#[derive(Clone, Debug)]
pub(super) struct AcceptLayer {
    metrics: ConnectMetrics,
}

impl AcceptLayer {
    pub(super) fn new(metrics: ConnectMetrics) -> Self {
        Self { metrics }
    }
}

impl<S> Layer<S> for AcceptLayer {
    type Service = Accept<S>;

    fn layer(&self, inner: S) -> Accept<S> {
        Accept { inner, metrics: self.metrics.clone() }
    }
}

/// Spawns the driver of a connection that passed; counts those that did not for who answered.
#[derive(Clone, Debug)]
pub(super) struct Accept<S> {
    inner: S,
    metrics: ConnectMetrics,
}

impl<S, IO> Service<Candidate<Open>> for Accept<S>
where
    S: Service<Candidate<Open>, Response = Registered<IO>, Error = AttemptError>,
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Response = Accepted;
    type Error = AttemptError;
    type Future = AcceptFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, candidate: Candidate<Open>) -> Self::Future {
        AcceptFuture { inner: self.inner.call(candidate), metrics: self.metrics.clone() }
    }
}

pin_project! {
    /// An attempt, up to its acceptance.
    #[derive(Debug)]
    pub(super) struct AcceptFuture<F> {
        #[pin]
        inner: F,
        metrics: ConnectMetrics,
    }
}

impl<F, IO> Future for AcceptFuture<F>
where
    F: Future<Output = Result<Registered<IO>, AttemptError>>,
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Output = Result<Accepted, AttemptError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let registered = ready!(this.inner.poll(cx));
        if let Err(error) = &registered {
            count(error, this.metrics);
        }
        let Registered { greeted, node, events } = registered?;
        let Greeted { opening, supported, cluster_name, compression, turn, .. } = greeted;
        let connection = opening.accept();
        drop(turn);
        let dialect = connection.dialect();
        Poll::Ready(Ok(Accepted { connection, dialect, compression, supported, cluster_name, node, events }))
    }
}

/// Counts what is worth a series of its own.
fn count(error: &AttemptError, metrics: &ConnectMetrics) {
    if error.stage() == stage::REGISTER {
        metrics.register_failed();
    } else if error.find::<WrongCluster>().is_some() {
        metrics.rejected(Rejection::Cluster);
    } else if let Some(wrong) = error.find::<WrongHost>() {
        metrics.rejected(match wrong {
            WrongHost::Other { .. } => Rejection::Host,
            WrongHost::NoHostId => Rejection::Unknown,
        });
    } else if error.stage() == stage::IDENTITY {
        metrics.rejected(Rejection::Unknown);
    }
}
