//! Why a request has no answer.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use crate::alternator::{health::Outcome, live_nodes::NoRoute, node::Node, sign::SignError};

/// An attempt that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FailedAttempt {
    /// The node that was asked.
    pub node: Node,
    /// How it ended.
    pub outcome: Outcome,
    /// After how long.
    pub elapsed: Duration,
    /// What the HTTP client said, if it said something.
    pub error: Option<Arc<dyn Error + Send + Sync>>,
}

impl fmt::Display for FailedAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, outcome, elapsed, error } = self;
        match outcome {
            Outcome::Refused => write!(f, "{node} could not be connected to")?,
            Outcome::Silent => write!(f, "{node} said nothing")?,
            Outcome::Cancelled => write!(f, "no connection to {node} became free")?,
            Outcome::Answered(status) => write!(f, "{node} answered status {status}")?,
            _ => write!(f, "{node} broke the connection")?,
        }
        write!(f, " ({elapsed:.1?})")?;
        let mut next = error.as_ref().map(|error| &**error as &(dyn Error + 'static));
        while let Some(error) = next {
            write!(f, ": {error}")?;
            next = error.source();
        }
        Ok(())
    }
}

/// Why a request has no answer; cheap to clone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RequestError {
    /// There is no node that a request may go to; nobody was asked.
    NoRoute(NoRoute),
    /// The client is closed.
    Closed,
    /// The request cannot be sent to any node as it is.
    Invalid(Arc<http::Error>),
    /// The request cannot be signed.
    Unsigned(SignError),
    /// No attempt was answered.
    Exhausted {
        /// All of them, in order.
        attempts: Arc<[FailedAttempt]>,
    },
    /// The connection broke after the request was sent, and sending it again might do it twice.
    Broken {
        /// All attempts, this one at the end.
        attempts: Arc<[FailedAttempt]>,
    },
    /// The limit of the request passed.
    OutOfTime {
        /// The limit.
        limit: Duration,
        /// Whether the server may have done what was asked for.
        sent: bool,
        /// The attempts that failed before.
        attempts: Arc<[FailedAttempt]>,
    },
}

impl RequestError {
    /// Whether a server may have done what was asked for.
    #[must_use]
    pub const fn maybe_done(&self) -> bool {
        match self {
            Self::Broken { .. } => true,
            Self::OutOfTime { sent, .. } => *sent,
            _ => false,
        }
    }

    /// Its word in the metrics.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::NoRoute(_) => "no-route",
            Self::Closed => "closed",
            Self::Invalid(_) => "invalid",
            Self::Unsigned(_) => "unsigned",
            Self::Exhausted { .. } => "exhausted",
            Self::Broken { .. } => "broken",
            Self::OutOfTime { .. } => "timeout",
        }
    }

    /// The attempts that failed, in order.
    #[must_use]
    pub fn attempts(&self) -> &[FailedAttempt] {
        match self {
            Self::Exhausted { attempts } | Self::Broken { attempts } | Self::OutOfTime { attempts, .. } => attempts,
            Self::NoRoute(_) | Self::Closed | Self::Invalid(_) | Self::Unsigned(_) => &[],
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoute(error) => error.fmt(f)?,
            Self::Closed => f.write_str("the client is closed")?,
            Self::Unsigned(error) => error.fmt(f)?,
            Self::Invalid(_) => f.write_str("the request cannot be sent")?,
            Self::Exhausted { attempts } => write!(f, "none of {} attempts was answered", attempts.len())?,
            Self::Broken { .. } => {
                f.write_str("the connection broke after the request was sent; it may have been carried out")?;
            }
            Self::OutOfTime { limit, sent: true, .. } => {
                write!(f, "no answer within {limit:?}; the request may have been carried out")?;
            }
            Self::OutOfTime { limit, sent: false, .. } => write!(f, "the request could not be sent within {limit:?}")?,
        }
        for (i, attempt) in self.attempts().iter().enumerate() {
            write!(f, "{}{attempt}", if i == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

impl Error for RequestError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Invalid(error) => Some(&**error),
            Self::Unsigned(error) => error.source(),
            _ => None,
        }
    }
}

impl From<SignError> for RequestError {
    fn from(error: SignError) -> Self {
        Self::Unsigned(error)
    }
}
