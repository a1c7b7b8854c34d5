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
    metrics,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, timeout},
};
use tower::{Layer, Service, ServiceExt};

use super::{
    Open,
    error::{NotWanted, WrongHost},
    handshake::Greeted,
};
use crate::{
    error::stage,
    topology::{BoxIdentity, IdentityRequest, NodeInfo},
};

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
            let admission = greeted.target.admission().cloned();
            if let Some(expected) = greeted.target.expected_host() {
                // Things may have changed since the plan was made.
                if let Some(reason) = admission.and_then(|admission| admission.host(expected)) {
                    return Err(NotWanted::at(stage::ADOPTION, expected, reason));
                }
                return Ok((greeted, None));
            }
            let limit = greeted.target.config().init_timeout;
            let since = Instant::now();
            let node = identify(&mut greeted, identity, limit).await;
            metrics::stage_ended(stage::IDENTITY, node.is_ok(), since.elapsed());
            let node = node.map_err(|error| AttemptError::from_box(error, stage::IDENTITY))?;
            if let Some(notes) = greeted.target.notes() {
                notes.lap(stage::IDENTITY);
            }
            if let Some(reason) = admission.and_then(|admission| admission.node(&node)) {
                return Err(NotWanted::at(stage::ADOPTION, node.host_id, reason));
            }
            if let Some(expected) = greeted.target.host_to_prove().filter(|expected| *expected != node.host_id) {
                let wrong = WrongHost::Other { expected, actual: node.host_id };
                return Err(AttemptError::new(stage::IDENTITY, wrong));
            }
            Ok((greeted, Some(node)))
        })
    }
}

async fn identify<IO>(greeted: &mut Greeted<IO>, identity: BoxIdentity, limit: Duration) -> Result<NodeInfo, BoxError>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let request = IdentityRequest::new(greeted.opening.handle().clone());
    match timeout(limit, greeted.opening.run(identity.oneshot(request))).await {
        Ok(Ok(node)) => node,
        Ok(Err(closed)) => Err(closed.into()),
        Err(_elapsed) => Err(TimedOut::new(limit).into()),
    }
}
