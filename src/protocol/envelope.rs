//! Envelopes: a header of nine bytes and a body.

use bytes::{Buf, Bytes, BytesMut};

use super::{FrameError, Opcode};

/// The length of a header.
pub const HEADER_LEN: usize = 9;

/// The longest body the protocol allows, and the default limit: 256 MiB.
pub const DEFAULT_MAX_BODY: u32 = 256 * 1024 * 1024;

/// Bodies shorter than this are copied out of the read buffer, so that a kept row does not pin it.
pub const COPY_BELOW: usize = 1024;

/// The stream of events.
pub const EVENT_STREAM: i16 = -1;

/// Set in the version byte of responses.
const RESPONSE: u8 = 0x80;

/// The bits of a header's flags.
pub mod flags {
    /// The body is compressed (v3 and v4; without meaning in v5).
    pub const COMPRESSED: u8 = 0x01;
    /// A request wishes to be traced; a response begins with its tracing id.
    pub const TRACING: u8 = 0x02;
    /// The body begins with a custom payload.
    pub const CUSTOM_PAYLOAD: u8 = 0x04;
    /// The body of a response begins with warnings.
    pub const WARNINGS: u8 = 0x08;
    /// The sender knows that the version is a beta.
    pub const BETA: u8 = 0x10;
}

/// What stands before a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version byte without its response bit; any number may come.
    pub version: u8,
    /// Whether the envelope is a response.
    pub response: bool,
    /// The [`flags`].
    pub flags: u8,
    /// Which request this is or answers; -1 for events.
    pub stream: i16,
    /// The kind of message; see [`Header::opcode`].
    pub opcode: u8,
    /// The length of the body.
    pub length: u32,
}

impl Header {
    /// Reads a header, whatever it says.
    #[must_use]
    pub const fn parse(bytes: &[u8; HEADER_LEN]) -> Self {
        Self {
            version: bytes[0] & !RESPONSE,
            response: bytes[0] & RESPONSE != 0,
            flags: bytes[1],
            stream: i16::from_be_bytes([bytes[2], bytes[3]]),
            opcode: bytes[4],
            length: u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]),
        }
    }

    /// Reads the header at the front of `bytes` and holds its length against `max_body`; `None` when it is not complete.
    ///
    /// # Errors
    /// [`FrameError::TooLong`].
    #[inline]
    pub fn peek(bytes: &[u8], max_body: u32) -> Result<Option<Self>, FrameError> {
        let Some(bytes) = bytes.first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let header = Self::parse(bytes);
        if header.length > max_body {
            return Err(FrameError::TooLong { length: header.length, limit: max_body });
        }
        Ok(Some(header))
    }

    /// The header's nine bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [s0, s1] = self.stream.to_be_bytes();
        let [l0, l1, l2, l3] = self.length.to_be_bytes();
        let response = if self.response { RESPONSE } else { 0 };
        let version = self.version | response;
        [version, self.flags, s0, s1, self.opcode, l0, l1, l2, l3]
    }

    /// Appends the header's nine bytes.
    #[inline]
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    /// The kind of message, when it is a known one.
    #[must_use]
    pub const fn opcode(self) -> Option<Opcode> {
        Opcode::from_u8(self.opcode)
    }

    /// Whether all of these [`flags`] are set.
    #[must_use]
    pub const fn has(self, flags: u8) -> bool {
        self.flags & flags == flags
    }
}

/// A header and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What stands before the body.
    pub header: Header,
    /// The body, `header.length` bytes as they came.
    pub body: Bytes,
}

/// Takes the envelope at the front of `buf`; `None` when it is not complete yet.
///
/// A body of at least [`COPY_BELOW`] bytes is cut out of the buffer without a copy.
///
/// # Errors
/// [`FrameError::TooLong`] as soon as the header is there.
#[inline]
pub fn decode(buf: &mut BytesMut, max_body: u32) -> Result<Option<Envelope>, FrameError> {
    let Some(header) = Header::peek(buf, max_body)? else {
        return Ok(None);
    };
    let length = header.length as usize;
    if buf.len() - HEADER_LEN < length {
        return Ok(None);
    }
    Ok(Some(Envelope { header, body: take_body(buf, length) }))
}

/// Like [`decode`], for a side that awaits answers: refuses at the first byte what cannot be one.
///
/// # Errors
/// Those of [`decode`], and [`FrameError::NotAResponse`].
#[inline]
pub fn decode_response(buf: &mut BytesMut, max_body: u32) -> Result<Option<Envelope>, FrameError> {
    match buf.first() {
        Some(&first_byte) if first_byte & RESPONSE == 0 => Err(FrameError::NotAResponse { first_byte }),
        _ => decode(buf, max_body),
    }
}

/// The body of the answer to most writes: a result of kind 1, which is without rows.
const VOID: [u8; 4] = [0, 0, 0, 1];

/// Takes the body that follows the header at the front of `buf`; both are complete.
pub(super) fn take_body(buf: &mut BytesMut, length: usize) -> Bytes {
    if buf[HEADER_LEN..HEADER_LEN + length] == VOID {
        buf.advance(HEADER_LEN + length);
        // Nothing is allocated for what is always the same.
        Bytes::from_static(&VOID)
    } else if length < COPY_BELOW {
        let body = Bytes::copy_from_slice(&buf[HEADER_LEN..HEADER_LEN + length]);
        buf.advance(HEADER_LEN + length);
        body
    } else {
        buf.advance(HEADER_LEN);
        buf.split_to(length).freeze()
    }
}
