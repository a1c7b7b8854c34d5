//! Segments, which carry envelopes from v5 on: a checksummed header, a payload, a checksum.
//!
//! Small envelopes share a self-contained segment; one that is longer than a payload may be is spread over segments
//! of its own.

pub mod crc;
mod decoder;
mod encoder;

pub use decoder::SegmentDecoder;
pub use encoder::SegmentEncoder;

use super::FrameError;

/// The longest payload of a segment, before compression.
pub const MAX_PAYLOAD: usize = 0x1_FFFF;

/// The length of the checksum after a header.
const HEADER_CHECK: usize = 3;

/// The length of the checksum after a payload.
const TRAILER: usize = 4;

/// What a segment's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SegmentHeader {
    /// The length of the payload as it travels.
    length: usize,
    /// The length of the payload unpacked; 0 when it travels as it is.
    unpacked: usize,
    /// Whether the payload is whole envelopes.
    self_contained: bool,
}

impl SegmentHeader {
    /// The length of a header with its checksum.
    const fn len(lz4: bool) -> usize {
        if lz4 { 5 + HEADER_CHECK } else { 3 + HEADER_CHECK }
    }

    /// The header and its checksum, at the front of the answer; [`Self::len`] bytes of it count.
    fn to_bytes(self, lz4: bool) -> [u8; 8] {
        let mut bits = self.length as u64;
        if lz4 {
            bits |= (self.unpacked as u64) << 17;
        }
        if self.self_contained {
            bits |= 1 << Self::self_contained_bit(lz4);
        }
        let mut bytes = bits.to_le_bytes();
        let end = Self::len(lz4) - HEADER_CHECK;
        let check = crc::crc24(&bytes[..end]).to_le_bytes();
        bytes[end..end + HEADER_CHECK].copy_from_slice(&check[..HEADER_CHECK]);
        bytes
    }

    /// Reads the header at the front of `bytes`; `None` when it is not complete yet.
    fn read(bytes: &[u8], lz4: bool) -> Result<Option<Self>, FrameError> {
        let Some(bytes) = bytes.get(..Self::len(lz4)) else {
            return Ok(None);
        };
        let (header, check) = bytes.split_at(bytes.len() - HEADER_CHECK);
        let stored = little_endian(check) as u32;
        let computed = crc::crc24(header);
        if stored != computed {
            return Err(FrameError::HeaderChecksum { stored, computed });
        }
        let bits = little_endian(header);
        let self_contained_bit = Self::self_contained_bit(lz4);
        let reserved = bits >> (self_contained_bit + 1);
        if reserved != 0 {
            return Err(FrameError::ReservedBits(reserved as u8));
        }
        let length_mask = MAX_PAYLOAD as u64;
        Ok(Some(Self {
            length: (bits & length_mask) as usize,
            unpacked: if lz4 { ((bits >> 17) & length_mask) as usize } else { 0 },
            self_contained: (bits >> self_contained_bit) & 1 == 1,
        }))
    }

    const fn self_contained_bit(lz4: bool) -> u32 {
        if lz4 { 34 } else { 17 }
    }
}

/// At most eight bytes as a number, the lowest first.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}
