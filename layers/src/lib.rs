//! Connect layers for any protocol: a name goes in, the connection that won comes out.
//!
//! Connecting is an ordinary tower service. Each step is a layer that can be taken out, replaced or mocked:
//!
//! | layer | takes | gives |
//! | --- | --- | --- |
//! | [`PinLayer`] | target | [`Established`], its target pinned to the winner's address |
//! | [`ResolveLayer`] | target | [`Candidates`]: every address of its name, looked up once |
//! | [`ShuffleCapLayer`] | [`Candidates`] | the same, ordered and capped |
//! | [`FallbackLayer`] | [`Candidates`] | [`Established`]: one [`Candidate`] after another |
//! | [`AttemptLayer`] | [`Candidate`] | the same, with a span and counters |
//! | [`HandshakeLayer`] | [`Candidate`] | a connection, made by a `Service<Transport<T, IO>>` |
//! | [`TlsLayer`] | [`Candidate`] | [`Transport`] over [`MaybeTls`] |
//! | [`TcpConnector`] | [`Candidate`] | [`Transport`] over a TCP stream |
//!
//! ```no_run
//! use std::convert::Infallible;
//!
//! use messina_layers::*;
//! use tokio::net::TcpStream;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A protocol without a handshake: the transport is the connection.
//! let handshake =
//!     service_fn(|transport: Transport<_, TcpStream>| async move { Ok::<_, Infallible>(transport.io) });
//!
//! let connect = ServiceBuilder::new()
//!     .layer(PinLayer::new())
//!     .layer(ResolveLayer::new(SystemResolver::new()))
//!     .layer(ShuffleCapLayer::new().with_cap(5))
//!     .layer(FallbackLayer::new())
//!     .layer(AttemptLayer::new())
//!     .layer(HandshakeLayer::new(handshake))
//!     .service(TcpConnector::new());
//!
//! let target = Pinned::new(Address::parse("example.com", 80)?);
//! let established = connect.oneshot(target).await?;
//! println!("{} won, {} lost", established.addr, established.failed.len());
//! # Ok(())
//! # }
//! ```
//!
//! Readiness: pin, resolve and shuffle are always ready and drive what is below inside their future;
//! fallback polls the readiness of what is below before each candidate; below it, tower's ordinary rule holds.
//! Dropping a connect at any point leaves no task, socket or timer behind.
//!
//! Three places are made for a user's own layers: around the whole stack (called once per connect), around
//! [`Attempt`] (once per address), around the connector below TLS (once per dial). An error or panic in one
//! ends, in this order, the connect (with a [`GuardLayer`] outside of it), the candidate, the dial.

// In the order of the flow.
pub mod address;
pub mod target;
pub mod candidate;
pub mod pin;
pub mod resolve;
pub mod shuffle;
pub mod fallback;
pub mod attempt;
pub mod handshake;
pub mod tls;
pub mod tcp;
pub mod established;
pub mod backoff;
pub mod error;
pub mod guard;
mod limit;
pub mod metrics;
mod random;
pub mod stack;

#[cfg(feature = "hickory")]
pub use self::resolve::HickoryResolver;
#[cfg(feature = "hyper")]
pub use self::resolve::HyperResolver;
#[cfg(feature = "rustls")]
pub use self::tls::{TlsConfig, TlsConfigBuilder, TlsConfigError, TlsFileError, TlsFiles};
pub use self::{
    address::{Address, AddressError, HostAddr, Name},
    attempt::{Attempt, AttemptLayer},
    backoff::Backoff,
    candidate::{Candidate, Candidates, Turn, TurnGuard},
    error::{AttemptError, BoxError, Class, ConnectError, FailedAttempt, GivenUp, Panicked, Scope, Stage, TimedOut},
    established::Established,
    fallback::{Fallback, FallbackLayer},
    guard::{Guard, GuardLayer},
    handshake::{Handshake, HandshakeLayer, Transport},
    pin::{PinConnect, PinLayer, Pinned},
    resolve::{FixedResolver, Resolve, ResolveLayer, Resolved, SystemResolver},
    shuffle::{Order, ShuffleCap, ShuffleCapLayer},
    stack::{
        BoxConnect, Connect, ConnectOptions, ConnectStack, Resolver, TryCandidate, connect_stack, connect_stack_with,
    },
    target::{Accept, Dial, LocalBind, LocalPorts, Pinnable, ServerIdentity, TlsIdentity},
    tcp::TcpConnector,
    tls::{MaybeTls, Tls, TlsLayer},
};

/// The rustls that TLS settings are made with.
#[cfg(feature = "rustls")]
pub use tokio_rustls::rustls;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
