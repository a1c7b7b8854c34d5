//! Segments: vectors, every rule, every flipped bit.

use messina::protocol::segment::{MAX_PAYLOAD, crc};
use messina::protocol::{Envelope, FrameError, HEADER_LEN, SegmentEncoder};
use proptest::prelude::*;

use crate::support::{bytes_of, hex, read_segments, response};

fn encode(envelopes: &[Envelope], lz4: bool) -> Vec<u8> {
    let mut out = Vec::new();
    SegmentEncoder::new(lz4).encode(&bytes_of(envelopes), &mut out).unwrap();
    out
}

/// One uncompressed segment, header and checksums right, whatever the payload.
fn plain_segment(payload: &[u8], self_contained: bool) -> Vec<u8> {
    let bits = payload.len() as u32 | u32::from(self_contained) << 17;
    let header = &bits.to_le_bytes()[..3];
    let mut out = header.to_vec();
    out.extend_from_slice(&crc::crc24(header).to_le_bytes()[..3]);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc::crc32(payload).to_le_bytes());
    out
}

/// One LZ4 segment, header and checksums right, whatever the payload.
fn lz4_segment(payload: &[u8], unpacked: u64, self_contained: bool) -> Vec<u8> {
    let bits = payload.len() as u64 | unpacked << 17 | u64::from(self_contained) << 34;
    let header = &bits.to_le_bytes()[..5];
    let mut out = header.to_vec();
    out.extend_from_slice(&crc::crc24(header).to_le_bytes()[..3]);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc::crc32(payload).to_le_bytes());
    out
}

/// How many segments a stream holds, and the self-contained ones among them.
fn count(mut stream: &[u8], lz4: bool) -> (usize, usize) {
    let mut counted = (0, 0);
    let header = if lz4 { 5 } else { 3 };
    while !stream.is_empty() {
        let bits = stream[..header].iter().rev().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        counted.0 += 1;
        counted.1 += usize::from(bits >> if lz4 { 34 } else { 17 } & 1 == 1);
        stream = &stream[header + 3 + (bits as usize & MAX_PAYLOAD) + 4..];
    }
    counted
}

/// cql 2: the vectors of both checksums.
#[test]
fn checksums_match_their_vectors() {
    assert_eq!(crc::crc24(&[0; 3]), 8_251_255);
    assert_eq!(crc::crc24(&[0; 5]), 11_185_162);
    assert_eq!(crc::crc24(&[64, 226, 1]), 5_891_942);
    assert_eq!(crc::crc24(&[64, 226, 1, 0, 0]), 8_775_784);
    assert_eq!(crc::crc32(&[]), 1_148_681_939);
    assert_eq!(crc::crc32(&[0; 5]), 1_178_391_023);
    assert_eq!(crc::crc32(&[1, 2, 3, 4, 5, 6]), 3_536_190_002);
}

/// cql 2: the OPTIONS envelope of v5 in one uncompressed segment.
#[test]
fn options_in_a_segment_matches_its_vector() {
    let options = hex("050000000500000000");
    let mut out = Vec::new();
    SegmentEncoder::new(false).encode(&options, &mut out).unwrap();
    assert_eq!(out, hex("090002a4c8c10500000005000000001086284d"));
    let (envelopes, whole) = read_segments(&out, false, 1).unwrap();
    assert!(whole);
    assert_eq!(bytes_of(&envelopes), options);
}

/// cql 2: small envelopes share a segment; a larger one is spread over segments that are not self-contained.
#[test]
fn envelopes_are_cut_into_segments() {
    let small = response(1, &[1; 100]);
    let fills = response(2, &vec![2; MAX_PAYLOAD - HEADER_LEN]);
    let spread = response(3, &vec![3; MAX_PAYLOAD - HEADER_LEN + 1]);
    let large = response(4, &vec![4; 3 * MAX_PAYLOAD]);
    for (envelopes, segments, self_contained) in [
        (vec![], 0, 0),
        (vec![small.clone(), small.clone(), small.clone()], 1, 1),
        (vec![fills.clone()], 1, 1),
        (vec![small.clone(), fills.clone(), small.clone()], 3, 3),
        (vec![spread.clone()], 2, 0),
        (vec![small.clone(), large.clone(), small.clone()], 6, 2),
    ] {
        for lz4 in [false, true] {
            let stream = encode(&envelopes, lz4);
            assert_eq!(count(&stream, lz4), (segments, self_contained));
            for step in [1000, stream.len()] {
                let (read, whole) = read_segments(&stream, lz4, step).unwrap();
                assert!(whole && read == envelopes);
            }
        }
    }
}

/// cql 2: an uncompressed length of 0 means "stored as is"; what does not shrink is stored so.
#[test]
fn what_does_not_shrink_is_stored_as_it_is() {
    let noise = response(1, &hex("00 9f 31 c7 5a e2 84 17"));
    let stream = encode(std::slice::from_ref(&noise), true);
    assert_eq!(stream.len(), 5 + 3 + HEADER_LEN + 8 + 4);
    assert_eq!(read_segments(&stream, true, 3).unwrap(), (vec![noise], true));
    let shrinks = encode(&[response(1, &[0; 5000])], true);
    assert!(shrinks.len() < 100);
}

/// cql 2: each rule about which segment may follow which, and what it may carry.
#[test]
fn every_rule_of_segments_is_held() {
    let envelope = bytes_of(&[response(1, &[9; 100])]);
    let read = |stream: &[Vec<u8>]| read_segments(&stream.concat(), false, usize::MAX).unwrap_err();

    let cut = plain_segment(&envelope[..50], true);
    assert_eq!(read(&[cut]), FrameError::CutEnvelope);
    let cut_header = plain_segment(&envelope[..5], true);
    assert_eq!(read(&[cut_header]), FrameError::CutEnvelope);
    let begun = plain_segment(&envelope[..50], false);
    let empty = plain_segment(&[], false);
    assert_eq!(read(&[begun.clone(), empty.clone()]), FrameError::EmptyContinuation);
    assert_eq!(read(&[empty]), FrameError::EmptyContinuation);
    let other = plain_segment(&envelope, true);
    let interrupted = FrameError::InterruptedEnvelope { length: 109, received: 50 };
    assert_eq!(read(&[begun.clone(), other.clone()]), interrupted);
    let barely_begun = plain_segment(&envelope[..5], false);
    let interrupted = FrameError::InterruptedEnvelope { length: 0, received: 5 };
    assert_eq!(read(&[barely_begun, other]), interrupted);
    let too_much = plain_segment(&[&envelope[50..], &[0; 3]].concat(), false);
    assert_eq!(read(&[begun, too_much]), FrameError::Overrun { extra: 3 });
    let too_long = plain_segment(&hex("85 00 0001 08 10000001"), false);
    assert!(matches!(read(&[too_long]), FrameError::TooLong { .. }));
    let too_long = plain_segment(&hex("85 00 0001 08 10000001"), true);
    assert!(matches!(read(&[too_long]), FrameError::TooLong { .. }));

    let nothing = plain_segment(&[], true);
    assert_eq!(read_segments(&nothing, false, 1).unwrap(), (vec![], true));
}

/// cql 2: an LZ4 payload must unpack to exactly the announced length.
#[test]
fn an_lz4_payload_keeps_its_word() {
    let envelope = bytes_of(&[response(1, &[9; 1000])]);
    let packed = lz4_flex::block::compress(&envelope);
    let read = |stream: &[u8]| read_segments(stream, true, usize::MAX);
    let length = envelope.len() as u64;
    assert_eq!(read(&lz4_segment(&packed, length, true)).unwrap().0.len(), 1);
    for wrong in [length - 1, length + 1, MAX_PAYLOAD as u64] {
        let error = read(&lz4_segment(&packed, wrong, true)).unwrap_err();
        assert!(matches!(error, FrameError::Unpack { .. }), "{error}");
    }
    let garbage = read(&lz4_segment(&[0xFF; 40], 1000, true)).unwrap_err();
    assert!(matches!(garbage, FrameError::Unpack { .. }), "{garbage}");
    let begun = lz4_segment(&packed, length - 1, false);
    assert!(read(&begun).is_err());
}

/// cql 2: reserved bits are refused even under a right checksum.
#[test]
fn reserved_bits_are_refused() {
    let header = [9, 0, 0b110];
    let mut stream = header.to_vec();
    stream.extend_from_slice(&crc::crc24(&header).to_le_bytes()[..3]);
    let error = read_segments(&stream, false, usize::MAX).unwrap_err();
    assert_eq!(error, FrameError::ReservedBits(1));
}

/// cql 2: damage names the part it is in.
#[test]
fn damage_names_its_part() {
    let stream = encode(&[response(1, &[7; 50])], false);
    for (place, in_header) in [(0, true), (5, true), (6, false), (40, false), (stream.len() - 1, false)] {
        let mut damaged = stream.clone();
        damaged[place] ^= 0x10;
        let error = read_segments(&damaged, false, usize::MAX).unwrap_err();
        assert_eq!(matches!(error, FrameError::HeaderChecksum { .. }), in_header, "{error}");
        assert_eq!(matches!(error, FrameError::PayloadChecksum { .. }), !in_header, "{error}");
    }
}

/// cql 2: a bad checksum is fatal: no flipped bit gives an envelope that was not sent, and none is missed.
#[test]
fn every_flipped_bit_is_found() {
    let spread = response(3, &vec![3; MAX_PAYLOAD + 10]);
    for lz4 in [false, true] {
        let small = encode(&[response(1, &[1; 40]), response(2, b"text")], lz4);
        let large = encode(std::slice::from_ref(&spread), lz4);
        for stream in [small, large] {
            let every = if stream.len() > 10_000 { 9_973 } else { 1 };
            for bit in (0..stream.len() * 8).step_by(every) {
                let mut damaged = stream.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(read_segments(&damaged, lz4, usize::MAX).is_err(), "bit {bit}");
            }
        }
    }
}

/// cql 2: every prefix of a stream is a wish for more.
#[test]
fn every_prefix_wants_more() {
    let envelopes = [response(1, &[1; 40]), response(2, b"text")];
    for lz4 in [false, true] {
        let stream = [encode(&envelopes, lz4), encode(&envelopes, lz4)].concat();
        let one = stream.len() / 2;
        for end in 0..stream.len() {
            let (read, whole) = read_segments(&stream[..end], lz4, 7).unwrap();
            assert_eq!(read.len(), if end < one { 0 } else { 2 });
            assert_eq!(whole, end == 0 || end == one);
        }
    }
}

/// cql 2: a buffer that ends inside an envelope is refused, after what is whole.
#[test]
fn a_cut_buffer_is_refused() {
    let whole = response(1, b"whole");
    let mut bytes = bytes_of(&[whole.clone(), response(2, b"cut")]);
    bytes.pop();
    let mut out = Vec::new();
    let refused = SegmentEncoder::new(false).encode(&bytes, &mut out);
    assert_eq!(refused, Err(FrameError::CutEnvelope));
    assert_eq!(read_segments(&out, false, 1).unwrap(), (vec![whole], true));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// cql 2: envelopes come out as they went in, however the stream is cut.
    #[test]
    fn envelopes_survive_segments(
        sizes in prop::collection::vec(prop_oneof![0..200_usize, 60_000..140_000_usize, 260_000..270_000_usize], 0..6),
        seed in any::<u8>(),
        lz4 in any::<bool>(),
        step in 1_usize..100_000,
    ) {
        let envelopes: Vec<_> = sizes.iter().zip(1..).map(|(size, stream)| {
            let pattern: Vec<u8> = (0..=255).map(|byte: u8| byte.wrapping_mul(seed | 1)).collect();
            let mut body = pattern.repeat(size / 256 + 1);
            body.truncate(*size);
            response(stream, &body)
        }).collect();
        let stream = encode(&envelopes, lz4);
        let (read, whole) = read_segments(&stream, lz4, step.max(stream.len() / 50)).unwrap();
        prop_assert!(whole);
        prop_assert!(read == envelopes);
    }
}

proptest! {
    /// cql 2: arbitrary payloads under right checksums give envelopes, an error, or a wish for more.
    #[test]
    fn arbitrary_payloads_are_harmless(
        payloads in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..60), any::<bool>(), 0_u64..200), 0..5),
        lz4 in any::<bool>(),
    ) {
        let stream: Vec<u8> = payloads.iter().flat_map(|(payload, self_contained, unpacked)| {
            if lz4 { lz4_segment(payload, *unpacked, *self_contained) } else { plain_segment(payload, *self_contained) }
        }).collect();
        let _ = read_segments(&stream, lz4, usize::MAX);
    }

    /// cql 2: arbitrary bytes are harmless.
    #[test]
    fn arbitrary_bytes_are_harmless(stream in prop::collection::vec(any::<u8>(), 0..100), lz4 in any::<bool>()) {
        let _ = read_segments(&stream, lz4, 3);
    }
}
