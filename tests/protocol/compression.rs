//! Compressed bodies of v3 and v4.

use messina::protocol::frame_error::UnpackError;
use messina::protocol::{Compression, DEFAULT_MAX_BODY, FrameError};
use proptest::prelude::*;

use crate::golden::golden;

const BOTH: [Compression; 2] = [Compression::Lz4, Compression::Snappy];

fn unpack(compression: Compression, packed: &[u8], max_body: u32) -> Result<Vec<u8>, UnpackError> {
    match compression.decompress(packed, max_body) {
        Ok(body) => Ok(body.to_vec()),
        Err(FrameError::Unpack { reason, .. }) => Err(reason),
        Err(other) => panic!("{other}"),
    }
}

fn refused(compression: Compression, packed: &str) -> UnpackError {
    unpack(compression, &golden(packed), DEFAULT_MAX_BODY).unwrap_err()
}

/// cql 1: LZ4 is a length and a block, Snappy its raw format.
#[test]
fn packed_bodies_match_their_bytes() {
    for (compression, packed, body) in [
        (Compression::Lz4, "00000003 30 'abc'", "abc"),
        (Compression::Lz4, "0000000E 15 'a' 0100 40 'abcd'", "aaaaaaaaaaabcd"),
        (Compression::Lz4, "00000000 00", ""),
        (Compression::Snappy, "03 08 'abc'", "abc"),
        (Compression::Snappy, "0B 00 'a' 19 01", "aaaaaaaaaaa"),
        (Compression::Snappy, "00", ""),
    ] {
        let unpacked = unpack(compression, &golden(packed), DEFAULT_MAX_BODY);
        assert_eq!(unpacked.as_deref(), Ok(body.as_bytes()), "{compression} {packed}");
    }
    let mut out = b"before".to_vec();
    Compression::Lz4.compress(b"abc", &mut out);
    assert_eq!(out, golden("'before' 00000003 30 'abc'"));
    let mut out = b"before".to_vec();
    Compression::Snappy.compress(b"abc", &mut out);
    assert_eq!(out, golden("'before' 03 08 'abc'"));
}

/// cql 1: the names of SUPPORTED and STARTUP.
#[test]
fn compressions_have_names() {
    for compression in BOTH {
        assert_eq!(Compression::from_name(compression.name()), Some(compression));
        assert_eq!(compression.to_string(), compression.name());
    }
    assert_eq!(Compression::from_name("zstd"), None);
}

/// cql 1: a few bytes cannot announce gigabytes: neither above the limit, nor above what they can hold.
#[test]
fn a_bomb_is_found_before_it_is_unpacked() {
    let sixteen = "00".repeat(16);
    assert_eq!(
        refused(Compression::Lz4, &format!("80000000 {sixteen}")),
        UnpackError::TooLong { length: 1 << 31, limit: u64::from(DEFAULT_MAX_BODY) },
    );
    assert_eq!(
        refused(Compression::Lz4, &format!("10000000 {sixteen}")),
        UnpackError::Impossible { length: 1 << 28, packed: 16 },
    );
    assert_eq!(
        refused(Compression::Snappy, &format!("FFFFFFFF0F {sixteen}")),
        UnpackError::TooLong { length: u64::from(u32::MAX), limit: u64::from(DEFAULT_MAX_BODY) },
    );
    assert_eq!(
        refused(Compression::Snappy, &format!("80808080 01 {sixteen}")),
        UnpackError::Impossible { length: 1 << 28, packed: 21 },
    );
}

/// cql 1: the limit of a body holds for what comes out of it.
#[test]
fn the_limit_holds_unpacked() {
    for compression in BOTH {
        let mut packed = Vec::new();
        compression.compress(&[7; 1000], &mut packed);
        assert_eq!(unpack(compression, &packed, 1000).unwrap(), [7; 1000]);
        let error = unpack(compression, &packed, 999).unwrap_err();
        assert_eq!(error, UnpackError::TooLong { length: 1000, limit: 999 });
    }
}

/// cql 1: what does not unpack to its announced length is refused.
#[test]
fn packed_bodies_keep_their_word() {
    for (short, left) in [("", 0), ("000000", 3)] {
        assert_eq!(refused(Compression::Lz4, short), UnpackError::NoLength(left));
    }
    let more = refused(Compression::Lz4, "00000004 30 'abc'");
    assert_eq!(more, UnpackError::OtherLength { announced: 4, actual: 3 });
    for wrong in ["00000002 30 'abc'", "00000003 40 'abc'", "00000003 FF 'abc'"] {
        assert!(matches!(refused(Compression::Lz4, wrong), UnpackError::Corrupt(_)), "{wrong}");
    }
    for wrong in ["", "02 08 'abc'", "04 08 'abc'", "03 0C 'abc'", "FF", "0B 00 'a' 19 02"] {
        assert!(unpack(Compression::Snappy, &golden(wrong), 1 << 20).is_err(), "{wrong}");
    }
}

/// cql 1: the most that a block can give is allowed.
#[test]
fn the_greatest_ratio_is_allowed() {
    for compression in BOTH {
        let body = vec![0; 10_000_000];
        let mut packed = Vec::new();
        compression.compress(&body, &mut packed);
        assert!(unpack(compression, &packed, DEFAULT_MAX_BODY).unwrap() == body);
    }
}

proptest! {
    /// cql 1: bodies come out as they went in.
    #[test]
    fn bodies_survive(body in prop::collection::vec(any::<u8>(), 0..300), repeat in 1_usize..50) {
        let body = body.repeat(repeat);
        for compression in BOTH {
            let mut packed = Vec::new();
            compression.compress(&body, &mut packed);
            prop_assert_eq!(&unpack(compression, &packed, DEFAULT_MAX_BODY).unwrap(), &body);
        }
    }

    /// cql 1: flipped bits, cuts and noise are harmless.
    #[test]
    fn damage_is_harmless(
        body in prop::collection::vec(0_u8..3, 0..300),
        flip in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        for compression in BOTH {
            let mut packed = Vec::new();
            compression.compress(&body, &mut packed);
            let _ = unpack(compression, &packed[..cut.index(packed.len())], 1 << 20);
            let bit = flip.index(packed.len() * 8);
            packed[bit / 8] ^= 1 << (bit % 8);
            let _ = unpack(compression, &packed, 1 << 20);
            let _ = unpack(compression, &noise, 1 << 20);
        }
    }
}
