//! What can go wrong, and how it is told.
//!
//! An [`Error`] says in one line what failed, where, after how long and why; [`Error::report`] prints every
//! attempt on a line of its own. The kind is for programs, the text for people.

#[cfg(feature = "rustls")]
pub(crate) mod certificate;
mod config;
mod report;
pub mod stage;

use std::{borrow::Cow, error, fmt, net::SocketAddr, sync::Arc, time::Duration};

use messina_layers::ConnectError;
use uuid::Uuid;

pub use self::{config::ConfigError, report::Report};

/// Anything that a session can fail with; cheap to clone.
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

struct Inner {
    kind: Kind,
    message: Cow<'static, str>,
    contact_points: Vec<ContactPointFailed>,
    tries: Vec<Try>,
    source: Option<Arc<dyn error::Error + Send + Sync>>,
}

/// What a program may want to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A setting is wrong; nothing was tried.
    Config,
    /// No contact point could be connected to.
    Unreachable,
    /// No node has a connection that takes requests.
    NoConnection,
    /// The request's time ran out; it may have been executed.
    Timeout,
    /// The connection broke while the request was on it; it may have been executed unless every try says otherwise.
    Connection,
    /// The server answered with an error.
    Server,
    /// The server answered with something that is not the protocol, or not the answer to what was asked.
    Protocol,
    /// The values do not fit the statement.
    Values,
    /// The rows do not fit the Rust type, or there are not as many as asked for.
    Rows,
    /// The statement cannot be sent this way.
    Statement,
    /// A layer of the application's around requests refused.
    Layer,
    /// The session is closed.
    Closed,
}

impl Kind {
    /// Its name in a metric's label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Unreachable => "unreachable",
            Self::NoConnection => "no-connection",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Protocol => "protocol",
            Self::Values => "values",
            Self::Rows => "rows",
            Self::Layer => "layer",
            Self::Statement => "statement",
            Self::Closed => "closed",
        }
    }
}

/// A contact point that could not be connected to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ContactPointFailed {
    /// The contact point, as it was written.
    pub name: String,
    /// Every attempt at it.
    pub error: ConnectError,
}

/// One sending of a request to one node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Try {
    /// The node.
    pub host_id: Uuid,
    /// The address of the connection.
    pub addr: SocketAddr,
    /// How long it took.
    pub elapsed: Duration,
    /// Why it failed.
    pub error: Arc<dyn error::Error + Send + Sync>,
}

impl Try {
    /// A try that failed.
    pub fn new(
        host_id: Uuid,
        addr: SocketAddr,
        elapsed: Duration,
        error: impl Into<Arc<dyn error::Error + Send + Sync>>,
    ) -> Self {
        Self { host_id, addr, elapsed, error: error.into() }
    }
}

impl ContactPointFailed {
    /// A contact point and why it could not be connected to.
    pub fn new(name: impl Into<String>, error: ConnectError) -> Self {
        Self { name: name.into(), error }
    }
}

impl Error {
    /// An error of this kind; `message` is one line, without the cause.
    pub(crate) fn new(kind: Kind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            inner: Arc::new(Inner {
                kind,
                message: message.into(),
                contact_points: Vec::new(),
                tries: Vec::new(),
                source: None,
            }),
        }
    }

    /// The same with its cause.
    #[must_use]
    pub(crate) fn with_source(self, source: impl Into<Arc<dyn error::Error + Send + Sync>>) -> Self {
        self.change(|inner| inner.source = Some(source.into()))
    }

    /// The same with the tries that led to it, in order.
    #[must_use]
    pub(crate) fn with_tries(self, tries: Vec<Try>) -> Self {
        self.change(|inner| inner.tries = tries)
    }

    /// The same with tries that came before its own.
    #[must_use]
    pub(crate) fn after_tries(self, before: &[Try]) -> Self {
        self.change(|inner| inner.tries.splice(..0, before.iter().cloned()).for_each(drop))
    }

    /// No contact point could be connected to.
    pub(crate) fn unreachable(contact_points: Vec<ContactPointFailed>) -> Self {
        let error = Self::new(Kind::Unreachable, "no contact point was reachable");
        error.change(|inner| inner.contact_points = contact_points)
    }

    /// No node could be connected to, though a contact point let us in.
    pub(crate) fn no_connection(nodes: Vec<ContactPointFailed>) -> Self {
        let error = Self::new(Kind::NoConnection, "no node could be connected to");
        error.change(|inner| inner.contact_points = nodes)
    }

    /// The same with the contact points or nodes that could not be connected to.
    #[must_use]
    pub(crate) fn with_contact_points(self, contact_points: Vec<ContactPointFailed>) -> Self {
        self.change(|inner| inner.contact_points = contact_points)
    }

    fn change(self, change: impl FnOnce(&mut Inner)) -> Self {
        let inner = Arc::try_unwrap(self.inner).unwrap_or_else(|shared| Inner {
            kind: shared.kind,
            message: shared.message.clone(),
            contact_points: shared.contact_points.clone(),
            tries: shared.tries.clone(),
            source: shared.source.clone(),
        });
        let mut inner = inner;
        change(&mut inner);
        Self { inner: Arc::new(inner) }
    }

    /// What a program may want to tell apart.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.inner.kind
    }

    /// The contact points that could not be connected to, in the order tried.
    #[must_use]
    pub fn contact_points(&self) -> &[ContactPointFailed] {
        &self.inner.contact_points
    }

    /// The tries of a request, in order.
    #[must_use]
    pub fn tries(&self) -> &[Try] {
        &self.inner.tries
    }

    /// Whether a login was refused.
    #[must_use]
    pub fn is_auth(&self) -> bool {
        self.contact_points().iter().any(|failed| failed.error.class() == messina_layers::Class::Auth)
    }

    /// Whether time ran out.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.kind() == Kind::Timeout
    }

    /// The cause, or a cause of it, if it is of type `E`.
    #[must_use]
    pub fn find<E: error::Error + 'static>(&self) -> Option<&E> {
        let mut error = error::Error::source(self);
        while let Some(inner) = error {
            if let Some(found) = inner.downcast_ref() {
                return Some(found);
            }
            error = inner.source();
        }
        self.tries().iter().rev().find_map(|tried| {
            let mut error: Option<&(dyn error::Error + 'static)> = Some(&*tried.error);
            while let Some(inner) = error {
                if let Some(found) = inner.downcast_ref() {
                    return Some(found);
                }
                error = inner.source();
            }
            None
        })
    }

    /// The whole story, a line per attempt or try: address, stage, elapsed, cause.
    #[must_use]
    pub fn report(&self) -> Report<'_> {
        Report::new(self)
    }
}

/// One line: what failed, and every contact point and address or every try with its reason.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        report::one_line(self, f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("message", &format_args!("{self}"))
            .field("source", &self.inner.source)
            .finish()
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match &self.inner.source {
            Some(source) => Some(&**source),
            None => match self.inner.contact_points.last() {
                Some(failed) => Some(&failed.error),
                None => self.inner.tries.last().map(|tried| &*tried.error as &(dyn error::Error + 'static)),
            },
        }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::new(Kind::Config, "a setting cannot be used").with_source(Arc::new(error) as Arc<_>)
    }
}
