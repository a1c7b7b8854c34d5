//! A request with a custom payload, or with the wish to be traced.

use super::length::{Length, needs};
use super::{Request, RequestError, put};
use crate::protocol::envelope::flags;
use crate::protocol::{Dialect, Opcode, Payload, ProtocolVersion};

/// Any request with what its header and the front of its body may add.
#[derive(Clone, Copy, Debug)]
pub struct WithExtras<'a, R> {
    /// The request.
    pub request: R,
    /// Whether the server should trace it and tell the tracing id.
    pub tracing: bool,
    /// Bytes for the server's query handler; v4 and later. An empty payload is not sent.
    pub payload: Option<&'a Payload>,
}

impl<'a, R> WithExtras<'a, R> {
    fn payload(&self) -> Option<&'a Payload> {
        self.payload.filter(|payload| !payload.is_empty())
    }
}

impl<R: Request> Request for WithExtras<'_, R> {
    fn opcode(&self) -> Opcode {
        self.request.opcode()
    }

    fn header_flags(&self) -> u8 {
        let tracing = if self.tracing { flags::TRACING } else { 0 };
        let payload = self.payload().map_or(0, |_| flags::CUSTOM_PAYLOAD);
        self.request.header_flags() | tracing | payload
    }

    fn body_len(&self, dialect: Dialect) -> Result<usize, RequestError> {
        let mut length = Length::default().plus(self.request.body_len(dialect)?);
        if let Some(payload) = self.payload() {
            if !dialect.version.has_payload() {
                return Err(needs("a custom payload", ProtocolVersion::V4, dialect));
            }
            length = length.count("entries in the custom payload", payload.len())?;
            for (key, value) in payload.iter() {
                length = length.string("a key of the custom payload", key)?.bytes(value.unwrap_or_default());
            }
        }
        length.finish()
    }

    fn write_body(&self, dialect: Dialect, out: &mut Vec<u8>) {
        if let Some(payload) = self.payload() {
            put::count(out, payload.len());
            for (key, value) in payload.iter() {
                put::string(out, key);
                put::bytes(out, value);
            }
        }
        self.request.write_body(dialect, out);
    }
}
