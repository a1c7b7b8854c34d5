//! Compression of whole bodies, as v3 and v4 have it; from v5 on segments are compressed instead.

use std::fmt;

use bytes::Bytes;
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

use super::FrameError;
use super::frame_error::UnpackError;

/// One byte of an LZ4 block gives less than this many.
const LZ4_MAX_RATIO: u64 = 255;

/// One byte of Snappy gives at most this many: 64 out of three.
const SNAPPY_MAX_RATIO: u64 = 22;

/// How bodies, or segments, are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// LZ4: a block behind its unpacked length.
    Lz4,
    /// Snappy, in its raw format; not in v5.
    Snappy,
}

impl Compression {
    /// The name in SUPPORTED and STARTUP.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lz4 => "lz4",
            Self::Snappy => "snappy",
        }
    }

    /// The compression of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "lz4" => Some(Self::Lz4),
            "snappy" => Some(Self::Snappy),
            _ => None,
        }
    }

    /// Appends the compressed form of a body, be it shorter or not.
    #[expect(clippy::expect_used, reason = "the room is what the compressor may need, and a body is below 4 GiB")]
    pub fn compress(self, body: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let written = match self {
            Self::Lz4 => {
                let length = u32::try_from(body.len()).expect("a body is below 4 GiB");
                out.extend_from_slice(&length.to_be_bytes());
                out.resize(start + 4 + get_maximum_output_size(body.len()), 0);
                4 + compress_into(body, &mut out[start + 4..]).expect("there is room")
            }
            Self::Snappy => {
                out.resize(start + snap::raw::max_compress_len(body.len()), 0);
                let mut encoder = snap::raw::Encoder::new();
                encoder.compress(body, &mut out[start..]).expect("there is room")
            }
        };
        out.truncate(start + written);
    }

    /// Unpacks a body; `max_body` bounds what may come out, and is held against it before anything is allocated.
    ///
    /// # Errors
    /// When more is announced than may be or than so few bytes can hold, or when they make no sense.
    pub fn decompress(self, packed: &[u8], max_body: u32) -> Result<Bytes, FrameError> {
        let unpacked = match self {
            Self::Lz4 => unpack_lz4(packed, max_body),
            Self::Snappy => unpack_snappy(packed, max_body),
        };
        unpacked.map(Bytes::from).map_err(|reason| FrameError::Unpack { what: "the body of an envelope", reason })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn unpack_lz4(packed: &[u8], max_body: u32) -> Result<Vec<u8>, UnpackError> {
    let Some((length, block)) = packed.split_first_chunk::<4>() else {
        return Err(UnpackError::NoLength(packed.len()));
    };
    let length = u64::from(u32::from_be_bytes(*length));
    let mut body = room(length, block.len(), LZ4_MAX_RATIO, max_body)?;
    let actual = decompress_into(block, &mut body).map_err(|error| UnpackError::Corrupt(error.to_string()))?;
    whole(body, actual)
}

fn unpack_snappy(packed: &[u8], max_body: u32) -> Result<Vec<u8>, UnpackError> {
    let corrupt = |error: snap::Error| UnpackError::Corrupt(error.to_string());
    let length = snap::raw::decompress_len(packed).map_err(corrupt)?;
    let mut body = room(length as u64, packed.len(), SNAPPY_MAX_RATIO, max_body)?;
    let actual = snap::raw::Decoder::new().decompress(packed, &mut body).map_err(corrupt)?;
    whole(body, actual)
}

/// Room for what is announced, when it may be and can be.
fn room(length: u64, packed: usize, ratio: u64, max_body: u32) -> Result<Vec<u8>, UnpackError> {
    let limit = u64::from(max_body);
    if length > limit {
        return Err(UnpackError::TooLong { length, limit });
    }
    if length > ratio * packed as u64 {
        return Err(UnpackError::Impossible { length, packed });
    }
    Ok(vec![0; length as usize])
}

fn whole(body: Vec<u8>, actual: usize) -> Result<Vec<u8>, UnpackError> {
    let announced = body.len();
    if actual == announced { Ok(body) } else { Err(UnpackError::OtherLength { announced, actual }) }
}
