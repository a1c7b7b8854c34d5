//! Streams of segments and of bare envelopes, with checksums that are right or not.

use bytes::BytesMut;
use messina::protocol::segment::crc;
use messina::protocol::{Compression, DEFAULT_MAX_BODY, SegmentDecoder, SegmentEncoder, envelope};

/// What the stream is made of.
struct Input<'a> {
    lz4: bool,
    /// How many bytes come at a time.
    step: usize,
    bytes: &'a [u8],
}

pub(crate) fn check(data: &[u8]) {
    let [mode, step, bytes @ ..] = data else { return };
    let input = Input { lz4: mode & 1 != 0, step: usize::from(*step) + 1, bytes };
    match mode >> 1 & 3 {
        0 => feed(&input, input.bytes),
        1 => feed(&input, &with_checksums(&input)),
        2 => round_trip(&input),
        _ => unpack(&input),
    }
}

/// Feeds a stream to the decoders until it ends or is refused.
fn feed(input: &Input<'_>, stream: &[u8]) {
    let mut decoder = SegmentDecoder::new(input.lz4, 1 << 20);
    let mut buf = BytesMut::new();
    'stream: for part in stream.chunks(input.step) {
        buf.extend_from_slice(part);
        loop {
            match decoder.decode(&mut buf) {
                Ok(Some(envelope)) => assert_eq!(envelope.body.len(), envelope.header.length as usize),
                Ok(None) => break,
                Err(_) => break 'stream,
            }
        }
    }
    let mut bare = BytesMut::from(stream);
    while let Ok(Some(envelope)) = envelope::decode_response(&mut bare, 1 << 20) {
        assert_eq!(envelope.body.len(), envelope.header.length as usize);
    }
}

/// Takes the bytes as pairs of a header and a payload, and gives each its checksums.
fn with_checksums(input: &Input<'_>) -> Vec<u8> {
    let header_len = if input.lz4 { 5 } else { 3 };
    let mut stream = Vec::new();
    let mut rest = input.bytes;
    while let Some((header, after)) = rest.split_at_checked(header_len) {
        let mut header = header.to_vec();
        // Payloads of what is there, so that the walk goes on.
        let length = usize::from(header[0]).min(after.len());
        (header[0], header[1]) = (length as u8, 0);
        let flags = if input.lz4 { 0xFE } else { 0x02 };
        header[2] &= flags;
        if input.lz4 {
            header[4] &= 0x07;
        }
        let (payload, after) = after.split_at(length);
        stream.extend_from_slice(&header);
        stream.extend_from_slice(&crc::crc24(&header).to_le_bytes()[..3]);
        stream.extend_from_slice(payload);
        stream.extend_from_slice(&crc::crc32(payload).to_le_bytes());
        rest = after;
    }
    stream
}

/// Whole envelopes, however long, come out of their segments as they went in.
fn round_trip(input: &Input<'_>) {
    let mut envelopes = Vec::new();
    for (stream, part) in (0..).zip(input.bytes.chunks(input.step)) {
        let body = part.repeat(1 + usize::from(part[0]) * 16);
        let length = body.len() as u32;
        envelope::Header { version: 5, response: true, flags: 0, stream, opcode: 8, length }.write(&mut envelopes);
        envelopes.extend_from_slice(&body);
    }
    let mut stream = Vec::new();
    assert_eq!(SegmentEncoder::new(input.lz4).encode(&envelopes, &mut stream), Ok(()));
    let mut decoder = SegmentDecoder::new(input.lz4, DEFAULT_MAX_BODY);
    let (mut buf, mut read) = (BytesMut::from(stream.as_slice()), Vec::new());
    while let Some(envelope) = decoder.decode(&mut buf).unwrap() {
        envelope.header.write(&mut read);
        read.extend_from_slice(&envelope.body);
    }
    assert!(decoder.is_idle() && buf.is_empty() && read == envelopes);
}

/// Bodies of v3 and v4.
fn unpack(input: &Input<'_>) {
    for compression in [Compression::Lz4, Compression::Snappy] {
        let _ = compression.decompress(input.bytes, 1 << 20);
        let mut packed = Vec::new();
        compression.compress(input.bytes, &mut packed);
        assert_eq!(compression.decompress(&packed, DEFAULT_MAX_BODY).unwrap(), input.bytes);
    }
}
