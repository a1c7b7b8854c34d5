//! Who answered: read for targets of which nothing is known, while the other candidates are still held.
//!
//! A connection to an identified node passes through without a byte more.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use messina_layers::{
    Candidate, TimedOut,
    error::{AttemptError, BoxError},
};
use scylla_cql_core::frame::types::Consistency;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tower::{Layer, Service, ServiceExt, util::BoxCloneSyncService};

use super::{Open, error::UnexpectedAnswer, handshake::Greeted};
use crate::{
    connection::Connection,
    error::stage,
    protocol::{
        request::{Query, QueryParams},
        response::{self, Response, ResultResponse},
    },
    topology::NodeInfo,
};

/// The query that tells who answers.
const LOCAL: &str = "SELECT * FROM system.local WHERE key='local'";

/// Reads who answers on a connection; a topology monitor may bring its own.
pub type BoxIdentity = BoxCloneSyncService<IdentityRequest, NodeInfo, BoxError>;

/// On which connection to ask.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdentityRequest {
    /// The connection, not accepted yet: what is sent on it gets its answers while the identity service waits.
    pub connection: Connection,
}

/// The identity service that ships: one read of `system.local`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLocal(());

impl SystemLocal {
    /// The service; it has no options.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

impl Service<IdentityRequest> for SystemLocal {
    type Response = NodeInfo;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<NodeInfo, BoxError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: IdentityRequest) -> Self::Future {
        Box::pin(async move { read_local(&request.connection).await })
    }
}

pub(crate) async fn read_local(connection: &Connection) -> Result<NodeInfo, BoxError> {
    let params = QueryParams { consistency: Consistency::One, ..QueryParams::default() };
    let envelope = connection.try_send(&Query::new(LOCAL, params))?.await?;
    match response::parse(envelope, connection.dialect(), None)?.response {
        Response::Result(ResultResponse::Rows(rows)) => {
            NodeInfo::from_local(&rows, connection.peer().port())?.ok_or_else(|| "system.local is empty".into())
        }
        Response::Error(error) => Err(error.into()),
        other => Err(UnexpectedAnswer::new("the query of system.local", &other).into()),
    }
}

/// Layers [`Identify`] over what answers [`Greeted`].
#[derive(Clone)]
pub(super) struct IdentifyLayer {
    identity: BoxIdentity,
}

impl IdentifyLayer {
    pub(super) fn new(identity: BoxIdentity) -> Self {
        Self { identity }
    }
}

impl<S> Layer<S> for IdentifyLayer {
    type Service = Identify<S>;

    fn layer(&self, inner: S) -> Identify<S> {
        Identify { inner, identity: self.identity.clone() }
    }
}

/// Reads and checks identity where it is not known.
#[derive(Clone)]
pub(super) struct Identify<S> {
    inner: S,
    identity: BoxIdentity,
}

impl<S> fmt::Debug for Identify<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identify")
    }
}

impl<S, IO> Service<Candidate<Open>> for Identify<S>
where
    S: Service<Candidate<Open>, Response = Greeted<IO>, Error = AttemptError>,
    S::Future: Send + 'static,
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Response = (Greeted<IO>, Option<NodeInfo>);
    type Error = AttemptError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, AttemptError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, candidate: Candidate<Open>) -> Self::Future {
        let greeted = self.inner.call(candidate);
        let identity = self.identity.clone();
        Box::pin(async move {
            let mut greeted = greeted.await?;
            if greeted.target.expected_host().is_some() {
                return Ok((greeted, None));
            }
            let limit = greeted.target.config().init_timeout;
            let node = identify(&mut greeted, identity, limit).await;
            let node = node.map_err(|error| AttemptError::from_box(error, stage::IDENTITY))?;
            Ok((greeted, Some(node)))
        })
    }
}

async fn identify<IO>(greeted: &mut Greeted<IO>, identity: BoxIdentity, limit: Duration) -> Result<NodeInfo, BoxError>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let request = IdentityRequest { connection: greeted.opening.handle().clone() };
    match timeout(limit, greeted.opening.run(identity.oneshot(request))).await {
        Ok(Ok(node)) => node,
        Ok(Err(closed)) => Err(closed.into()),
        Err(_elapsed) => Err(TimedOut::new(limit).into()),
    }
}
