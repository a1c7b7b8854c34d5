//! What of a stack may be brought by the application.

use std::{fmt, sync::Arc};

use messina_layers::{
    Address, BoxConnect, Candidate, Dial, Established, Resolved, Resolver, Stage, TcpConnector, Transport,
    error::{AttemptError, BoxError, ConnectError},
    guard::Guarded,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tower::{Service, ServiceExt, service_fn, util::BoxCloneSyncService};

use super::{Accepted, BoxIdentity, Open, SystemLocal};

/// Bytes of any transport.
pub trait Io: AsyncRead + AsyncWrite + Unpin + Send + Sync {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + Sync> Io for T {}

/// Bytes of a transport that the application brought or wrapped.
pub type BoxIo = Box<dyn Io>;

/// A resolver behind one type.
pub type BoxResolver = BoxCloneSyncService<Address, Vec<Resolved>, BoxError>;

/// A connector behind one type: below TLS, called once per dial.
pub type BoxConnector = BoxCloneSyncService<Candidate<Open>, Transport<Open, BoxIo>, BoxError>;

/// One attempt at one address behind one type.
pub type BoxAttempt = BoxCloneSyncService<Candidate<Open>, Accepted, AttemptError>;

/// Wraps a service of one type into another of the same.
pub(crate) type Wrap<S> = Arc<dyn Fn(S) -> S + Send + Sync>;

/// What dials.
#[derive(Clone, Default)]
pub enum Leaf {
    /// TCP as configured, its bytes not boxed.
    #[default]
    Tcp,
    /// A connector of the application's own.
    Custom(BoxConnector),
    /// TCP as configured, inside a layer of the application's.
    Layered(Arc<dyn Fn(BoxConnector) -> BoxConnector + Send + Sync>),
}

/// The parts of a stack that an application may bring.
#[derive(Clone)]
pub struct Seams {
    /// Turns names into addresses.
    pub resolver: BoxResolver,
    /// Dials.
    pub leaf: Leaf,
    /// Reads who answered.
    pub identity: BoxIdentity,
    /// Around the whole stack: once per connect.
    pub(crate) connect: Option<Wrap<BoxConnect<Open, Accepted>>>,
    /// Around one attempt: once per address.
    pub(crate) candidate: Option<Wrap<BoxAttempt>>,
}

impl Seams {
    /// Our own parts around this resolver.
    #[must_use]
    pub fn new(resolver: BoxResolver) -> Self {
        Self {
            resolver,
            leaf: Leaf::Tcp,
            identity: BoxIdentity::new(SystemLocal::new()),
            connect: None,
            candidate: None,
        }
    }
}

impl fmt::Debug for Seams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seams")
            .field("leaf", &self.leaf)
            .field("connect", &self.connect.is_some())
            .field("candidate", &self.candidate.is_some())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "Tcp",
            Self::Custom(_) => "Custom",
            Self::Layered(_) => "Layered",
        })
    }
}

/// Any resolver, behind one type.
pub(crate) fn boxed_resolver<R>(resolver: R) -> BoxResolver
where
    R: Resolver + Clone + Send + Sync + 'static,
    R::Future: Send + 'static,
{
    BoxCloneSyncService::new(
        resolver
            .map_err(Into::into)
            .map_response(|answer: R::Response| answer.into_iter().map(Into::into).collect::<Vec<Resolved>>()),
    )
}

/// Any connector, behind one type.
pub(crate) fn boxed_connector<C, IO>(connector: C) -> BoxConnector
where
    C: Service<Candidate<Open>, Response = Transport<Open, IO>> + Clone + Send + Sync + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
    IO: Io + 'static,
{
    BoxCloneSyncService::new(
        connector
            .map_err(Into::into)
            .map_response(|transport: Transport<Open, IO>| transport.map_io(|io| Box::new(io) as BoxIo)),
    )
}

/// Any attempt, behind one type; a panic in it ends the candidate.
pub(crate) fn boxed_attempt<A>(attempt: A) -> BoxAttempt
where
    A: Service<Candidate<Open>, Response = Accepted> + Clone + Send + Sync + 'static,
    A::Future: Send + 'static,
    A::Error: Into<BoxError> + 'static,
{
    BoxCloneSyncService::new(attempt.map_err(|error: A::Error| AttemptError::from_box(error.into(), Stage::ATTEMPT)))
}

/// Any connect stack, behind one type.
pub(crate) fn boxed_connect<S>(stack: S) -> BoxConnect<Open, Accepted>
where
    S: Service<Open, Response = Established<Open, Accepted>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + 'static,
{
    BoxConnect::new(service_fn(move |target: Open| {
        let stack = stack.clone();
        let address = target.address();
        async move {
            let connected = stack.oneshot(target).await;
            connected.map_err(|error| ConnectError::from_box(error.into(), || address))
        }
    }))
}

pub(super) fn boxed_tcp(tcp: TcpConnector) -> BoxConnector {
    boxed_connector(tcp)
}

/// A panic of a user's layer around the stack ends that connect, with an error.
pub(super) fn guarded(stack: BoxConnect<Open, Accepted>) -> BoxConnect<Open, Accepted> {
    BoxConnect::new(service_fn(move |target: Open| {
        let stack = stack.clone();
        let address = target.address();
        async move {
            let connect = Guarded::new(stack.oneshot(target));
            connect.await.map_err(|error| ConnectError::from_box(error, || address))
        }
    }))
}
