//! Takes a target, gives the established connection with the winner's address written into the target.
//!
//! A pinned target is one whose name is already resolved. The pin is an address without a port, so the
//! same pin serves every port of a server; TLS and authentication still see the name.

use std::{
    borrow::Borrow,
    fmt,
    future::Future,
    hash::{Hash, Hasher},
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    address::{Address, HostAddr},
    established::Established,
    target::{Dial, LocalBind, LocalPorts, Pinnable, ServerIdentity, TlsIdentity},
};

/// Layers [`PinConnect`]: writes the address that won into the target; nothing below knows of pins.
#[derive(Clone, Copy, Debug, Default)]
pub struct PinLayer(());

impl PinLayer {
    /// The layer; it has no options.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

impl<S> Layer<S> for PinLayer {
    type Service = PinConnect<S>;

    fn layer(&self, inner: S) -> PinConnect<S> {
        PinConnect::new(inner)
    }
}

/// Pins the target of every connection that the inner service establishes.
///
/// Always ready: a clone of the inner service is driven inside the future.
#[derive(Clone, Debug)]
pub struct PinConnect<S> {
    inner: S,
}

impl<S> PinConnect<S> {
    /// Wraps a service that answers [`Established`].
    pub const fn new(inner: S) -> Self {
        Self { inner }
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Gives the service below back.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, T, U, C> Service<T> for PinConnect<S>
where
    S: Service<T, Response = Established<U, C>> + Clone,
    U: Pinnable,
{
    type Response = Established<U, C>;
    type Error = S::Error;
    type Future = PinFuture<S, T>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: T) -> PinFuture<S, T> {
        PinFuture { inner: Oneshot::new(self.inner.clone(), target) }
    }
}

pin_project! {
    /// The connect in progress; dropping it drops everything below.
    #[derive(Debug)]
    pub struct PinFuture<S: Service<T>, T> {
        #[pin]
        inner: Oneshot<S, T>,
    }
}

impl<S, T, U, C> Future for PinFuture<S, T>
where
    S: Service<T, Response = Established<U, C>>,
    U: Pinnable,
{
    type Output = Result<Established<U, C>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut established = ready!(self.project().inner.poll(cx))?;
        established.target.pin_to(established.addr.into());
        Poll::Ready(Ok(established))
    }
}

/// A target together with the address it is held to.
///
/// The pin takes no part in identity: `Eq`, `Hash` and `Display` are those of the target, so a pinned
/// target and the plain one are interchangeable as map keys, both ways ([`Borrow`]). Only `Debug` shows it.
// connect 96: one wrapper for all kinds: its equality is the target's, and every reader of a fact accepts both.
#[derive(Clone, Copy, Debug)]
pub struct Pinned<T> {
    target: T,
    addr: Option<HostAddr>,
}

impl<T> Pinned<T> {
    /// A target that is not pinned yet.
    pub const fn new(target: T) -> Self {
        Self { target, addr: None }
    }

    /// A target held to `addr`.
    pub const fn at(target: T, addr: HostAddr) -> Self {
        Self { target, addr: Some(addr) }
    }

    /// The target.
    pub fn target(&self) -> &T {
        &self.target
    }

    /// The target, to be changed; the pin stays.
    pub fn target_mut(&mut self) -> &mut T {
        &mut self.target
    }

    /// The address it is held to.
    pub fn pin(&self) -> Option<HostAddr> {
        self.addr
    }

    /// Lets the target be resolved again.
    pub fn unpin(&mut self) {
        self.addr = None;
    }

    /// Gives the target back, without the pin.
    pub fn into_inner(self) -> T {
        self.target
    }
}

impl<T> From<T> for Pinned<T> {
    fn from(target: T) -> Self {
        Self::new(target)
    }
}

impl<T> Pinnable for Pinned<T> {
    fn pin_to(&mut self, addr: HostAddr) {
        self.addr = Some(addr);
    }
}

/// Pinned: that IP with the port the target wants; else what the target says.
impl<T: Dial> Dial for Pinned<T> {
    fn address(&self) -> Address {
        let address = self.target.address();
        match self.addr {
            Some(addr) => Address::Socket(addr.with_port(address.port())),
            None => address,
        }
    }
}

impl<T: ServerIdentity> ServerIdentity for Pinned<T> {
    fn tls(&self) -> Option<TlsIdentity> {
        self.target.tls()
    }
}

impl<T: LocalBind> LocalBind for Pinned<T> {
    fn ports(&self) -> Option<LocalPorts> {
        self.target.ports()
    }
}

impl<T> Borrow<T> for Pinned<T> {
    fn borrow(&self) -> &T {
        &self.target
    }
}

impl<T: PartialEq> PartialEq for Pinned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.target == other.target
    }
}

impl<T: Eq> Eq for Pinned<T> {}

impl<T: Hash> Hash for Pinned<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.target.hash(state);
    }
}

impl<T: fmt::Display> fmt::Display for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.target.fmt(f)
    }
}
