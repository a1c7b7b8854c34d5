//! From segments to envelopes.

use bytes::{Buf, BytesMut};
use lz4_flex::block::decompress_into;

use super::{SegmentHeader, TRAILER, crc};
use crate::protocol::HEADER_LEN;
use crate::protocol::envelope::{Envelope, Header, decode, take_body};
use crate::protocol::frame_error::{FrameError, UnpackError};

/// Takes envelopes out of a stream of segments, as the bytes come.
///
/// After an error the stream cannot be read on.
#[derive(Debug)]
pub struct SegmentDecoder {
    lz4: bool,
    max_body: u32,
    /// How many bytes at the front of the read buffer belong to a checked, self-contained payload.
    open: usize,
    /// The rest of a self-contained payload that had to be unpacked.
    unpacked: BytesMut,
    /// What came of an envelope that is spread over segments.
    partial: BytesMut,
}

impl SegmentDecoder {
    /// A decoder of uncompressed segments, or of segments with LZ4; `max_body` bounds each envelope's body.
    #[must_use]
    pub fn new(lz4: bool, max_body: u32) -> Self {
        Self { lz4, max_body, open: 0, unpacked: BytesMut::new(), partial: BytesMut::new() }
    }

    /// Whether nothing is kept between calls: the stream may end here, if the read buffer is empty too.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.open == 0 && self.unpacked.is_empty() && self.partial.is_empty()
    }

    /// Takes the next envelope; `None` when more bytes are needed.
    ///
    /// `buf` is the read buffer: always the same one, to which bytes are only appended between calls.
    ///
    /// # Errors
    /// Every way in which a stream of segments can be wrong; see [`FrameError`].
    pub fn decode(&mut self, buf: &mut BytesMut) -> Result<Option<Envelope>, FrameError> {
        loop {
            if self.open > 0 {
                return self.take_open(buf).map(Some);
            }
            if !self.unpacked.is_empty() {
                let envelope = decode(&mut self.unpacked, self.max_body)?;
                return envelope.map(Some).ok_or(FrameError::CutEnvelope);
            }
            let Some(header) = SegmentHeader::read(buf, self.lz4)? else {
                return Ok(None);
            };
            let start = SegmentHeader::len(self.lz4);
            let end = start + header.length;
            let Some(trailer) = buf.get(end..end + TRAILER) else {
                return Ok(None);
            };
            let stored = super::little_endian(trailer) as u32;
            let computed = crc::crc32(&buf[start..end]);
            if stored != computed {
                return Err(FrameError::PayloadChecksum { stored, computed });
            }
            buf.advance(start);
            if header.self_contained {
                self.open_payload(header, buf)?;
            } else if let Some(envelope) = self.continue_partial(header, buf)? {
                return Ok(Some(envelope));
            }
        }
    }

    /// Begins a self-contained payload, which stands at the front of `buf`.
    fn open_payload(&mut self, header: SegmentHeader, buf: &mut BytesMut) -> Result<(), FrameError> {
        if !self.partial.is_empty() {
            let announced = Header::peek(&self.partial, self.max_body)?;
            return Err(FrameError::InterruptedEnvelope {
                length: announced.map_or(0, |header| HEADER_LEN + header.length as usize),
                received: self.partial.len(),
            });
        }
        if header.unpacked > 0 {
            unpack(header, &buf[..header.length], &mut self.unpacked)?;
            buf.advance(header.length + TRAILER);
        } else if header.length > 0 {
            self.open = header.length;
        } else {
            buf.advance(TRAILER);
        }
        Ok(())
    }

    /// Takes the next envelope out of a payload at the front of `buf`.
    fn take_open(&mut self, buf: &mut BytesMut) -> Result<Envelope, FrameError> {
        let payload = &buf[..self.open];
        let header = Header::peek(payload, self.max_body)?.ok_or(FrameError::CutEnvelope)?;
        let length = header.length as usize;
        if payload.len() - HEADER_LEN < length {
            return Err(FrameError::CutEnvelope);
        }
        let body = take_body(buf, length);
        self.open -= HEADER_LEN + length;
        if self.open == 0 {
            buf.advance(TRAILER);
        }
        Ok(Envelope { header, body })
    }

    /// Adds a payload, which stands at the front of `buf`, to the envelope that is spread over segments.
    fn continue_partial(&mut self, header: SegmentHeader, buf: &mut BytesMut) -> Result<Option<Envelope>, FrameError> {
        if header.length == 0 {
            return Err(FrameError::EmptyContinuation);
        }
        let payload = &buf[..header.length];
        if header.unpacked > 0 {
            unpack(header, payload, &mut self.partial)?;
        } else {
            self.partial.extend_from_slice(payload);
        }
        buf.advance(header.length + TRAILER);
        let Some(header) = Header::peek(&self.partial, self.max_body)? else {
            return Ok(None);
        };
        let length = header.length as usize;
        let received = self.partial.len() - HEADER_LEN;
        if received > length {
            return Err(FrameError::Overrun { extra: received - length });
        }
        if received < length {
            return Ok(None);
        }
        self.partial.advance(HEADER_LEN);
        let body = std::mem::take(&mut self.partial).freeze();
        Ok(Some(Envelope { header, body }))
    }
}

/// Appends what `packed` unpacks to; its length is in the checked header and below 128 KiB.
fn unpack(header: SegmentHeader, packed: &[u8], out: &mut BytesMut) -> Result<(), FrameError> {
    let start = out.len();
    out.resize(start + header.unpacked, 0);
    let failed = |reason| FrameError::Unpack { what: "a segment", reason };
    let actual =
        decompress_into(packed, &mut out[start..]).map_err(|error| failed(UnpackError::Corrupt(error.to_string())))?;
    if actual != header.unpacked {
        return Err(failed(UnpackError::OtherLength { announced: header.unpacked, actual }));
    }
    Ok(())
}
