//! The errors that a request ends with.

use std::fmt::Write;
use std::sync::Arc;

use thiserror::Error as ThisError;

use super::Inner;
use super::deadline::Deadline;
use super::failure::{Cause, Failure};
use super::recovery::Recovery;
use super::request::Bound;
use super::trying::Trying;
use crate::error::{ContactPointFailed, Error, Kind, Try};
use crate::metrics::TryClass;

/// How much of a policy's `Debug` an error shows.
const NAME: usize = 100;

/// A try that was cut.
#[derive(Clone, Debug, ThisError)]
#[error("no answer")]
struct NoAnswer;

impl Trying {
    /// This try as one that failed.
    pub(super) fn failed(&self, failure: Failure) -> Try {
        self.node.metrics().try_failed(failure.class());
        self.as_try(failure.into_cause())
    }

    fn as_try(&self, cause: Cause) -> Try {
        Try::new(self.node.host_id(), self.connection.peer(), self.since.elapsed(), cause)
    }
}

/// The time is up, perhaps in the middle of a try.
#[cold]
pub(super) fn timed_out(mut tries: Vec<Try>, now: Option<&Trying>, deadline: Deadline) -> Error {
    let limit = deadline.limit();
    let message = match now {
        Some(now) => {
            now.node.metrics().try_failed(TryClass::Aborted);
            tries.push(now.as_try(Arc::new(NoAnswer)));
            format!("no answer within {limit:?}")
        }
        None => format!("no connection had room for the request within {limit:?}"),
    };
    let message =
        if limit.is_zero() { "the timeout is zero, within which nothing is answered".into() } else { message };
    Error::new(Kind::Timeout, message).with_tries(tries)
}

impl Recovery<'_> {
    /// The last failure allows no more tries, or there is nobody left to try.
    pub(super) fn gave_up(&mut self, kind: Kind, idempotent: bool) -> Error {
        let tries = std::mem::take(&mut self.tries);
        let error = match kind {
            Kind::Connection if self.session.is_closed() => {
                Error::new(Kind::Closed, "the session was closed with the request on it, which may have been executed")
            }
            Kind::Connection if !idempotent => Error::new(
                kind,
                "the connection was lost with the request on it, which was not marked as idempotent and may have \
                 been executed",
            ),
            Kind::Connection => Error::new(kind, "the request was lost on every node it was sent to"),
            Kind::NoConnection => self.session.no_connection(),
            Kind::Statement => Error::new(kind, "the statement cannot be sent this way"),
            Kind::Protocol => Error::new(kind, "the answer cannot be understood"),
            kind => Error::new(kind, "the request failed"),
        };
        error.with_tries(tries)
    }
}

impl Inner {
    /// No node for the first try of a request: why, as far as known.
    #[cold]
    pub(super) fn no_node(&self, bound: &Bound) -> Error {
        let config = self.config.load();
        let policy = bound.options().balancing(&config).filter(|_| !self.is_closed() && !self.is_over());
        let nodes = self.nodes.all();
        let connected = nodes.iter().filter(|node| node.is_connected()).count();
        match policy {
            Some(policy) if connected > 0 => {
                // It may hold much.
                let mut name = format!("{policy:?}");
                if let Some((end, _)) = name.char_indices().nth(NAME) {
                    name.truncate(end);
                    name.push_str("..");
                }
                let message = format!(
                    "the balancing policy {name} gave no node that can be asked; it may give each of the snapshot that is \
                     connected, as {connected} of {} are, and has not been tried",
                    nodes.len()
                );
                Error::new(Kind::NoConnection, message)
            }
            _ => self.no_connection(),
        }
    }

    /// No node has a connection that takes requests: which, and why as far as known.
    pub(super) fn no_connection(&self) -> Error {
        if self.is_closed() {
            return Error::new(Kind::Closed, "the session is closed");
        }
        if self.is_over() {
            let message = "the tasks of the session have ended with the runtime that it was built in; build it anew";
            return Error::new(Kind::Closed, message);
        }
        let nodes = self.nodes.all();
        let mut message = "no node has a connection that takes requests".to_owned();
        let mut failed = Vec::new();
        let mut lost = 0_usize;
        for node in nodes.iter().filter(|node| node.connection().is_none()) {
            match node.last_error() {
                Some(error) => {
                    let name = format!("node {} at {}", node.host_id(), node.endpoint());
                    failed.push(ContactPointFailed::new(name, (*error).clone()));
                }
                None => {
                    let before = if lost == 0 { "; connection lost: " } else { ", " };
                    let _ = write!(message, "{before}{} at {}", node.host_id(), node.endpoint());
                    let _ = match node.state().next_attempt_in {
                        Some(after) => write!(message, " (the next one is tried in {after:.1?})"),
                        None => write!(message, " (the next one is on its way)"),
                    };
                    lost += 1;
                }
            }
        }
        if nodes.is_empty() {
            message.push_str(": no node is known");
        }
        Error::new(Kind::NoConnection, message).with_contact_points(failed)
    }
}
