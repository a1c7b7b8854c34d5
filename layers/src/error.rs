//! What went wrong: at which stage, at which address, how far it reaches.
//!
//! `Display` is one sentence with its address and without the cause; the cause is in `source()`;
//! [`ConnectError::report`] prints the whole table.

use std::{error::Error, fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use crate::address::Address;

mod connect;
mod report;

pub use self::{
    connect::{Class, ConnectError, FailedAttempt},
    report::{Report, chain, printable},
};

/// Any error, boxed: what an inner service of a layer may fail with.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A step of connecting; users and protocols add their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stage(&'static str);

impl Stage {
    /// Turning a name into addresses.
    pub const RESOLVE: Self = Self("resolve");
    /// Opening the transport.
    pub const TCP: Self = Self("tcp");
    /// The TLS handshake.
    pub const TLS: Self = Self("tls");
    /// The protocol's handshake.
    pub const HANDSHAKE: Self = Self("handshake");
    /// Somewhere in an attempt: an error that does not say where it comes from.
    pub const ATTEMPT: Self = Self("attempt");

    /// A stage of one's own, in lower case.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Its name, as metrics and reports show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stage({})", self.0)
    }
}

/// How far a failure reaches: a fact, not an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// This address alone; another may well do.
    Candidate,
    /// Bad credentials: probably every address, but a stale one may front a foreign server.
    Suspect,
    /// Every address of the target; trying another is pointless.
    Endpoint,
}

/// Why one attempt failed.
#[derive(Clone, Debug)]
pub struct AttemptError {
    stage: Stage,
    scope: Scope,
    forces_down: bool,
    source: Arc<dyn Error + Send + Sync>,
}

impl AttemptError {
    /// A failure of this address alone.
    pub fn new(stage: Stage, source: impl Into<BoxError>) -> Self {
        Self { stage, scope: Scope::Candidate, forces_down: false, source: Arc::from(source.into()) }
    }

    /// The same with another scope.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Marks a failure that, should every address give it, tells that the server must not be used.
    #[must_use]
    pub fn forcing_down(mut self) -> Self {
        self.forces_down = true;
        self
    }

    /// The one door for errors of inner services: an `AttemptError` comes back as it is, also from inside
    /// another error's chain of sources; anything else gets scope [`Scope::Candidate`] and `stage`.
    pub fn from_box(error: BoxError, stage: Stage) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(own) => return *own,
            Err(error) => error,
        };
        if let Some(own) = find::<Self>(&*error) {
            return own.clone();
        }
        let scope = find(&*error).map_or(Scope::Candidate, scope_of_io);
        Self { stage, scope, forces_down: false, source: Arc::from(error) }
    }

    /// The step that failed.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// How far it reaches.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Whether the server must not be used if every address fails like this.
    #[must_use]
    pub fn forces_down(&self) -> bool {
        self.forces_down
    }

    /// The cause.
    #[must_use]
    pub fn cause(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.source
    }

    /// The cause, if it is (or was caused by) an error of type `E`.
    #[must_use]
    pub fn find<E: Error + 'static>(&self) -> Option<&E> {
        find(&*self.source)
    }
}

impl fmt::Display for AttemptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} step failed", self.stage)
    }
}

impl Error for AttemptError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// The first error of type `E` in a chain of causes.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // What an `io::Error` wraps is not its source.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = wrapped.map_or_else(|| error.source(), |wrapped| Some(wrapped));
    }
    None
}

/// A dial that failed because this process has no descriptors left fails at every address.
pub(crate) fn scope_of_io(error: &io::Error) -> Scope {
    // EMFILE and ENFILE have no `io::ErrorKind`; the numbers are the same on Linux and the BSDs.
    match error.raw_os_error() {
        Some(23 | 24) if cfg!(unix) => Scope::Endpoint,
        Some(10024) if cfg!(windows) => Scope::Endpoint,
        _ => Scope::Candidate,
    }
}

/// A step that took longer than its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut(Duration);

impl TimedOut {
    /// Exceeded `limit`.
    #[must_use]
    pub const fn new(limit: Duration) -> Self {
        Self(limit)
    }

    /// The limit that was exceeded.
    #[must_use]
    pub const fn limit(&self) -> Duration {
        self.0
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within {:?}", self.0)
    }
}

impl Error for TimedOut {}

/// An attempt that had not answered yet when another one decided the connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenUp(pub(crate) ());

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("had not answered when another address decided the connect")
    }
}

impl Error for GivenUp {}

/// A service or future that panicked; the connect goes on or fails, but does not hang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked(pub(crate) String);

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.0)
    }
}

impl Error for Panicked {}
