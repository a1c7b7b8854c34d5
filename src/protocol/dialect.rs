//! What one connection agreed on: the version, and ScyllaDB's extensions of it.

use super::ProtocolVersion;

/// How a connection's two sides write and read; `Copy`, made once after the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Dialect {
    /// The protocol version.
    pub version: ProtocolVersion,
    /// ScyllaDB's `SCYLLA_USE_METADATA_ID`: result-metadata ids before v5.
    pub metadata_id_extension: bool,
    /// ScyllaDB's `SCYLLA_RATE_LIMIT_ERROR`: the code that rate limit errors carry.
    pub rate_limit_code: Option<i32>,
    /// ScyllaDB's `SCYLLA_LWT_ADD_METADATA_MARK`: the bits of PREPARED's flags that mark a conditional statement.
    pub lwt_mask: Option<u32>,
    /// ScyllaDB's `TABLETS_ROUTING_V1`: an answer may tell in its payload which tablet a request concerned.
    pub tablets: bool,
}

impl Dialect {
    /// The plain dialect of a version, without extensions.
    #[must_use]
    pub const fn new(version: ProtocolVersion) -> Self {
        Self { version, metadata_id_extension: false, rate_limit_code: None, lwt_mask: None, tablets: false }
    }

    /// The same dialect with result-metadata ids before v5.
    #[must_use]
    pub const fn with_metadata_id_extension(mut self, on: bool) -> Self {
        self.metadata_id_extension = on;
        self
    }

    /// The same dialect with a code for rate limit errors.
    #[must_use]
    pub const fn with_rate_limit_code(mut self, code: Option<i32>) -> Self {
        self.rate_limit_code = code;
        self
    }

    /// The same dialect with a mask for the mark of conditional statements.
    #[must_use]
    pub const fn with_lwt_mask(mut self, mask: Option<u32>) -> Self {
        self.lwt_mask = mask;
        self
    }

    /// The same dialect with tablets in payloads, which there are from v4 on.
    #[must_use]
    pub const fn with_tablets(mut self, on: bool) -> Self {
        self.tablets = on;
        self
    }

    /// Whether PREPARED, EXECUTE and ROWS carry ids of result metadata.
    #[must_use]
    pub const fn has_metadata_id(self) -> bool {
        self.version.has_segments() || self.metadata_id_extension
    }
}

impl From<ProtocolVersion> for Dialect {
    fn from(version: ProtocolVersion) -> Self {
        Self::new(version)
    }
}
