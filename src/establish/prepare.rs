//! The outermost layer of our own: what may differ from connect to connect is looked up, once, for this one.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use messina_layers::{ConnectError, Dial, Established};
use tower::{Layer, Service, util::ServiceExt};

use super::Open;

/// Layers [`Prepare`].
#[derive(Clone, Copy, Debug)]
pub(super) struct PrepareLayer;

impl<S> Layer<S> for PrepareLayer {
    type Service = Prepare<S>;

    fn layer(&self, inner: S) -> Prepare<S> {
        Prepare { inner }
    }
}

/// Takes the endpoint's route of the moment, and looks at the TLS files if they are due. An endpoint that leads
/// nowhere ends the connect, before any lookup.
///
/// Always ready: a clone of the inner service is driven inside the future.
#[derive(Clone, Debug)]
pub(super) struct Prepare<S> {
    inner: S,
}

impl<S, C> Service<Open> for Prepare<S>
where
    S: Service<Open, Response = Established<Open, C>, Error = ConnectError> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Established<Open, C>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Established<Open, C>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut target: Open) -> Self::Future {
        let inner = self.inner.clone();
        // Boxed because an async block cannot be named; the stack above boxes its future as well.
        Box::pin(async move {
            if let Err(source) = target.settle() {
                return Err(ConnectError::Resolve {
                    target: target.address(),
                    source: source.into(),
                    elapsed: Duration::ZERO,
                });
            }
            if let Some(tls) = &target.config().tls {
                tls.refresh().await;
            }
            let mut established = inner.oneshot(target).await?;
            established.target.unsettle();
            Ok(established)
        })
    }
}
