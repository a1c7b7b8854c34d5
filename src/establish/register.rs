//! REGISTER, for control connections only and never before identity is accepted.
//!
//! A connection is live but not registered for the round trip of the identity read, so a full refresh must
//! follow registration.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use messina_layers::{Candidate, error::AttemptError, metrics};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};
use tower::{Layer, Service};

use super::{
    Open,
    error::UnexpectedAnswer,
    handshake::Greeted,
    steps::{read, step_error},
};
use crate::{
    error::stage,
    protocol::{
        request::Register,
        response::{Response, ServerError},
    },
    topology::NodeInfo,
};

/// The event type that old servers do not know.
const CLIENT_ROUTES_CHANGE: &str = "CLIENT_ROUTES_CHANGE";

/// What a connection learned, with the event types it is registered for.
pub(super) struct Registered<IO> {
    pub(super) greeted: Greeted<IO>,
    pub(super) node: Option<NodeInfo>,
    pub(super) events: Vec<&'static str>,
}

/// Layers [`RegisterEvents`].
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisterLayer;

impl<S> Layer<S> for RegisterLayer {
    type Service = RegisterEvents<S>;

    fn layer(&self, inner: S) -> RegisterEvents<S> {
        RegisterEvents { inner }
    }
}

/// Registers for the target's events, if it wants any.
#[derive(Clone, Debug)]
pub(super) struct RegisterEvents<S> {
    inner: S,
}

impl<S, IO> Service<Candidate<Open>> for RegisterEvents<S>
where
    S: Service<Candidate<Open>, Response = (Greeted<IO>, Option<NodeInfo>), Error = AttemptError>,
    S::Future: Send + 'static,
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Response = Registered<IO>;
    type Error = AttemptError;
    type Future = Pin<Box<dyn Future<Output = Result<Registered<IO>, AttemptError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, candidate: Candidate<Open>) -> Self::Future {
        let identified = self.inner.call(candidate);
        Box::pin(async move {
            let (mut greeted, node) = identified.await?;
            let events = match greeted.target.events() {
                None => Vec::new(),
                Some((sink, types)) => {
                    greeted.opening.set_events(sink);
                    let (types, since) = (types.to_vec(), Instant::now());
                    let registered = register(&mut greeted, types).await;
                    metrics::stage_ended(stage::REGISTER, registered.is_ok(), since.elapsed());
                    if let (Some(notes), true) = (greeted.target.notes(), registered.is_ok()) {
                        notes.lap(stage::REGISTER);
                    }
                    registered?
                }
            };
            Ok(Registered { greeted, node, events })
        })
    }
}

async fn register<IO>(
    greeted: &mut Greeted<IO>,
    mut types: Vec<&'static str>,
) -> Result<Vec<&'static str>, AttemptError>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let limit = greeted.target.config().init_timeout;
    let mut narrowed = false;
    loop {
        let envelope = greeted.opening.request(&Register { events: &types }, limit).await;
        let envelope = envelope.map_err(|error| step_error(stage::REGISTER, error))?;
        match read(envelope, greeted.opening.handle().dialect(), stage::REGISTER)? {
            Response::Ready => return Ok(types),
            Response::Error(error) => match refused_type(&error, &types) {
                Some(unknown) if !narrowed => {
                    narrowed = true;
                    types.retain(|event| *event != unknown);
                    if greeted.target.config().said.first(unknown) {
                        warn(unknown, &error);
                    }
                }
                _ => return Err(AttemptError::new(stage::REGISTER, error)),
            },
            other => return Err(AttemptError::new(stage::REGISTER, UnexpectedAnswer::new("REGISTER", &other))),
        }
    }
}

/// The event type that a protocol error (0x000A) names, if it is one of ours.
fn refused_type(error: &ServerError, types: &[&'static str]) -> Option<&'static str> {
    let names = error.code == 0x000A;
    types.iter().copied().find(|event| names && error.message.contains(event))
}

fn warn(event: &str, error: &ServerError) {
    if event == CLIENT_ROUTES_CHANGE {
        tracing::warn!(
            server = %error.message,
            "the server is too old for client routes: it does not know {event}; going on without that event"
        );
    } else {
        tracing::warn!(server = %error.message, "the server does not know the event {event}; going on without it");
    }
}
