//! From envelopes to segments.

use std::fmt;

use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

use super::{MAX_PAYLOAD, SegmentHeader, crc};
use crate::protocol::{FrameError, HEADER_LEN, Header};

/// Cuts outgoing envelopes into segments.
pub struct SegmentEncoder {
    /// The compressor's memory, when LZ4 was agreed on.
    lz4: Option<Box<CompressTable>>,
}

impl SegmentEncoder {
    /// An encoder whose segments travel uncompressed, or with LZ4.
    #[must_use]
    pub fn new(lz4: bool) -> Self {
        Self { lz4: lz4.then(|| Box::new(CompressTable::default())) }
    }

    /// Appends the segments that carry `envelopes`, a buffer of whole envelopes one after the other.
    ///
    /// As many envelopes as fit share a segment; one that does not fit into any is spread over its own.
    ///
    /// # Errors
    /// [`FrameError::CutEnvelope`] when the buffer ends inside an envelope; the whole envelopes before it are
    /// encoded then.
    pub fn encode(&mut self, envelopes: &[u8], out: &mut Vec<u8>) -> Result<(), FrameError> {
        let mut rest = envelopes;
        // How many bytes at the front of `rest` share the next segment.
        let mut together = 0;
        loop {
            let next = match envelope_len(&rest[together..]) {
                Ok(Some(next)) => next,
                end => {
                    if together > 0 {
                        self.segment(&rest[..together], true, out);
                    }
                    return end.map(|_| ());
                }
            };
            if together + next <= MAX_PAYLOAD {
                together += next;
                continue;
            }
            if together > 0 {
                self.segment(&rest[..together], true, out);
                rest = &rest[together..];
                together = 0;
            }
            if next > MAX_PAYLOAD {
                for part in rest[..next].chunks(MAX_PAYLOAD) {
                    self.segment(part, false, out);
                }
                rest = &rest[next..];
            }
        }
    }

    /// Appends one segment; the payload is at most [`MAX_PAYLOAD`] bytes.
    fn segment(&mut self, payload: &[u8], self_contained: bool, out: &mut Vec<u8>) {
        let start = out.len();
        let Some(table) = &mut self.lz4 else {
            let header = SegmentHeader { length: payload.len(), unpacked: 0, self_contained };
            out.extend_from_slice(&header.to_bytes(false)[..SegmentHeader::len(false)]);
            out.extend_from_slice(payload);
            out.extend_from_slice(&crc::crc32(payload).to_le_bytes());
            return;
        };
        let header_len = SegmentHeader::len(true);
        let body = start + header_len;
        out.resize(body + get_maximum_output_size(payload.len()), 0);
        let packed = compress_into_with_table(payload, &mut out[body..], table);
        // What does not shrink travels as it is; so would what did not fit, which cannot happen.
        let packed = packed.ok().filter(|packed| *packed < payload.len());
        let (length, unpacked) = match packed {
            Some(packed) => (packed, payload.len()),
            None => {
                out[body..body + payload.len()].copy_from_slice(payload);
                (payload.len(), 0)
            }
        };
        out.truncate(body + length);
        let check = crc::crc32(&out[body..]);
        out.extend_from_slice(&check.to_le_bytes());
        let header = SegmentHeader { length, unpacked, self_contained };
        out[start..body].copy_from_slice(&header.to_bytes(true)[..header_len]);
    }
}

impl fmt::Debug for SegmentEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentEncoder").field("lz4", &self.lz4.is_some()).finish()
    }
}

/// The length of the envelope at the front of `bytes`, header included; `None` at the end.
fn envelope_len(bytes: &[u8]) -> Result<Option<usize>, FrameError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let header = bytes.first_chunk::<HEADER_LEN>().map(Header::parse);
    let length = header.map(|header| HEADER_LEN + header.length as usize);
    match length.filter(|length| *length <= bytes.len()) {
        Some(length) => Ok(Some(length)),
        None => Err(FrameError::CutEnvelope),
    }
}
