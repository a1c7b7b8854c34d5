//! Answers made to harm: huge counts, cut bodies, flipped bits, noise.

use std::sync::Arc;

use bytes::Bytes;
use messina::protocol::ProtocolVersion::{V3, V4, V5};
use messina::protocol::response::{self, Answer, ParseError, Problem, ResultMetadata, ResultResponse};
use messina::protocol::{Dialect, Envelope, Header, Opcode, Response};
use proptest::prelude::*;
use scylla_cql_core::frame::response::result::{ColumnType, NativeType};
use scylla_cql_core::value::Row;

use crate::golden::{answer, column, golden, read, read_result};

/// Reads an answer, and every value of its rows.
fn read_all(envelope: Envelope, dialect: Dialect) -> Result<Answer, ParseError> {
    let int = || ColumnType::Native(NativeType::Int);
    let known = Arc::new(ResultMetadata::new(vec![column("a", int()), column("b", int())]));
    let answer = response::parse(envelope, dialect, Some(&known))?;
    if let Response::Result(ResultResponse::Rows(rows)) = &answer.response {
        for row in rows.typed::<Row>().unwrap() {
            if row.is_err() {
                break;
            }
        }
    }
    Ok(answer)
}

fn dialects() -> [Dialect; 4] {
    let scylla = Dialect::new(V4)
        .with_metadata_id_extension(true)
        .with_rate_limit_code(Some(0xF000))
        .with_lwt_mask(Some(1 << 31));
    [Dialect::new(V3), Dialect::new(V4), Dialect::new(V5), scylla]
}

/// One whole answer of each kind, as v4 sends it.
pub(crate) fn answers() -> Vec<(Opcode, u8, &'static str)> {
    vec![
        (Opcode::Error, 0, "00001000 0003 'why' 0004 00000002 00000001"),
        (Opcode::Error, 0, "00001500 0000 0004 00000001 00000002 00000001 0006 'SIMPLE'"),
        (Opcode::Error, 0, "00001400 0000 0001 'k' 0001 'f' 0001 0003 'int'"),
        (Opcode::Authenticate, 0, "0004 'Auth'"),
        (Opcode::Supported, 0, "0001 0003 'KEY' 0002 0001 'a' 0001 'b'"),
        (Opcode::AuthChallenge, 0, "00000002 'ab'"),
        (Opcode::Event, 0, "000D 'STATUS_CHANGE' 0002 'UP' 04 7F000001 00002352"),
        (Opcode::Event, 0, "000D 'SCHEMA_CHANGE' 0007 'CREATED' 0008 'FUNCTION' 0001 'k' 0001 'f' 0001 0003 'int'"),
        (Opcode::Result, 0x0E, "00112233445566778899AABBCCDDEEFF 0001 0001 'w' 0001 0001 'k' 00000001 'v' 00000001"),
        (
            Opcode::Result,
            0,
            "00000002 00000003 00000002 00000001 'p' 0001 'k' 0001 't' 0001 'a' 0020 0009
             0001 'b' 0000 0015 'VectorType(Int32Type,' 00000001
             0000000C 00000001 00000004 00000007 00000004 00000001",
        ),
        (
            Opcode::Result,
            0,
            "00000002 00000001 00000001 0001 'k' 0001 't' 0001 'a' 0030 0001 'k' 0001 'u' 0001 0001 'x' 0009
             00000001 00000008 00000004 00000007",
        ),
        (
            Opcode::Result,
            0,
            "00000004 0002 'ID' 00000001 00000001 00000001 0000 0001 'k' 0001 't' 0001 'a' 0009
             00000001 00000001 0001 'k' 0001 't' 0001 'a' 0031 0002 0009 000D",
        ),
    ]
}

/// cql 1: an answer that ends too early is an error at every place, at the latest when its rows are read.
#[test]
fn every_cut_answer_is_an_error() {
    for (opcode, flags, body) in answers() {
        let whole = answer(V4, flags, opcode, body);
        for end in 0..whole.body.len() {
            let cut = Envelope { body: whole.body.slice(..end), ..whole.clone() };
            match read_all(cut, Dialect::new(V4)) {
                Err(_) => {}
                // The words of an error stand without its details.
                Ok(Answer { response: Response::Error(error), .. }) => {
                    assert!(matches!(error.detail, response::ErrorDetail::Unreadable(_)));
                }
                // Rows are read when they are asked for.
                Ok(Answer { response: Response::Result(ResultResponse::Rows(rows)), .. }) => {
                    assert!(rows.raw().any(|row| row.is_err()), "{opcode} cut at {end}");
                }
                Ok(other) => panic!("{opcode} cut at {end}: {other:?}"),
            }
        }
    }
}

/// cql 1: no flipped bit of an answer does harm, in any dialect.
#[test]
fn every_flipped_bit_is_harmless() {
    for (opcode, flags, body) in answers() {
        let whole = answer(V4, flags, opcode, body);
        for bit in 0..whole.body.len() * 8 {
            let mut body = whole.body.to_vec();
            body[bit / 8] ^= 1 << (bit % 8);
            for dialect in dialects() {
                let mut header = whole.header;
                header.version = dialect.version.as_u8();
                let _ = read_all(Envelope { header, body: Bytes::from(body.clone()) }, dialect);
            }
        }
    }
}

fn problem(body: &str) -> Problem {
    read_result(V4, body).unwrap_err().problem
}

/// cql 3: a PREPARED of 25 bytes cannot have 2^31 - 1 markers, or columns.
#[test]
fn a_short_prepared_cannot_have_many_columns() {
    let markers = "00000004 0001 'I' 00000001 7FFFFFFF 00000000 0000 0000";
    assert_eq!(golden(markers).len(), 23);
    assert_eq!(problem(markers), Problem::TooMany { count: 0x7FFF_FFFF, left: 8 });
    let markers = "00000004 0001 'I' 00000000 0000FFFF 00000000 0000 0000";
    assert_eq!(problem(markers), Problem::TooMany { count: 0xFFFF, left: 4 });
    let key = "00000004 0001 'I' 00000001 00000001 7FFFFFFF 0000 0000";
    assert_eq!(problem(key), Problem::TooMany { count: 0x7FFF_FFFF, left: 4 });
    let columns = "00000004 0001 'I' 00000000 00000000 00000000 00000000 7FFFFFFF";
    assert_eq!(problem(columns), Problem::TooMany { count: 0x7FFF_FFFF, left: 0 });
    let negative = "00000004 0001 'I' 00000001 FFFFFFFF 00000000 0000 0000";
    assert_eq!(problem(negative), Problem::Negative(-1));
}

/// cql 3: a partition key of 70,000 parts would not fit its numbers.
#[test]
fn a_partition_key_cannot_outgrow_its_numbers() {
    let parts = format!("00000004 0001 'I' 00000001 0000FFFF 00011170 {}", "0000".repeat(70_000));
    assert_eq!(problem(&parts), Problem::Unknown(70_000));
    let most = format!(
        "00000004 0001 'I' 00000001 0000FFFF 0000FFFF {} 0000 0000 {} 00000004 00000000",
        "0000".repeat(0xFFFF),
        "0000 0009".repeat(0xFFFF),
    );
    match read_result(V4, &most) {
        Ok(ResultResponse::Prepared(prepared)) => {
            assert_eq!(prepared.metadata.pk_indexes.len(), 0xFFFF);
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
}

/// cql 3: rows need the bytes of their values.
#[test]
fn rows_cannot_outnumber_their_bytes() {
    let column = "0000 0000 0001 'a' 0009";
    let rows = format!("00000002 00000001 00000001 {column} 7FFFFFFF 00000000");
    assert_eq!(problem(&rows), Problem::TooMany { count: 0x7FFF_FFFF, left: 4 });
    let rows = format!("00000002 00000001 00000001 {column} FFFFFFFF");
    assert_eq!(problem(&rows), Problem::Negative(-1));
}

/// cql 3: rows without columns take no bytes, so that no number of them can be believed.
#[test]
fn rows_without_columns_are_refused() {
    for flags in ["00000000", "00000004"] {
        let rows = format!("00000002 {flags} 00000000 7FFFFFFF");
        assert_eq!(problem(&rows), Problem::RowsWithoutColumns(0x7FFF_FFFF));
        let one = format!("00000002 {flags} 00000000 00000001");
        assert_eq!(problem(&one), Problem::RowsWithoutColumns(1));
        assert!(read_result(V4, &format!("00000002 {flags} 00000000 00000000")).is_ok());
    }
}

/// cql 3: the long name of a common table cannot be repeated for ever.
#[test]
fn names_cannot_be_multiplied() {
    let name = format!("FFFF {}", "61".repeat(0xFFFF));
    let columns = format!("00000002 00000001 00010000 {name} {name} {}", "0000 0009".repeat(0x10000));
    assert_eq!(problem(&columns), Problem::Expansion(2 * 0xFFFF * 0x10000));
}

/// cql 1: counts of lists and maps are bounded too.
#[test]
fn lists_cannot_outnumber_their_bytes() {
    let many = |opcode, body: &str| read(V5, opcode, body).unwrap_err().problem;
    assert_eq!(many(Opcode::Supported, "FFFF 0000"), Problem::TooMany { count: 0xFFFF, left: 2 });
    let values = "0001 0000 FFFF 0000";
    assert_eq!(many(Opcode::Supported, values), Problem::TooMany { count: 0xFFFF, left: 2 });
    let tuple = "00000002 00000001 00000001 0000 0000 0000 0031 FFFF 0009";
    assert_eq!(many(Opcode::Result, tuple), Problem::TooMany { count: 0xFFFF, left: 2 });
    let user_type = "00000002 00000001 00000001 0000 0000 0000 0030 0000 0000 FFFF 0009";
    assert_eq!(many(Opcode::Result, user_type), Problem::TooMany { count: 0xFFFF, left: 2 });
    for (flags, body) in [(0x08, "FFFF"), (0x04, "FFFF")] {
        let envelope = answer(V4, flags, Opcode::Ready, body);
        let error = response::parse(envelope, Dialect::new(V4), None).unwrap_err();
        assert_eq!(error.problem, Problem::TooMany { count: 0xFFFF, left: 0 });
    }
}

proptest! {
    /// cql 1: noise is harmless to every parser.
    #[test]
    fn noise_is_harmless(
        opcode in 0_u8..20,
        flags in any::<u8>(),
        version in 2_u8..7,
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let header = Header { version, response: true, flags, stream: 0, opcode, length: body.len() as u32 };
        for dialect in dialects() {
            let _ = read_all(Envelope { header, body: Bytes::from(body.clone()) }, dialect);
        }
    }

    /// cql 3: noise behind the beginning of a result is harmless.
    #[test]
    fn noise_in_results_is_harmless(
        kind in 1_u8..6,
        flags in 0_u8..16,
        count in 0_u8..4,
        body in prop::collection::vec(prop_oneof![0_u8..4, Just(0x20), Just(0x31), any::<u8>()], 0..120),
    ) {
        let mut bytes = vec![0, 0, 0, kind, 0, 0, 0, flags, 0, 0, 0, count];
        bytes.extend(body);
        for dialect in dialects() {
            let header = Header {
                version: dialect.version.as_u8(),
                response: true,
                flags: 0,
                stream: 0,
                opcode: Opcode::Result.as_u8(),
                length: bytes.len() as u32,
            };
            let _ = read_all(Envelope { header, body: Bytes::from(bytes.clone()) }, dialect);
        }
    }

    /// cql 3: noise in class names is harmless.
    #[test]
    fn noise_in_class_names_is_harmless(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "ListType", "MapType", "SetType", "TupleType", "UserType", "VectorType", "FrozenType",
                "ReversedType", "Int32Type", "Odd", "(", ")", ",", ":", " ", "61", "3", "65535", "é", "#",
            ]),
            0..40,
        ),
    ) {
        let class = words.concat();
        let body = format!("00000002 00000001 00000001 0000 0000 0000 0000 {:04X} '{class}' 00000000", class.len());
        let _ = read_result(V4, &body);
    }
}
