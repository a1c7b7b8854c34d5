//! The error of a whole connect, and what it owns.

use super::{Address, Arc, AttemptError, BoxError, Duration, Error, Report, Scope, SocketAddr, fmt};

/// One attempt that failed: where, why, and how long it took.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FailedAttempt {
    /// The address that was dialled.
    pub addr: SocketAddr,
    /// Why it failed.
    pub error: AttemptError,
    /// How long the attempt took.
    pub elapsed: Duration,
}

impl FailedAttempt {
    /// An attempt that failed at `addr`.
    #[must_use]
    pub const fn new(addr: SocketAddr, error: AttemptError, elapsed: Duration) -> Self {
        Self { addr, error, elapsed }
    }
}

/// The address, the step, the time; the cause is in `source()`.
impl fmt::Display for FailedAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed at the {} step after {:.1?}", self.addr, self.error.stage(), self.elapsed)
    }
}

impl Error for FailedAttempt {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.error.cause())
    }
}

/// Why a connect failed. It owns every attempt, in dial order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The lookup failed, panicked or took too long.
    Resolve {
        /// What was looked up.
        target: Address,
        /// What the resolver said.
        source: Arc<dyn Error + Send + Sync>,
        /// How long the lookup took.
        elapsed: Duration,
    },
    /// The lookup answered no address.
    NoAddress {
        /// What was looked up.
        target: Address,
    },
    /// An attempt failed in a way that every address would, or the limit on refused logins was reached.
    Rejected {
        /// What was connected to.
        target: Address,
        /// The attempts, in dial order.
        failed: Vec<FailedAttempt>,
        /// How many addresses were left.
        untried: usize,
    },
    /// Every address failed.
    Exhausted {
        /// What was connected to.
        target: Address,
        /// The attempts, in dial order.
        failed: Vec<FailedAttempt>,
    },
    /// The budget ran out between attempts.
    OutOfTime {
        /// What was connected to.
        target: Address,
        /// The attempts, in dial order.
        failed: Vec<FailedAttempt>,
        /// How many addresses were left.
        untried: usize,
        /// The budget.
        budget: Duration,
    },
    /// A service of the stack broke: it failed or panicked outside of any attempt.
    NotReady {
        /// What was connected to.
        target: Address,
        /// The attempts before, in dial order.
        failed: Vec<FailedAttempt>,
        /// What the service said.
        source: Arc<dyn Error + Send + Sync>,
    },
}

/// How a caller should take a failed connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// An attempt failed for every address at once.
    Terminal,
    /// A login was refused somewhere.
    Auth,
    /// Every attempt failed in a way that forbids to use the server.
    ForcesDown,
    /// Anything else; trying again later is right.
    Ordinary,
}

impl ConnectError {
    /// What was connected to.
    #[must_use]
    pub fn target(&self) -> &Address {
        match self {
            Self::Resolve { target, .. }
            | Self::NoAddress { target }
            | Self::Rejected { target, .. }
            | Self::Exhausted { target, .. }
            | Self::OutOfTime { target, .. }
            | Self::NotReady { target, .. } => target,
        }
    }

    /// The attempts that failed, in dial order.
    #[must_use]
    pub fn failed(&self) -> &[FailedAttempt] {
        match self {
            Self::Resolve { .. } | Self::NoAddress { .. } => &[],
            Self::Rejected { failed, .. }
            | Self::Exhausted { failed, .. }
            | Self::OutOfTime { failed, .. }
            | Self::NotReady { failed, .. } => failed,
        }
    }

    /// How many addresses were not tried.
    #[must_use]
    pub fn untried(&self) -> usize {
        match self {
            Self::Rejected { untried, .. } | Self::OutOfTime { untried, .. } => *untried,
            _ => 0,
        }
    }

    /// How to take it; decided by what the attempts are, not by their order.
    #[must_use]
    pub fn class(&self) -> Class {
        let failed = self.failed();
        if failed.iter().any(|a| a.error.scope() == Scope::Endpoint) {
            Class::Terminal
        } else if failed.iter().any(|a| a.error.scope() == Scope::Suspect) {
            Class::Auth
        } else if !failed.is_empty() && failed.iter().all(|a| a.error.forces_down()) {
            Class::ForcesDown
        } else {
            Class::Ordinary
        }
    }

    /// The attempt that stands for the whole: the one that decided the class.
    #[must_use]
    pub fn surfaced(&self) -> Option<&FailedAttempt> {
        let failed = self.failed();
        match self.class() {
            Class::Terminal => failed.iter().find(|a| a.error.scope() == Scope::Endpoint),
            Class::Auth => failed.iter().find(|a| a.error.scope() == Scope::Suspect),
            Class::ForcesDown => failed.first(),
            Class::Ordinary => failed.iter().find(|a| !a.error.forces_down()),
        }
    }

    /// The whole story, a line per address: address, stage, elapsed, cause.
    #[must_use]
    pub fn report(&self) -> Report<'_> {
        Report::new(self)
    }

    /// The one door for errors of a whole connect: a `ConnectError` comes back as it is, also from inside
    /// another error's chain; anything else broke the stack itself.
    pub fn from_box(error: BoxError, target: impl FnOnce() -> Address) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(own) => return *own,
            Err(error) => error,
        };
        if let Some(own) = super::find::<Self>(&*error) {
            return own.clone();
        }
        Self::NotReady { target: target(), failed: Vec::new(), source: Arc::from(error) }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.target();
        let tried = self.failed().len();
        match self {
            Self::Resolve { elapsed, .. } => write!(f, "looking up {target} failed after {elapsed:.1?}"),
            Self::NoAddress { .. } => write!(f, "looking up {target} gave no address"),
            Self::Rejected { untried, .. } if self.class() == Class::Auth => write!(
                f,
                "connecting to {target} stopped at address {tried}: the limit on refused logins is reached ({untried} not tried)"
            ),
            Self::Rejected { untried, .. } => write!(
                f,
                "connecting to {target} ended at address {tried} with a failure that holds for every address ({untried} not tried)"
            ),
            Self::Exhausted { .. } if tried == 1 => write!(f, "connecting to {target} failed at its only address"),
            Self::Exhausted { .. } => write!(f, "connecting to {target} failed at all of {tried} addresses"),
            Self::OutOfTime { untried, budget, .. } => {
                write!(f, "connecting to {target} used up its {budget:?}: {tried} addresses tried, {untried} not tried")
            }
            Self::NotReady { .. } => write!(f, "connecting to {target} failed because its stack broke"),
        }
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Resolve { source, .. } | Self::NotReady { source, .. } => Some(&**source),
            _ => self.surfaced().map(|attempt| attempt as &(dyn Error + 'static)),
        }
    }
}
