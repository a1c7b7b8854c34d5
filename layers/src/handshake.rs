//! Takes a [`Candidate`], gives a connection: dials through the connector below, then runs the handshake.
//!
//! The handshake is a service too: any `Service<Transport<T, IO>>`. It gets the target, the bytes, the
//! address and the turn, and answers whatever a connection is in its protocol.

use std::{
    fmt,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    candidate::{Candidate, Turn},
    error::{AttemptError, BoxError, Stage},
    guard::Guarded,
    limit::Limit,
};

/// How long a handshake may take unless told otherwise, its wait for the turn not counted.
pub const DEFAULT_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes to and from an address, opened for a target.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Transport<T, IO> {
    /// The target it was opened for.
    pub target: T,
    /// The bytes.
    pub io: IO,
    /// The address that was dialled.
    pub peer: SocketAddr,
    /// To be taken before anything that costs the server or can lock an account.
    pub turn: Turn,
}

impl<T, IO> Transport<T, IO> {
    /// What a connector answers for a candidate.
    pub fn new(candidate: Candidate<T>, io: IO) -> Self {
        let (target, peer, turn) = candidate.into_parts();
        Self { target, io, peer, turn }
    }

    /// The same with other bytes, as TLS makes them.
    pub fn map_io<IO2>(self, change: impl FnOnce(IO) -> IO2) -> Transport<T, IO2> {
        let Self { target, io, peer, turn } = self;
        Transport { target, io: change(io), peer, turn }
    }
}

/// Layers [`Handshake`] over a connector.
#[derive(Clone, Debug)]
pub struct HandshakeLayer<H> {
    handshake: H,
    timeout: Option<Duration>,
}

impl<H> HandshakeLayer<H> {
    /// Runs `handshake` on each transport, limited to [`DEFAULT_HANDSHAKE_TIMEOUT`].
    pub const fn new(handshake: H) -> Self {
        Self { handshake, timeout: Some(DEFAULT_HANDSHAKE_TIMEOUT) }
    }

    /// Limits the whole handshake to `timeout`, not counting its wait for the turn: the attempt that holds
    /// the turn has limits of its own, and being slow must not cost the attempts behind it theirs.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Leaves the limits to the handshake itself.
    #[must_use]
    pub fn without_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }
}

impl<H: Clone, S> Layer<S> for HandshakeLayer<H> {
    type Service = Handshake<H, S>;

    fn layer(&self, inner: S) -> Handshake<H, S> {
        Handshake { inner, handshake: self.handshake.clone(), timeout: self.timeout }
    }
}

/// Dials, then shakes hands.
///
/// A panic of the connector is a failed dial, one of the handshake a failed handshake. Readiness is the
/// connector's; the handshake is a clone, driven to readiness inside the future.
#[derive(Clone, Debug)]
pub struct Handshake<H, S> {
    inner: S,
    handshake: H,
    timeout: Option<Duration>,
}

impl<H, S> Handshake<H, S> {
    /// The connector below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Gives the connector below back.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<H, S, T, IO> Service<Candidate<T>> for Handshake<H, S>
where
    S: Service<Candidate<T>, Response = Transport<T, IO>>,
    S::Error: Into<BoxError>,
    H: Service<Transport<T, IO>> + Clone,
    H::Error: Into<BoxError>,
{
    type Response = H::Response;
    type Error = AttemptError;
    type Future = HandshakeFuture<H, S::Future, T, IO>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        self.inner.poll_ready(cx).map_err(|e| AttemptError::from_box(e.into(), Stage::TCP))
    }

    fn call(&mut self, candidate: Candidate<T>) -> Self::Future {
        let dial = Guarded::call(|| self.inner.call(candidate));
        HandshakeFuture { state: State::Dial { dial, handshake: Some(self.handshake.clone()) }, timeout: self.timeout }
    }
}

pin_project! {
    /// Dial, then handshake; dropping it closes the transport.
    pub struct HandshakeFuture<H: Service<Transport<T, IO>>, F, T, IO> {
        #[pin]
        state: State<H, F, T, IO>,
        timeout: Option<Duration>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<H: Service<Transport<T, IO>>, F, T, IO> {
        Dial { #[pin] dial: Guarded<F>, handshake: Option<H> },
        Handshake {
            #[pin] handshake: Guarded<Oneshot<H, Transport<T, IO>>>,
            #[pin] limit: Limit,
            turn: Turn,
            // By the tries before this one of the same attempt.
            waited: Duration,
        },
    }
}

impl<H: Service<Transport<T, IO>>, F, T, IO> fmt::Debug for HandshakeFuture<H, F, T, IO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            State::Dial { .. } => "HandshakeFuture(dialling)",
            State::Handshake { .. } => "HandshakeFuture(shaking hands)",
        })
    }
}

impl<H, F, T, IO, E> Future for HandshakeFuture<H, F, T, IO>
where
    F: Future<Output = Result<Transport<T, IO>, E>>,
    E: Into<BoxError>,
    H: Service<Transport<T, IO>>,
    H::Error: Into<BoxError>,
{
    type Output = Result<H::Response, AttemptError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                // Dial => Handshake
                StateProj::Dial { dial, handshake } => {
                    let transport = ready!(dial.poll(cx)).map_err(|e| AttemptError::from_box(e, Stage::TCP))?;
                    let Some(handshake) = handshake.take() else { panic!("HandshakeFuture polled after completion") };
                    let (limit, turn) = (Limit::new(*this.timeout), transport.turn.clone());
                    let (waited, handshake) = (turn.waited(), Guarded::new(Oneshot::new(handshake, transport)));
                    this.state.set(State::Handshake { handshake, limit, turn, waited });
                }
                StateProj::Handshake { handshake, limit, turn, waited } => {
                    if let Poll::Ready(result) = handshake.poll(cx) {
                        return Poll::Ready(result.map_err(|e| AttemptError::from_box(e, Stage::HANDSHAKE)));
                    }
                    // Time spent waiting for another attempt's login is given back.
                    let over = ready!(limit.poll_over_but(cx, || turn.waited().saturating_sub(*waited)));
                    return Poll::Ready(Err(AttemptError::new(Stage::HANDSHAKE, over)));
                }
            }
        }
    }
}
