//! How one try of a request fails, and what that allows.

use std::error;
use std::sync::Arc;

use scylla_cql_core::frame::types::Consistency;
use thiserror::Error;

use crate::connection::{Delivery, ReplyError, TrySendError};
use crate::error::Kind;
use crate::metrics::TryClass;
use crate::policy::{FailedTry, RetryCause, RetryDecision, RetryPolicy};
use crate::protocol::ProtocolVersion;
use crate::protocol::request::RequestError;
use crate::protocol::response::{ParseError, ServerError, server_error::code};

/// A cause as the session's error keeps it.
pub(super) type Cause = Arc<dyn error::Error + Send + Sync>;

/// How one try failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection has no room.
    Full,
    /// The request did not reach the node.
    NotSent(Cause),
    /// The connection ended while the request was on it.
    Lost(Cause),
    /// The request cannot be said on this connection.
    Invalid(RequestError),
    /// The node answered with an error.
    Server(Box<ServerError>),
    /// The node could not be told about the prepared statement, so it did not execute it.
    NotPrepared(Box<ServerError>),
    /// The node answered with something else than an answer to this.
    Unreadable(Cause),
    /// Nothing was sent, since it cannot be sent this way.
    Refused(Refused),
}

/// Why a request is not sent to a node, though it could be.
#[derive(Clone, Debug, Error)]
pub(super) enum Refused {
    #[error("the paging state comes from another protocol version than the connection's, {0}")]
    PagingState(ProtocolVersion),
    #[error("the node prepares the statement under another id; prepare it again")]
    OtherId,
}

/// An answer that does not answer the request.
#[derive(Clone, Debug, Error)]
#[error("the answer is not one to this request")]
pub(super) struct Unexpected;

/// What to do after a try that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Try another node, at this consistency if one is given.
    Next(Option<Consistency>),
    /// Send it again to the same node, at this consistency if one is given.
    Again(Option<Consistency>),
    /// Prepare the statement on the same node, then send it again.
    Prepare,
    /// Succeed without rows.
    Ignore,
    /// Give up.
    End,
}

/// How Apache Cassandra refuses requests on a connection that it is about to close: before it does anything, with the
/// only code that clients do not take for a broken connection.
const SHUTTING_DOWN: &str = "Server is shutting down";

/// What was done already for a request.
#[derive(Debug)]
pub(super) struct Retries<'a> {
    policy: &'a dyn RetryPolicy,
    /// Since the node was last changed.
    prepared: bool,
    /// How often each class of cause was followed by another try.
    by_cause: Vec<(i32, u32)>,
}

/// The class of a lost connection, beside the codes of the servers.
const LOST: i32 = -1;

impl<'a> Retries<'a> {
    pub(super) fn new(policy: &'a dyn RetryPolicy) -> Self {
        Self { policy, prepared: false, by_cause: Vec::new() }
    }

    /// Another node is next.
    pub(super) fn next_node(&mut self) {
        self.prepared = false;
    }

    /// What to do, and remembers it as done.
    pub(super) fn decide(&mut self, failure: &Failure, idempotent: bool, consistency: Consistency) -> Step {
        let (class, cause) = match failure {
            // A node whose schema lags behind may refuse what others take.
            Failure::Full | Failure::NotSent(_) | Failure::NotPrepared(_) => return Step::Next(None),
            Failure::Server(error) if error.code == code::OVERLOADED && error.message == SHUTTING_DOWN => {
                return Step::Next(None);
            }
            // The statement was prepared in another dialect.
            Failure::Invalid(RequestError::NoMetadataId) => return self.prepare_once(),
            Failure::Server(error) if error.code == code::UNPREPARED => return self.prepare_once(),
            Failure::Invalid(_) | Failure::Unreadable(_) | Failure::Refused(_) => return Step::End,
            Failure::Lost(_) => (LOST, RetryCause::Lost),
            Failure::Server(error) => (error.code, RetryCause::Server(error)),
        };
        let retries = self.by_cause.iter().map(|(_, times)| times).sum();
        let same = self.by_cause.iter().position(|(known, _)| *known == class);
        let same_cause = same.map_or(0, |place| self.by_cause[place].1);
        let mut failed = FailedTry::new(cause).after(same_cause);
        (failed.idempotent, failed.consistency, failed.retries) = (idempotent, consistency, retries);
        let step = match self.policy.decide(&failed) {
            RetryDecision::Fail => return Step::End,
            RetryDecision::Ignore => return Step::Ignore,
            RetryDecision::NextNode => Step::Next(None),
            RetryDecision::SameNode => Step::Again(None),
            RetryDecision::NextNodeAt(consistency) => Step::Next(Some(consistency)),
            RetryDecision::SameNodeAt(consistency) => Step::Again(Some(consistency)),
        };
        match same {
            Some(place) => self.by_cause[place].1 += 1,
            None => self.by_cause.push((class, 1)),
        }
        step
    }

    fn prepare_once(&mut self) -> Step {
        if std::mem::replace(&mut self.prepared, true) { Step::End } else { Step::Prepare }
    }
}

impl Failure {
    pub(super) fn unexpected() -> Self {
        Self::Unreadable(Arc::new(Unexpected))
    }

    /// What the request failed with, if it ends here.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Full | Self::NotSent(_) => Kind::NoConnection,
            Self::Lost(_) => Kind::Connection,
            Self::Invalid(_) | Self::Refused(_) => Kind::Statement,
            Self::Server(_) | Self::NotPrepared(_) => Kind::Server,
            Self::Unreadable(_) => Kind::Protocol,
        }
    }

    /// In the words of the metrics.
    pub(super) fn class(&self) -> TryClass {
        match self {
            Self::Full | Self::NotSent(_) | Self::Invalid(_) | Self::Refused(_) => TryClass::Unsent,
            Self::Lost(_) => TryClass::Aborted,
            Self::Server(error) => match error.code {
                code::WRITE_TIMEOUT => TryClass::WriteTimeout,
                code::READ_TIMEOUT => TryClass::ReadTimeout,
                code::UNAVAILABLE => TryClass::Unavailable,
                _ => TryClass::Other,
            },
            Self::NotPrepared(_) | Self::Unreadable(_) => TryClass::Other,
        }
    }

    pub(super) fn into_cause(self) -> Cause {
        match self {
            Self::Full => Arc::new(TrySendError::Full),
            Self::NotSent(cause) | Self::Lost(cause) | Self::Unreadable(cause) => cause,
            Self::Invalid(error) => Arc::new(error),
            Self::Server(error) | Self::NotPrepared(error) => Arc::from(error as Box<dyn error::Error + Send + Sync>),
            Self::Refused(error) => Arc::new(error),
        }
    }
}

impl From<TrySendError> for Failure {
    fn from(error: TrySendError) -> Self {
        match error {
            TrySendError::Full => Self::Full,
            TrySendError::Closed(error) => Self::NotSent(Arc::new(error)),
            TrySendError::Invalid(error) => Self::Invalid(error),
        }
    }
}

impl From<ReplyError> for Failure {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::Full => Self::Full,
            ReplyError::Invalid(error) => Self::Invalid(Arc::unwrap_or_clone(error)),
            ReplyError::Connection { delivery: Delivery::NotSent, .. } => Self::NotSent(Arc::new(error)),
            ReplyError::Connection { .. } => Self::Lost(Arc::new(error)),
            ReplyError::Body(_) => Self::Unreadable(Arc::new(error)),
        }
    }
}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Self {
        Self::Unreadable(Arc::new(error))
    }
}
