//! Why a server is not the one to talk to.

use std::fmt;

use messina_layers::{Stage, error::AttemptError};
use thiserror::Error;
use uuid::Uuid;

use crate::{
    protocol::{ProtocolVersion, response::Response},
    topology::Refusal,
};

/// The server does not speak the version it was asked in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VersionRefused {
    /// The version of the last try.
    pub asked: ProtocolVersion,
    /// Every version tried at this address, in order.
    pub tried: Vec<ProtocolVersion>,
    /// The versions the server says it speaks, if it says so.
    pub server: Option<Vec<ProtocolVersion>>,
    /// What the server said.
    pub message: String,
}

impl fmt::Display for VersionRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server refused protocol version")?;
        for (i, version) in self.tried.iter().enumerate() {
            write!(f, "{} {version}", if i == 0 { "" } else { "," })?;
        }
        write!(f, " ({:?})", self.message)
    }
}

impl std::error::Error for VersionRefused {}

/// The server refused the login, or asks for one that is not configured.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LoginRefused {
    /// In its own words.
    #[error("the server refused the login: {0}")]
    ByServer(String),
    /// No authenticator is configured.
    #[error("the server asks for a login ({authenticator}), but no credentials are configured")]
    NoCredentials {
        /// The class of the server's authenticator.
        authenticator: String,
    },
    /// The authenticator gave up.
    #[error("the authenticator gave up")]
    Authenticator(#[source] crate::config::AuthError),
    /// The exchange did not end.
    #[error("the login did not end after {0} challenges")]
    Endless(usize),
}

/// The server belongs to another cluster.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the server belongs to cluster {actual:?}, expected {expected:?}")]
#[non_exhaustive]
pub struct WrongCluster {
    /// The session's cluster.
    pub expected: String,
    /// The server's.
    pub actual: String,
}

/// Another node answers there, or one that does not tell who it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WrongHost {
    /// Another one.
    #[error("node {actual} answers, expected {expected}")]
    Other {
        /// The node expected.
        expected: Uuid,
        /// The node that answered.
        actual: Uuid,
    },
    /// It has no host id.
    #[error("the server reports no host id")]
    NoHostId,
}

/// A node answers that is not wanted as control node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("node {host_id} is not wanted here: {reason}")]
#[non_exhaustive]
pub struct NotWanted {
    /// The node.
    pub host_id: Uuid,
    /// Why.
    pub reason: Refusal,
}

impl NotWanted {
    pub(super) fn at(stage: Stage, host_id: Uuid, reason: Refusal) -> AttemptError {
        AttemptError::new(stage, Self { host_id, reason })
    }
}

/// The server answered something else than what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the server answered {got} to {asked}")]
#[non_exhaustive]
pub struct UnexpectedAnswer {
    /// The request.
    pub asked: &'static str,
    /// The kind of the answer.
    pub got: &'static str,
}

impl UnexpectedAnswer {
    pub(super) fn new(asked: &'static str, got: &Response) -> Self {
        let got = match got {
            Response::Error(_) => "ERROR",
            Response::Ready => "READY",
            Response::Authenticate { .. } => "AUTHENTICATE",
            Response::Supported(_) => "SUPPORTED",
            Response::Result(_) => "RESULT of another kind",
            Response::Event(_) => "EVENT",
            Response::AuthChallenge { .. } => "AUTH_CHALLENGE",
            Response::AuthSuccess { .. } => "AUTH_SUCCESS",
        };
        Self { asked, got }
    }
}
