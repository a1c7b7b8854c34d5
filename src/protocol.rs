//! The CQL native protocol as bytes: no tokio, no sockets.
//!
//! What is sent: a [`request`](mod@request) is written into an [`envelope`], and from v5 on envelopes travel in [`segment`]s.
//! What is received takes the same way back: segments give envelopes, an envelope gives a response.
//! [`Dialect`] is what one connection agreed on; writing and reading depend on nothing else.
//!
//! Nothing here trusts the other side: every count is bounded by the bytes left, every length by a limit the caller
//! gives, and no allocation is sized by a number that was not checked.

pub mod version;
pub mod dialect;
pub mod opcode;
pub mod request;
pub mod payload;
pub mod envelope;
pub mod compression;
pub mod segment;
pub mod frame_error;
pub mod response;
pub mod reader;
pub mod sharding;
mod parse_error;

pub use compression::Compression;
pub use dialect::Dialect;
pub use envelope::{DEFAULT_MAX_BODY, Envelope, HEADER_LEN, Header};
pub use frame_error::FrameError;
pub use opcode::Opcode;
pub use payload::Payload;
pub use request::{Request, Values};
pub use response::{Answer, ParseError, Response};

pub use segment::{SegmentDecoder, SegmentEncoder};
pub use sharding::{ShardInfo, Sharding, is_scylla};
pub use version::ProtocolVersion;
