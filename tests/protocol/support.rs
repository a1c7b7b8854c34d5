//! Small helpers of these tests.

use bytes::{Bytes, BytesMut};
use messina::protocol::{DEFAULT_MAX_BODY, Envelope, FrameError, Header, SegmentDecoder, envelope};

/// Bytes from hexadecimal text; blanks do not count.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|digit| digit.to_digit(16).unwrap() as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2), "odd number of digits");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A v5 response with this body.
pub(crate) fn response(stream: i16, body: &[u8]) -> Envelope {
    Envelope {
        header: Header { version: 5, response: true, flags: 0, stream, opcode: 8, length: body.len() as u32 },
        body: Bytes::copy_from_slice(body),
    }
}

/// The bytes of envelopes, one after the other.
pub(crate) fn bytes_of(envelopes: &[Envelope]) -> Vec<u8> {
    let mut out = Vec::new();
    for envelope in envelopes {
        envelope.header.write(&mut out);
        out.extend_from_slice(&envelope.body);
    }
    out
}

/// Every envelope in a bare stream, fed in parts of `step` bytes.
pub(crate) fn read_bare(stream: &[u8], step: usize) -> Result<Vec<Envelope>, FrameError> {
    let mut buf = BytesMut::new();
    let mut envelopes = Vec::new();
    for part in stream.chunks(step.max(1)) {
        buf.extend_from_slice(part);
        while let Some(envelope) = envelope::decode(&mut buf, DEFAULT_MAX_BODY)? {
            envelopes.push(envelope);
        }
    }
    Ok(envelopes)
}

/// Every envelope in a stream of segments, fed in parts of `step` bytes, and whether it ended between segments.
pub(crate) fn read_segments(stream: &[u8], lz4: bool, step: usize) -> Result<(Vec<Envelope>, bool), FrameError> {
    let mut buf = BytesMut::new();
    let mut decoder = SegmentDecoder::new(lz4, DEFAULT_MAX_BODY);
    let mut envelopes = Vec::new();
    for part in stream.chunks(step.max(1)) {
        buf.extend_from_slice(part);
        while let Some(envelope) = decoder.decode(&mut buf)? {
            envelopes.push(envelope);
        }
    }
    Ok((envelopes, decoder.is_idle() && buf.is_empty()))
}
