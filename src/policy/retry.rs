//! Whether a try that failed is followed by another one.

use std::fmt;

use scylla_cql_core::frame::response::error::WriteType;
use scylla_cql_core::frame::types::Consistency;

use crate::protocol::response::{ErrorDetail, ServerError, server_error::code};

/// Decides what follows a try that failed.
///
/// Asked only where the outcome is open: a request that never reached a node goes to the next one in any case, and a
/// node that does not know a prepared statement is told about it. A decision to send again stands only while there is
/// time left, and another node only while there is one.
pub trait RetryPolicy: fmt::Debug + Send + Sync + 'static {
    /// What follows. Called once per failed try, without a lock held; it must not block.
    fn decide(&self, failed: &FailedTry<'_>) -> RetryDecision;
}

/// A try that failed, and what came before it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FailedTry<'a> {
    /// Why it failed.
    pub cause: RetryCause<'a>,
    /// Whether it does no harm to execute the request twice.
    pub idempotent: bool,
    /// The consistency of this try.
    pub consistency: Consistency,
    /// How often this policy has already had the request sent again, for the same class of cause.
    pub same_cause: u32,
    /// How often this policy has already had the request sent again.
    pub retries: u32,
}

impl<'a> FailedTry<'a> {
    /// A first try, not idempotent, at LOCAL_QUORUM; for tests of one's own policies.
    #[must_use]
    pub fn new(cause: RetryCause<'a>) -> Self {
        Self { cause, idempotent: false, consistency: Consistency::LocalQuorum, same_cause: 0, retries: 0 }
    }

    /// The same of a request that may be executed twice.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// The same after so many retries for this cause.
    #[must_use]
    pub fn after(mut self, retries: u32) -> Self {
        (self.same_cause, self.retries) = (retries, retries);
        self
    }
}

/// Why a try failed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RetryCause<'a> {
    /// The node answered with an error.
    Server(&'a ServerError),
    /// The connection ended while the request was on it: nobody knows whether it was executed.
    Lost,
}

/// What follows a try that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryDecision {
    /// The request fails with this.
    Fail,
    /// Try another node.
    NextNode,
    /// Send it again to the same node.
    SameNode,
    /// Send it again to the same node, at this consistency.
    SameNodeAt(Consistency),
    /// Try another node, at this consistency.
    NextNodeAt(Consistency),
    /// The request succeeds, without rows.
    Ignore,
}

/// Sends again what is safe and likely to succeed: the default of a session.
///
/// | failure | what follows |
/// | --- | --- |
/// | the node is joining | the next node |
/// | the node is overloaded, or the connection was lost | the next node, if idempotent |
/// | too few replicas are alive | the next node, once |
/// | a read timed out though enough replicas answered, only the data is missing | the same node, once |
/// | the log of a batch could not be written in time | the same node, once, if idempotent |
/// | the server failed, or a read or write failed at replicas | the next node, once, if idempotent |
/// | anything else | the request fails |
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultRetry;

impl RetryPolicy for DefaultRetry {
    fn decide(&self, failed: &FailedTry<'_>) -> RetryDecision {
        let once = |decision| if failed.same_cause == 0 { decision } else { RetryDecision::Fail };
        let error = match failed.cause {
            RetryCause::Lost if failed.idempotent => return RetryDecision::NextNode,
            RetryCause::Lost => return RetryDecision::Fail,
            RetryCause::Server(error) => error,
        };
        match (error.code, &error.detail) {
            // Refused before anything was done.
            (code::BOOTSTRAPPING, _) => RetryDecision::NextNode,
            (code::OVERLOADED, _) if failed.idempotent => RetryDecision::NextNode,
            (code::UNAVAILABLE, _) => once(RetryDecision::NextNode),
            // Enough replicas live, only the one with the data was slow: the coordinator now knows better.
            (code::READ_TIMEOUT, ErrorDetail::ReadTimeout { received, required, data_present: false, .. })
                if received >= required =>
            {
                once(RetryDecision::SameNode)
            }
            // The coordinator could not write its log of the batch: nothing was applied.
            (code::WRITE_TIMEOUT, ErrorDetail::WriteTimeout { write_type: WriteType::BatchLog, .. })
                if failed.idempotent =>
            {
                once(RetryDecision::SameNode)
            }
            (code::SERVER | code::READ_FAILURE | code::WRITE_FAILURE | code::TRUNCATE, _) if failed.idempotent => {
                once(RetryDecision::NextNode)
            }
            _ => RetryDecision::Fail,
        }
    }
}

/// Never sends anything again whose outcome is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fallthrough;

impl RetryPolicy for Fallthrough {
    fn decide(&self, _failed: &FailedTry<'_>) -> RetryDecision {
        RetryDecision::Fail
    }
}

/// As [`DefaultRetry`], and where too few replicas answer it asks for fewer, once.
///
/// What is read may then be old, and what is written may be lost: each step down is logged at warn.
#[derive(Clone, Copy, Debug, Default)]
pub struct DowngradingRetry;

impl RetryPolicy for DowngradingRetry {
    fn decide(&self, failed: &FailedTry<'_>) -> RetryDecision {
        let serial = matches!(failed.consistency, Consistency::Serial | Consistency::LocalSerial);
        let RetryCause::Server(error) = failed.cause else { return DefaultRetry.decide(failed) };
        if serial || failed.same_cause > 0 {
            return DefaultRetry.decide(failed);
        }
        let lower = |replicas: i32| -> RetryDecision {
            let lower = match replicas {
                i32::MIN..=0 => return RetryDecision::Fail,
                1 => Consistency::One,
                2 => Consistency::Two,
                _ => Consistency::Three,
            };
            tracing::warn!(from = %failed.consistency, to = %lower, "asking fewer replicas than the request wants");
            RetryDecision::SameNodeAt(lower)
        };
        match &error.detail {
            ErrorDetail::Unavailable { alive, .. } => lower(*alive),
            ErrorDetail::ReadTimeout { received, required, .. } if received < required => lower(*received),
            ErrorDetail::WriteTimeout { received, write_type, .. } => match write_type {
                // At least one replica has it: it will reach the others.
                WriteType::Simple | WriteType::Batch if *received > 0 => RetryDecision::Ignore,
                WriteType::UnloggedBatch if failed.idempotent => lower(*received),
                _ => DefaultRetry.decide(failed),
            },
            _ => DefaultRetry.decide(failed),
        }
    }
}
