//! Headers and bare envelopes.

use bytes::BytesMut;
use messina::protocol::envelope::{COPY_BELOW, decode, decode_response, flags};
use messina::protocol::{DEFAULT_MAX_BODY, FrameError, HEADER_LEN, Header, Opcode};
use proptest::prelude::*;

use crate::support::{bytes_of, hex, read_bare, response};

/// cql 1: the header's nine bytes, big-endian, with a response bit and a signed stream.
#[test]
fn a_header_is_nine_bytes() {
    let header = Header {
        version: 4,
        response: false,
        flags: flags::TRACING | flags::CUSTOM_PAYLOAD,
        stream: 0x0102,
        opcode: Opcode::Execute.as_u8(),
        length: 0x0001_0203,
    };
    assert_eq!(header.to_bytes().as_slice(), hex("04 06 0102 0A 00010203"));
    let event = Header::parse(&hex("84 00 FFFF 0C 00000000").try_into().unwrap());
    assert_eq!((event.version, event.response, event.stream), (4, true, -1));
    assert_eq!(event.opcode(), Some(Opcode::Event));
    assert!(!event.has(flags::TRACING));
}

/// cql 1: every opcode has its number, and no other number is one.
#[test]
fn opcodes_have_their_numbers() {
    let known: Vec<u8> = (0..=255).filter(|byte| Opcode::from_u8(*byte).is_some()).collect();
    assert_eq!(known, [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    assert!(known.iter().all(|byte| Opcode::from_u8(*byte).unwrap().as_u8() == *byte));
}

/// cql 1: a body is at most the limit, and a longer one is refused before it comes.
#[test]
fn a_body_above_the_limit_is_refused_at_its_header() {
    let mut buf = BytesMut::from(hex("84 00 0001 08 10000001").as_slice());
    let refused = decode(&mut buf, DEFAULT_MAX_BODY).unwrap_err();
    let expected = FrameError::TooLong { length: 0x1000_0001, limit: DEFAULT_MAX_BODY };
    assert_eq!(refused, expected);
    let mut negative = BytesMut::from(hex("84 00 0001 08 FFFFFFFF").as_slice());
    assert!(decode(&mut negative, DEFAULT_MAX_BODY).is_err());
    let mut allowed = BytesMut::from(hex("84 00 0001 08 10000000").as_slice());
    assert_eq!(decode(&mut allowed, DEFAULT_MAX_BODY), Ok(None));
    assert!(allowed.capacity() < 1024, "nothing is reserved for what did not come");
}

/// cql 1: what is no response in any version is told at its first byte.
#[test]
fn another_protocol_is_told_at_once() {
    let mut http = BytesMut::from(&b"H"[..]);
    let refused = decode_response(&mut http, DEFAULT_MAX_BODY).unwrap_err();
    assert_eq!(refused, FrameError::NotAResponse { first_byte: b'H' });
    for (first_byte, hint) in
        [(b'H', Some("HTTP")), (0x15, Some("TLS")), (0x16, Some("TLS")), (0x04, None), (0x17, None)]
    {
        let text = FrameError::NotAResponse { first_byte }.to_string();
        assert!(text.contains(&format!("cannot begin with the byte {first_byte:#04x}")), "{text}");
        assert_eq!(
            text.split_once("; this looks like ").map(|(_, what)| what.split(':').next().unwrap()),
            hint,
            "{text}"
        );
    }
}

/// cql 1: a short body is copied out of the read buffer, a long one is cut out of it.
#[test]
fn only_short_bodies_are_copied() {
    for (length, copied) in [(0, true), (COPY_BELOW - 1, true), (COPY_BELOW, false)] {
        let mut buf = BytesMut::from(bytes_of(&[response(1, &vec![7; length])]).as_slice());
        let place = buf.as_ptr() as usize + HEADER_LEN;
        let envelope = decode(&mut buf, DEFAULT_MAX_BODY).unwrap().unwrap();
        assert_eq!(envelope.body.len(), length);
        assert_eq!(envelope.body.as_ptr() as usize != place, copied, "{length}");
    }
}

/// design 4.1: the answer to a write, which is always the same, takes no allocation.
#[test]
fn the_answer_to_a_write_is_not_copied() {
    let place = |body: &[u8]| {
        let mut buf = BytesMut::from(bytes_of(&[response(1, body)]).as_slice());
        let answer = decode(&mut buf, DEFAULT_MAX_BODY).unwrap().unwrap();
        assert!(answer.body == body && buf.is_empty());
        (answer.body.as_ptr() as usize, answer)
    };
    let (void, other) = ([0, 0, 0, 1], [0, 0, 0, 2]);
    // Both are held, so that two copies would be at two places.
    let (one, two) = (place(&void), place(&void));
    assert_eq!(one.0, two.0);
    let (one, two) = (place(&other), place(&other));
    assert_ne!(one.0, two.0);
}

proptest! {
    /// cql 1: envelopes come out as they went in, however the stream is cut.
    #[test]
    fn envelopes_survive_any_cutting(
        bodies in prop::collection::vec((any::<i16>(), prop::collection::vec(any::<u8>(), 0..1500)), 0..4),
        step in 1_usize..5000,
    ) {
        let envelopes: Vec<_> = bodies.iter().map(|(stream, body)| response(*stream, body)).collect();
        prop_assert_eq!(read_bare(&bytes_of(&envelopes), step).unwrap(), envelopes);
    }

    /// cql 1: arbitrary bytes give envelopes, an error or a wish for more, and never more bytes than came.
    #[test]
    fn arbitrary_bytes_are_harmless(stream in prop::collection::vec(any::<u8>(), 0..300), step in 1_usize..40) {
        if let Ok(envelopes) = read_bare(&stream, step) {
            let read: usize = envelopes.iter().map(|envelope| HEADER_LEN + envelope.body.len()).sum();
            prop_assert!(read <= stream.len());
        }
    }
}
