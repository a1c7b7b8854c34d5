//! The kinds of messages.

use std::fmt;

/// What an envelope carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// Response: the request failed.
    Error = 0x00,
    /// Request: start the connection.
    Startup = 0x01,
    /// Response: the connection is ready, or events are registered.
    Ready = 0x02,
    /// Response: log in first.
    Authenticate = 0x03,
    /// Request: what does the server support?
    Options = 0x05,
    /// Response: what the server supports.
    Supported = 0x06,
    /// Request: run a statement given as text.
    Query = 0x07,
    /// Response: what a statement gave.
    Result = 0x08,
    /// Request: prepare a statement.
    Prepare = 0x09,
    /// Request: run a prepared statement.
    Execute = 0x0A,
    /// Request: send events.
    Register = 0x0B,
    /// Response: something happened in the cluster.
    Event = 0x0C,
    /// Request: run several statements.
    Batch = 0x0D,
    /// Response: prove more.
    AuthChallenge = 0x0E,
    /// Request: proof of identity.
    AuthResponse = 0x0F,
    /// Response: logged in.
    AuthSuccess = 0x10,
}

impl Opcode {
    /// The opcode of a header's byte; `None` for one that is not known.
    #[must_use]
    pub const fn from_u8(byte: u8) -> Option<Self> {
        Some(match byte {
            0x00 => Self::Error,
            0x01 => Self::Startup,
            0x02 => Self::Ready,
            0x03 => Self::Authenticate,
            0x05 => Self::Options,
            0x06 => Self::Supported,
            0x07 => Self::Query,
            0x08 => Self::Result,
            0x09 => Self::Prepare,
            0x0A => Self::Execute,
            0x0B => Self::Register,
            0x0C => Self::Event,
            0x0D => Self::Batch,
            0x0E => Self::AuthChallenge,
            0x0F => Self::AuthResponse,
            0x10 => Self::AuthSuccess,
            _ => return None,
        })
    }

    /// The byte in the header.
    #[must_use]
    pub const fn as_u8(self) -> u8 {
        self as u8
    }

    /// The name as the protocol writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Startup => "STARTUP",
            Self::Ready => "READY",
            Self::Authenticate => "AUTHENTICATE",
            Self::Options => "OPTIONS",
            Self::Supported => "SUPPORTED",
            Self::Query => "QUERY",
            Self::Result => "RESULT",
            Self::Prepare => "PREPARE",
            Self::Execute => "EXECUTE",
            Self::Register => "REGISTER",
            Self::Event => "EVENT",
            Self::Batch => "BATCH",
            Self::AuthChallenge => "AUTH_CHALLENGE",
            Self::AuthResponse => "AUTH_RESPONSE",
            Self::AuthSuccess => "AUTH_SUCCESS",
        }
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
