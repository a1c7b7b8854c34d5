//! The system's resolver (`getaddrinfo`), on the blocking pool, with a bounded number of lookups.

use std::{
    fmt,
    future::Future,
    io,
    net::{SocketAddr, ToSocketAddrs},
    num::NonZeroUsize,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::sync::Semaphore;
use tower_service::Service;

use crate::address::Address;

/// How many lookups may block a thread at the same time.
const DEFAULT_CONCURRENCY: usize = 8;

/// Asks the operating system: hosts file, DNS, mDNS and whatever nsswitch names.
///
/// A lookup blocks a thread of tokio's blocking pool and cannot be interrupted there; at most 8 (or
/// [`with_concurrency`](Self::with_concurrency)) do so at a time, further ones wait, bounded by the resolve
/// limit. Dropping the future frees the caller at once. The order is the system's: glibc puts addresses that
/// resemble the source address first.
#[derive(Clone, Debug)]
pub struct SystemResolver {
    running: Arc<Semaphore>,
}

impl SystemResolver {
    /// With at most 8 lookups at a time.
    #[must_use]
    pub fn new() -> Self {
        Self { running: Arc::new(Semaphore::new(DEFAULT_CONCURRENCY)) }
    }

    /// With at most `lookups` at a time.
    #[must_use]
    pub fn with_concurrency(lookups: NonZeroUsize) -> Self {
        Self { running: Arc::new(Semaphore::new(lookups.get().min(Semaphore::MAX_PERMITS))) }
    }
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Service<Address> for SystemResolver {
    type Response = Vec<SocketAddr>;
    type Error = io::Error;
    type Future = SystemFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Address) -> SystemFuture {
        match address {
            Address::Socket(addr) => SystemFuture(State::Literal(Some(addr))),
            Address::Name(name, port) => {
                let running = Arc::clone(&self.running);
                SystemFuture(State::Lookup(Box::pin(async move {
                    let permit = running.acquire_owned().await.map_err(io::Error::other)?;
                    tokio::task::spawn_blocking(move || {
                        let answer = (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
                        // Held until the thread is free again, even if nobody waits any more.
                        drop(permit);
                        answer
                    })
                    .await
                    .map_err(io::Error::other)?
                })))
            }
        }
    }
}

/// A lookup in progress.
pub struct SystemFuture(State);

enum State {
    Literal(Option<SocketAddr>),
    // Boxed because an async block cannot be named; a lookup is a thread hop anyway.
    Lookup(Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + Sync>>),
}

impl Future for SystemFuture {
    type Output = io::Result<Vec<SocketAddr>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Literal(addr) => Poll::Ready(Ok(addr.take().into_iter().collect())),
            State::Lookup(lookup) => lookup.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for SystemFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SystemFuture")
    }
}
