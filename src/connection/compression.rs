//! Stand-in until `protocol` has it.
use crate::protocol::FrameError;
use bytes::Bytes;
/// Body compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// LZ4.
    Lz4,
    /// Snappy.
    Snappy,
}
impl Compression {
    pub(crate) fn compress(self, body: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(body);
    }
    pub(crate) fn decompress(self, _: &[u8], _: u32) -> Result<Bytes, FrameError> {
        Err(FrameError::UnexpectedCompression)
    }
}
