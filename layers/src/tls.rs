//! Takes what a connector gives, gives the same inside TLS where the target asks for it.
//!
//! The layer always answers [`MaybeTls`], so a stack has one type with and without TLS. The configured name
//! is verified, whatever the resolver answered; a target without a name has the address really dialled
//! verified. Nothing is looked up here, forward or reverse.

#[cfg(feature = "rustls")]
mod builder;
#[cfg(feature = "rustls")]
mod config;
#[cfg(feature = "rustls")]
mod files;
#[cfg(feature = "rustls")]
mod sessions;
mod stream;
#[cfg(feature = "rustls")]
mod verify;

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};
use tower_layer::Layer;
use tower_service::Service;

pub use self::stream::MaybeTls;
#[cfg(feature = "rustls")]
pub use self::{
    builder::TlsConfigBuilder,
    config::{TlsConfig, TlsConfigError},
    files::{TlsFileError, TlsFiles},
};
use crate::{
    candidate::Candidate,
    error::{AttemptError, BoxError, Scope, Stage},
    guard::Guarded,
    handshake::Transport,
    limit::Limit,
    metrics,
    target::ServerIdentity,
};

/// How long a TLS handshake may take unless told otherwise.
pub const DEFAULT_TLS_TIMEOUT: Duration = Duration::from_secs(5);

/// Layers [`Tls`] over a connector.
#[derive(Clone, Debug)]
pub struct TlsLayer {
    #[cfg(feature = "rustls")]
    config: Option<TlsConfig>,
    timeout: Duration,
}

impl TlsLayer {
    /// TLS where the target asks for it and brings its settings; limited to [`DEFAULT_TLS_TIMEOUT`].
    #[must_use]
    pub const fn new() -> Self {
        Self {
            #[cfg(feature = "rustls")]
            config: None,
            timeout: DEFAULT_TLS_TIMEOUT,
        }
    }

    /// The settings of targets that bring none.
    #[cfg(feature = "rustls")]
    #[must_use]
    pub fn with_config(mut self, config: TlsConfig) -> Self {
        self.config = Some(config);
        self
    }

    /// Limits a handshake to `timeout`.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Default for TlsLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for TlsLayer {
    type Service = Tls<S>;

    fn layer(&self, inner: S) -> Tls<S> {
        Tls { inner, layer: self.clone() }
    }
}

/// Dials, then runs TLS if the target asks for it.
///
/// A panic of the connector is a failed dial. Readiness is the connector's.
#[derive(Clone, Debug)]
pub struct Tls<S> {
    inner: S,
    layer: TlsLayer,
}

impl<S> Tls<S> {
    /// The connector below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Gives the connector below back.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, T, IO> Service<Candidate<T>> for Tls<S>
where
    S: Service<Candidate<T>, Response = Transport<T, IO>>,
    S::Error: Into<BoxError>,
    T: ServerIdentity,
    IO: AsyncRead + AsyncWrite + Unpin,
{
    type Response = Transport<T, MaybeTls<IO>>;
    type Error = AttemptError;
    type Future = TlsFuture<S::Future, T, IO>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        self.inner.poll_ready(cx).map_err(|e| AttemptError::from_box(e.into(), Stage::TCP))
    }

    fn call(&mut self, candidate: Candidate<T>) -> Self::Future {
        let dial = Guarded::call(|| self.inner.call(candidate));
        TlsFuture { state: State::Dial { dial }, since: Instant::now(), layer: self.layer.clone() }
    }
}

pin_project! {
    /// Dial, then handshake; dropping it closes the transport.
    pub struct TlsFuture<F, T, IO> {
        #[pin]
        state: State<F, T, IO>,
        // The beginning of the stage.
        since: Instant,
        layer: TlsLayer,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, T, IO> {
        Dial { #[pin] dial: Guarded<F> },
        Handshake {
            connect: stream::Connect<IO>,
            #[pin] limit: Limit,
            // The target and the rest of the transport, without its bytes.
            rest: Option<Transport<T, ()>>,
        },
    }
}

impl<F, T, IO> fmt::Debug for TlsFuture<F, T, IO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            State::Dial { .. } => "TlsFuture(dialling)",
            State::Handshake { .. } => "TlsFuture(shaking hands)",
        })
    }
}

impl<F, T, IO, E> Future for TlsFuture<F, T, IO>
where
    F: Future<Output = Result<Transport<T, IO>, E>>,
    E: Into<BoxError>,
    T: ServerIdentity,
    IO: AsyncRead + AsyncWrite + Unpin,
{
    type Output = Result<Transport<T, MaybeTls<IO>>, AttemptError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                // Dial => Handshake | done, where the target wants no TLS
                StateProj::Dial { dial } => {
                    let dialled = ready!(dial.poll(cx)).map_err(|e| AttemptError::from_box(e, Stage::TCP));
                    metrics::stage_ended(Stage::TCP, dialled.is_ok(), this.since.elapsed());
                    let transport = dialled?;
                    *this.since = Instant::now();
                    let Some(identity) = transport.target.tls() else {
                        return Poll::Ready(Ok(transport.map_io(MaybeTls::Plain)));
                    };
                    let (io, rest) = split(transport);
                    let connect = this.layer.connect(&identity, rest.peer.ip(), io).map_err(|source| {
                        // Settings that cannot work at one address work at none.
                        AttemptError::new(Stage::TLS, source).with_scope(Scope::Endpoint)
                    })?;
                    let limit = Limit::new(Some(this.layer.timeout));
                    this.state.set(State::Handshake { connect, limit, rest: Some(rest) });
                }
                StateProj::Handshake { connect, limit, rest } => {
                    let result = match Pin::new(connect).poll(cx) {
                        Poll::Ready(result) => result.map_err(|source| AttemptError::new(Stage::TLS, source)),
                        Poll::Pending => {
                            let over = ready!(limit.poll_over(cx));
                            Err(AttemptError::new(Stage::TLS, over))
                        }
                    };
                    metrics::stage_ended(Stage::TLS, result.is_ok(), this.since.elapsed());
                    let Some(rest) = rest.take() else { panic!("TlsFuture polled after completion") };
                    return Poll::Ready(result.map(|io| rest.map_io(|()| io)));
                }
            }
        }
    }
}

fn split<T, IO>(transport: Transport<T, IO>) -> (IO, Transport<T, ()>) {
    let Transport { target, io, peer, turn } = transport;
    (io, Transport { target, io: (), peer, turn })
}
