//! Errors that the server answers with.

use thiserror::Error;

use super::error_detail::{ErrorDetail, read_detail};
use crate::protocol::Dialect;
use crate::protocol::parse_error::ParseError;
use crate::protocol::reader::Reader;

/// The error codes of the protocol.
pub mod code {
    /// Something unexpected in the server.
    pub const SERVER: i32 = 0x0000;
    /// The client broke the protocol, or speaks another version.
    pub const PROTOCOL: i32 = 0x000A;
    /// The login failed.
    pub const BAD_CREDENTIALS: i32 = 0x0100;
    /// Too few replicas are alive.
    pub const UNAVAILABLE: i32 = 0x1000;
    /// The coordinator has too much to do.
    pub const OVERLOADED: i32 = 0x1001;
    /// The coordinator is still joining.
    pub const BOOTSTRAPPING: i32 = 0x1002;
    /// TRUNCATE failed.
    pub const TRUNCATE: i32 = 0x1003;
    /// Too few replicas acknowledged a write in time.
    pub const WRITE_TIMEOUT: i32 = 0x1100;
    /// Too few replicas answered a read in time.
    pub const READ_TIMEOUT: i32 = 0x1200;
    /// Replicas failed at a read.
    pub const READ_FAILURE: i32 = 0x1300;
    /// A user-defined function failed.
    pub const FUNCTION_FAILURE: i32 = 0x1400;
    /// Replicas failed at a write.
    pub const WRITE_FAILURE: i32 = 0x1500;
    /// The log of changes is full.
    pub const CDC_WRITE_FAILURE: i32 = 0x1600;
    /// Whether a conditional write took effect is not known.
    pub const CAS_WRITE_UNKNOWN: i32 = 0x1700;
    /// The statement is no CQL.
    pub const SYNTAX: i32 = 0x2000;
    /// The user may not do this.
    pub const UNAUTHORIZED: i32 = 0x2100;
    /// The statement makes no sense here.
    pub const INVALID: i32 = 0x2200;
    /// The statement does not fit the server's configuration.
    pub const CONFIG: i32 = 0x2300;
    /// What should be created exists.
    pub const ALREADY_EXISTS: i32 = 0x2400;
    /// The server does not know the prepared statement.
    pub const UNPREPARED: i32 = 0x2500;
}

/// An error that the server answered with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the server answered {} (code {code:#06x}): {message}", self.name())]
pub struct ServerError {
    /// What kind of error it is; one of [`code`], or another.
    pub code: i32,
    /// The server's words.
    pub message: String,
    /// What the server tells beside them.
    pub detail: ErrorDetail,
}

impl ServerError {
    /// Reads an error; `version` is the one in its header, which may be another than the connection's.
    pub(super) fn read(reader: &mut Reader<'_>, version: u8, dialect: Dialect) -> Result<Self, ParseError> {
        let code = reader.int("the code of an error")?;
        let message = reader.string("the text of an error")?.to_owned();
        let detail = read_detail(reader, code, version, dialect).unwrap_or_else(ErrorDetail::Unreadable);
        Ok(Self { code, message, detail })
    }

    /// Whether the server says that it does not speak the version it was asked in.
    #[must_use]
    pub fn is_version_error(&self) -> bool {
        matches!(self.code, code::PROTOCOL | code::SERVER) && crate::protocol::version::is_version_error(&self.message)
    }

    /// What the code means, in a few words.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        if matches!(self.detail, ErrorDetail::RateLimit { .. }) {
            return "that a rate limit is reached";
        }
        match self.code {
            code::SERVER => "a server error",
            code::PROTOCOL => "a protocol error",
            code::BAD_CREDENTIALS => "that the login failed",
            code::UNAVAILABLE => "that too few replicas are alive",
            code::OVERLOADED => "that it is overloaded",
            code::BOOTSTRAPPING => "that it is bootstrapping",
            code::TRUNCATE => "that truncating failed",
            code::WRITE_TIMEOUT => "that a write timed out",
            code::READ_TIMEOUT => "that a read timed out",
            code::READ_FAILURE => "that a read failed",
            code::FUNCTION_FAILURE => "that a function failed",
            code::WRITE_FAILURE => "that a write failed",
            code::CDC_WRITE_FAILURE => "that the log of changes is full",
            code::CAS_WRITE_UNKNOWN => "that the outcome of a conditional write is unknown",
            code::SYNTAX => "a syntax error",
            code::UNAUTHORIZED => "that this is not allowed",
            code::INVALID => "that the statement is invalid",
            code::CONFIG => "that its configuration is in the way",
            code::ALREADY_EXISTS => "that it exists already",
            code::UNPREPARED => "that the statement is not prepared",
            _ => "an unknown error",
        }
    }
}
