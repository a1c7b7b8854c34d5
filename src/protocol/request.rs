//! Requests: what can be asked, and how it is written.
//!
//! A request is measured outside of a connection's lock ([`Request::body_len`], where every limit is checked) and
//! written under it ([`Request::write_body`], which only copies). Values are serialized before that, once, into
//! [`Values`].
//!
//! ```
//! use messina::protocol::request::{Query, QueryParams, write_envelope};
//! use messina::protocol::{Dialect, ProtocolVersion};
//!
//! let query = Query::new("SELECT release_version FROM system.local", QueryParams::default());
//! let mut out = Vec::new();
//! write_envelope(&query, Dialect::new(ProtocolVersion::V4), 1, &mut out)?;
//! assert_eq!(out[..5], [0x04, 0x00, 0x00, 0x01, 0x07]);
//! # Ok::<(), messina::protocol::request::RequestError>(())
//! ```

mod simple;
mod statement;
mod params;
mod batch;
mod extras;
mod values;
mod length;
mod put;

use thiserror::Error;

pub use batch::{Batch, BatchEntry, BatchStatement};
pub use extras::WithExtras;
pub use params::QueryParams;
pub use simple::{AuthResponse, Options, Register, Startup};
pub use statement::{Execute, Prepare, Query};
pub use values::{Values, ValuesError, ValuesIter};

use super::envelope::{DEFAULT_MAX_BODY, Header};
use super::{Dialect, Opcode, ProtocolVersion};

/// The longest body of a request: 256 MiB.
pub const MAX_BODY: usize = DEFAULT_MAX_BODY as usize;

/// Something that can be asked.
///
/// An implementation writes exactly as many bytes as it measured. The trait is object-safe.
pub trait Request {
    /// The kind of message.
    fn opcode(&self) -> Opcode;

    /// The [`flags`](super::envelope::flags) of the header, but for compression.
    fn header_flags(&self) -> u8 {
        0
    }

    /// The exact length of the body in this dialect, after every limit was checked.
    ///
    /// # Errors
    /// When the request cannot be said in this dialect, or is too large for the protocol.
    fn body_len(&self, dialect: Dialect) -> Result<usize, RequestError>;

    /// Appends the body. To be called only when [`Request::body_len`] gave a length for the same dialect.
    fn write_body(&self, dialect: Dialect, out: &mut Vec<u8>);
}

impl<R: Request + ?Sized> Request for &R {
    fn opcode(&self) -> Opcode {
        (**self).opcode()
    }

    fn header_flags(&self) -> u8 {
        (**self).header_flags()
    }

    fn body_len(&self, dialect: Dialect) -> Result<usize, RequestError> {
        (**self).body_len(dialect)
    }

    fn write_body(&self, dialect: Dialect, out: &mut Vec<u8>) {
        (**self).write_body(dialect, out);
    }
}

/// The header of an uncompressed request whose body has this length.
#[must_use]
#[inline]
pub fn header<R: Request + ?Sized>(request: &R, dialect: Dialect, stream: i16, body_len: usize) -> Header {
    debug_assert!(body_len <= MAX_BODY, "the length was measured");
    Header {
        version: dialect.version.as_u8(),
        response: false,
        flags: request.header_flags(),
        stream,
        opcode: request.opcode().as_u8(),
        length: body_len as u32,
    }
}

/// Appends a request's header and body, uncompressed.
///
/// # Errors
/// Those of [`Request::body_len`]; nothing is written then.
pub fn write_envelope<R: Request + ?Sized>(
    request: &R,
    dialect: Dialect,
    stream: i16,
    out: &mut Vec<u8>,
) -> Result<(), RequestError> {
    let body_len = request.body_len(dialect)?;
    out.reserve(super::HEADER_LEN + body_len);
    header(request, dialect, stream, body_len).write(out);
    request.write_body(dialect, out);
    Ok(())
}

/// A request that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// Something is longer than the protocol can say.
    #[error("{what} is {length} bytes long; the protocol allows {limit}")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// Its length.
        length: usize,
        /// The greatest length.
        limit: usize,
    },
    /// There is more of something than the protocol can say.
    #[error("there are {count} {what}; the protocol allows {limit}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Something cannot be said in this version of the protocol.
    #[error("{what} needs protocol {needs} or later; this connection speaks {version}")]
    NeedsVersion {
        /// What cannot be said.
        what: &'static str,
        /// The first version in which it can.
        needs: ProtocolVersion,
        /// The version of the connection.
        version: ProtocolVersion,
    },
    /// A page must have rows.
    #[error("a page size must be at least 1, not {0}")]
    PageSize(i32),
    /// EXECUTE must name the result metadata it knows, in v5 and with ScyllaDB's extension.
    #[error("the prepared statement has no result-metadata id; prepare it on a connection of this dialect")]
    NoMetadataId,
    /// Values in a batch have no names.
    #[error("values in a batch cannot be named")]
    NamedInBatch,
}
