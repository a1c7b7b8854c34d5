//! From bytes to envelopes and back, as the connection agreed.

use bytes::BytesMut;

use crate::protocol::segment::crc;
use crate::protocol::{
    DEFAULT_MAX_BODY, Envelope, FrameError, HEADER_LEN, Header, Opcode, SegmentDecoder, SegmentEncoder, envelope,
};

/// How the bytes of one connection are cut.
#[derive(Debug, Default)]
pub(in crate::testkit) struct Framing {
    segments: Option<(SegmentDecoder, SegmentEncoder)>,
}

impl Framing {
    /// From now on in segments.
    pub(in crate::testkit) fn use_segments(&mut self, lz4: bool) {
        let decoder = SegmentDecoder::new(lz4, DEFAULT_MAX_BODY);
        self.segments = Some((decoder, SegmentEncoder::new(lz4)));
    }

    /// Takes the next request out of what came.
    pub(in crate::testkit) fn next(&mut self, buf: &mut BytesMut) -> Result<Option<Envelope>, FrameError> {
        match &mut self.segments {
            Some((decoder, _)) => decoder.decode(buf),
            None => envelope::decode(buf, DEFAULT_MAX_BODY),
        }
    }

    /// Whether this is a TLS hello: a server that speaks plain CQL does not wait for the rest of it.
    pub(in crate::testkit) fn is_hello(&self, buf: &BytesMut) -> bool {
        self.segments.is_none() && buf.first() == Some(&TLS_HANDSHAKE)
    }

    /// The bytes that travel for an answer.
    pub(in crate::testkit) fn seal(&mut self, header: Header, body: &[u8]) -> Vec<u8> {
        let envelope = bare(header, body);
        let Some((_, encoder)) = &mut self.segments else {
            return envelope;
        };
        let mut out = Vec::with_capacity(envelope.len() + 16);
        match encoder.encode(&envelope, &mut out) {
            Ok(()) => out,
            // A header whose length lies has no proper segments.
            Err(_) => segment(&envelope),
        }
    }

    /// The bytes of an answer in the framing that is not due.
    pub(in crate::testkit) fn seal_wrongly(&self, header: Header, body: &[u8]) -> Vec<u8> {
        let envelope = bare(header, body);
        if self.segments.is_some() { envelope } else { segment(&envelope) }
    }
}

/// What a TLS record with a handshake begins with.
const TLS_HANDSHAKE: u8 = 0x16;

/// An envelope; the header's length is taken as it is.
fn bare(header: Header, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_LEN + body.len());
    header.write(&mut out);
    out.extend_from_slice(body);
    out
}

/// One uncompressed, self-contained segment around anything shorter than 128 KiB.
fn segment(payload: &[u8]) -> Vec<u8> {
    let payload = &payload[..payload.len().min(crate::protocol::segment::MAX_PAYLOAD)];
    let bits = payload.len() as u32 | 1 << 17;
    let mut out = bits.to_le_bytes()[..3].to_vec();
    let check = crc::crc24(&out).to_le_bytes();
    out.extend_from_slice(&check[..3]);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc::crc32(payload).to_le_bytes());
    out
}

/// The header of an answer.
pub(in crate::testkit) fn header(version: u8, flags: u8, stream: i16, opcode: u8, body: &[u8]) -> Header {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    Header { version, response: true, flags, stream, opcode, length }
}

/// The opcode that is wrong in place of another.
pub(in crate::testkit) fn wrong_opcode(due: u8) -> u8 {
    if due == Opcode::Supported.as_u8() { Opcode::Ready } else { Opcode::Supported }.as_u8()
}
