//! The requests of a handshake: OPTIONS, STARTUP, AUTH_RESPONSE, REGISTER.

use std::borrow::Cow;

use super::length::Length;
use super::{Request, RequestError, put};
use crate::protocol::{Dialect, Opcode};

/// OPTIONS: what does the server support?
#[derive(Clone, Copy, Debug, Default)]
pub struct Options;

impl Request for Options {
    fn opcode(&self) -> Opcode {
        Opcode::Options
    }

    fn body_len(&self, _: Dialect) -> Result<usize, RequestError> {
        Ok(0)
    }

    fn write_body(&self, _: Dialect, _: &mut Vec<u8>) {}
}

/// STARTUP: start the connection. Always sent uncompressed and bare.
#[derive(Clone, Debug)]
pub struct Startup<'a> {
    options: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Startup<'a> {
    /// A startup with the one option that is required, `CQL_VERSION`.
    #[must_use]
    pub fn new() -> Self {
        Self { options: vec![("CQL_VERSION".into(), "3.0.0".into())] }
    }

    /// Adds an option, or gives it another value.
    #[must_use]
    pub fn with(mut self, key: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) -> Self {
        let (key, value) = (key.into(), value.into());
        match self.options.iter_mut().find(|(other, _)| *other == key) {
            Some((_, old)) => *old = value,
            None => self.options.push((key, value)),
        }
        self
    }

    /// The options, in the order in which they are sent.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
    }
}

impl Default for Startup<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl Request for Startup<'_> {
    fn opcode(&self) -> Opcode {
        Opcode::Startup
    }

    fn body_len(&self, _: Dialect) -> Result<usize, RequestError> {
        let mut length = Length::default().count("startup options", self.options.len())?;
        for (key, value) in &self.options {
            length =
                length.string("the name of a startup option", key)?.string("the value of a startup option", value)?;
        }
        length.finish()
    }

    fn write_body(&self, _: Dialect, out: &mut Vec<u8>) {
        put::count(out, self.options.len());
        for (key, value) in &self.options {
            put::string(out, key);
            put::string(out, value);
        }
    }
}

/// AUTH_RESPONSE: proof of identity.
#[derive(Clone, Copy)]
pub struct AuthResponse<'a> {
    /// The token, as the authenticator wants it.
    pub token: Option<&'a [u8]>,
}

impl Request for AuthResponse<'_> {
    fn opcode(&self) -> Opcode {
        Opcode::AuthResponse
    }

    fn body_len(&self, _: Dialect) -> Result<usize, RequestError> {
        Length::default().bytes(self.token.unwrap_or_default()).finish()
    }

    fn write_body(&self, _: Dialect, out: &mut Vec<u8>) {
        put::bytes(out, self.token);
    }
}

impl std::fmt::Debug for AuthResponse<'_> {
    /// Without the token, which is a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthResponse").finish_non_exhaustive()
    }
}

/// REGISTER: send events of these types on this connection.
#[derive(Clone, Copy, Debug)]
pub struct Register<'a> {
    /// The names of event types, such as `STATUS_CHANGE`.
    pub events: &'a [&'a str],
}

impl Request for Register<'_> {
    fn opcode(&self) -> Opcode {
        Opcode::Register
    }

    fn body_len(&self, _: Dialect) -> Result<usize, RequestError> {
        let mut length = Length::default().count("event types", self.events.len())?;
        for event in self.events {
            length = length.string("the name of an event type", event)?;
        }
        length.finish()
    }

    fn write_body(&self, _: Dialect, out: &mut Vec<u8>) {
        put::count(out, self.events.len());
        for event in self.events {
            put::string(out, event);
        }
    }
}
