//! An adapter for resolvers in hyper's convention, `Service<Name>`.

use std::{
    fmt,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use hyper_util::client::legacy::connect::dns::Name as HyperName;
use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_service::Service;

use super::Resolved;
use crate::{address::Address, error::BoxError};

/// Makes a `Service<Name>` of hyper's convention a resolver; socket addresses are answered with themselves.
///
/// Always ready: a clone of the inner resolver is driven inside the future.
#[derive(Clone, Debug)]
pub struct HyperResolver<R> {
    inner: R,
}

impl<R> HyperResolver<R> {
    /// Wraps a resolver of hyper's convention.
    pub const fn new(inner: R) -> Self {
        Self { inner }
    }
}

impl<R> Service<Address> for HyperResolver<R>
where
    R: Service<HyperName> + Clone,
    R::Response: Iterator<Item = SocketAddr>,
    R::Error: Into<BoxError>,
{
    type Response = Vec<Resolved>;
    type Error = BoxError;
    type Future = HyperFuture<R>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Address) -> HyperFuture<R> {
        match address {
            Address::Socket(addr) => HyperFuture::Literal { addr: Some(addr) },
            Address::Name(name, _) => match name.as_str().parse::<HyperName>() {
                Ok(name) => HyperFuture::Lookup { lookup: Oneshot::new(self.inner.clone(), name) },
                Err(error) => HyperFuture::Invalid { error: Some(error.into()) },
            },
        }
    }
}

pin_project! {
    /// A lookup in progress.
    #[project = HyperProj]
    pub enum HyperFuture<R: Service<HyperName>> {
        /// Nothing to look up.
        #[doc(hidden)]
        Literal { addr: Option<SocketAddr> },
        /// Asking the inner resolver.
        #[doc(hidden)]
        Lookup { #[pin] lookup: Oneshot<R, HyperName> },
        /// The name does not suit the inner resolver.
        #[doc(hidden)]
        Invalid { error: Option<BoxError> },
    }
}

impl<R: Service<HyperName>> fmt::Debug for HyperFuture<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HyperFuture")
    }
}

impl<R> Future for HyperFuture<R>
where
    R: Service<HyperName>,
    R::Response: Iterator<Item = SocketAddr>,
    R::Error: Into<BoxError>,
{
    type Output = Result<Vec<Resolved>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            HyperProj::Literal { addr } => Poll::Ready(Ok(addr.take().into_iter().map(Resolved::from).collect())),
            HyperProj::Lookup { lookup } => {
                lookup.poll(cx).map_ok(|addrs| addrs.map(Resolved::from).collect()).map_err(Into::into)
            }
            HyperProj::Invalid { error } => {
                Poll::Ready(Err(error.take().unwrap_or_else(|| "polled after completion".into())))
            }
        }
    }
}
