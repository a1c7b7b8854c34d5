//! Measuring a body, with every limit checked on the way.

use super::{MAX_BODY, RequestError, Values};
use crate::protocol::{Dialect, ProtocolVersion};

/// The greatest length of a `[string]` and of `[short bytes]`, and the greatest count of a list.
const SHORT: usize = u16::MAX as usize;

/// The length of what was measured so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Length(usize);

impl Length {
    /// Adds a number of bytes.
    pub(super) const fn plus(self, bytes: usize) -> Self {
        Self(self.0.saturating_add(bytes))
    }

    /// Adds a `[string]`.
    pub(super) fn string(self, what: &'static str, text: &str) -> Result<Self, RequestError> {
        self.short_bytes(what, text.as_bytes())
    }

    /// Adds `[short bytes]`.
    pub(super) fn short_bytes(self, what: &'static str, bytes: &[u8]) -> Result<Self, RequestError> {
        let length = bytes.len();
        if length > SHORT {
            return Err(RequestError::TooLong { what, length, limit: SHORT });
        }
        Ok(self.plus(2 + length))
    }

    /// Adds `[bytes]` or a `[long string]`; the whole body is bounded by far less than these can say.
    pub(super) const fn bytes(self, bytes: &[u8]) -> Self {
        self.plus(4).plus(bytes.len())
    }

    /// Adds the two bytes of a list's count.
    pub(super) fn count(self, what: &'static str, count: usize) -> Result<Self, RequestError> {
        if count > SHORT {
            return Err(RequestError::TooMany { what, count, limit: SHORT });
        }
        Ok(self.plus(2))
    }

    /// Adds a count and values.
    pub(super) fn values(self, values: &Values, dialect: Dialect) -> Result<Self, RequestError> {
        if values.has_unset() && !dialect.version.has_unset() {
            return Err(needs("an unset value", ProtocolVersion::V4, dialect));
        }
        Ok(self.plus(2).plus(values.as_bytes().len()))
    }

    /// The whole length, when a body may have it.
    pub(super) const fn finish(self) -> Result<usize, RequestError> {
        if self.0 > MAX_BODY {
            return Err(RequestError::TooLong { what: "the body of the request", length: self.0, limit: MAX_BODY });
        }
        Ok(self.0)
    }
}

/// The error of what this dialect cannot say.
pub(super) const fn needs(what: &'static str, needs: ProtocolVersion, dialect: Dialect) -> RequestError {
    RequestError::NeedsVersion { what, needs, version: dialect.version }
}
