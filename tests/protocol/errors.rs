//! Every error a server may answer with.

use bytes::Bytes;
use messina::protocol::ProtocolVersion::{self, V3, V4, V5};
use messina::protocol::response::server_error::code;
use messina::protocol::response::{self, ErrorDetail, Failures, Problem, ServerError};
use messina::protocol::{Dialect, Opcode, Response};
use scylla_cql_core::frame::response::error::{OperationType, WriteType};
use scylla_cql_core::frame::types::Consistency;

use crate::golden::{answer, golden, read};

const QUORUM: &str = "0004 00000001 00000002";

#[track_caller]
fn error(dialect: impl Into<Dialect>, code: i32, detail: &str) -> ServerError {
    let body = format!("{code:08X} 0003 'why' {detail}");
    match read(dialect, Opcode::Error, &body) {
        Ok(Response::Error(error)) => {
            assert_eq!((error.code, error.message.as_str()), (code, "why"));
            error
        }
        other => panic!("{other:?}"),
    }
}

fn detail(dialect: impl Into<Dialect>, code: i32, detail: &str) -> ErrorDetail {
    error(dialect, code, detail).detail
}

/// cql 4: codes without more than words, and codes that are not known, whatever follows.
#[test]
fn codes_without_details() {
    for number in [
        code::SERVER,
        code::PROTOCOL,
        code::BAD_CREDENTIALS,
        code::OVERLOADED,
        code::BOOTSTRAPPING,
        code::TRUNCATE,
        code::CDC_WRITE_FAILURE,
        code::SYNTAX,
        code::UNAUTHORIZED,
        code::INVALID,
        code::CONFIG,
        0x4242,
        0xF000,
        -1,
    ] {
        for version in ProtocolVersion::ALL {
            assert_eq!(detail(version, number, ""), ErrorDetail::None);
        }
        assert_eq!(detail(V4, number, "0102"), ErrorDetail::None);
    }
    let text = error(V4, code::OVERLOADED, "").to_string();
    assert_eq!(text, "the server answered that it is overloaded (code 0x1001): why");
    let text = error(V4, 0x4242, "").to_string();
    assert_eq!(text, "the server answered an unknown error (code 0x4242): why");
}

/// cql 4: timeouts and missing replicas.
#[test]
fn timeouts_and_missing_replicas() {
    let (consistency, received, required) = (Consistency::Quorum, 1, 2);
    for version in ProtocolVersion::ALL {
        assert_eq!(
            detail(version, code::UNAVAILABLE, "0006 00000003 00000001"),
            ErrorDetail::Unavailable { consistency: Consistency::LocalQuorum, required: 3, alive: 1 },
        );
        assert_eq!(
            detail(version, code::READ_TIMEOUT, &format!("{QUORUM} 01")),
            ErrorDetail::ReadTimeout { consistency, received, required, data_present: true },
        );
        assert_eq!(
            detail(version, code::WRITE_TIMEOUT, &format!("{QUORUM} 0009 'BATCH_LOG'")),
            ErrorDetail::WriteTimeout {
                consistency,
                received,
                required,
                write_type: WriteType::BatchLog,
                contentions: None,
            },
        );
        assert_eq!(
            detail(version, code::CAS_WRITE_UNKNOWN, QUORUM),
            ErrorDetail::CasWriteUnknown { consistency, received, required },
        );
    }
}

/// cql 3: in v5 a timeout of a conditional write tells its contentions.
#[test]
fn contentions_come_with_v5() {
    let contentions = |version, body: &str| match detail(version, code::WRITE_TIMEOUT, &format!("{QUORUM} {body}")) {
        ErrorDetail::WriteTimeout { contentions, write_type, .. } => (contentions, write_type),
        other => panic!("{other:?}"),
    };
    assert_eq!(contentions(V5, "0003 'CAS' 0007"), (Some(7), WriteType::Cas));
    assert_eq!(contentions(V5, "0003 'CAS'"), (None, WriteType::Cas));
    assert_eq!(contentions(V5, "0006 'SIMPLE' 0007"), (None, WriteType::Simple));
    assert_eq!(contentions(V4, "0003 'CAS' 0007"), (None, WriteType::Cas));
}

/// cql 4: every type of write is known, and unknown text is kept.
#[test]
fn types_of_writes() {
    for (text, write_type) in [
        ("SIMPLE", WriteType::Simple),
        ("BATCH", WriteType::Batch),
        ("UNLOGGED_BATCH", WriteType::UnloggedBatch),
        ("COUNTER", WriteType::Counter),
        ("BATCH_LOG", WriteType::BatchLog),
        ("CAS", WriteType::Cas),
        ("VIEW", WriteType::View),
        ("CDC", WriteType::Cdc),
        ("NEW", WriteType::Other("NEW".to_owned())),
    ] {
        let body = format!("{QUORUM} {:04X} '{text}'", text.len());
        match detail(V4, code::WRITE_TIMEOUT, &body) {
            ErrorDetail::WriteTimeout { write_type: read, .. } => assert_eq!(read, write_type),
            other => panic!("{other:?}"),
        }
    }
}

/// cql 3: failures are a number up to v4, and reasons by replica in v5.
#[test]
fn failures_of_replicas() {
    let reasons = Failures::Reasons(vec![("127.0.0.1".parse().unwrap(), 1), ("::1".parse().unwrap(), 0x0203)]);
    assert_eq!(reasons.count(), 2);
    assert_eq!(reasons.to_string(), "127.0.0.1 (reason 0x0001), ::1 (reason 0x0203)");
    assert_eq!(Failures::Count(3).to_string(), "3 replicas");
    let v5 = "00000002 04 7F000001 0001 10 00000000000000000000000000000001 0203";
    let (consistency, received, required) = (Consistency::Quorum, 1, 2);
    for (version, body, failures) in
        [(V3, "00000003", Failures::Count(3)), (V4, "00000003", Failures::Count(3)), (V5, v5, reasons)]
    {
        assert_eq!(
            detail(version, code::READ_FAILURE, &format!("{QUORUM} {body} 00")),
            ErrorDetail::ReadFailure {
                consistency,
                received,
                required,
                failures: failures.clone(),
                data_present: false,
            },
        );
        assert_eq!(
            detail(version, code::WRITE_FAILURE, &format!("{QUORUM} {body} 0004 'VIEW'")),
            ErrorDetail::WriteFailure { consistency, received, required, failures, write_type: WriteType::View },
        );
    }
}

/// cql 4: functions, what exists already, and what is not prepared.
#[test]
fn errors_that_name_things() {
    assert_eq!(
        detail(V4, code::FUNCTION_FAILURE, "0002 'ks' 0001 'f' 0001 0003 'int'"),
        ErrorDetail::FunctionFailure {
            keyspace: "ks".to_owned(),
            function: "f".to_owned(),
            arguments: vec!["int".to_owned()],
        },
    );
    assert_eq!(
        detail(V4, code::ALREADY_EXISTS, "0002 'ks' 0000"),
        ErrorDetail::AlreadyExists { keyspace: "ks".to_owned(), table: String::new() },
    );
    let id = Bytes::from_static(b"ID");
    assert_eq!(detail(V4, code::UNPREPARED, "0002 'ID'"), ErrorDetail::Unprepared { id });
}

/// cql 4: a rate limit has the code that the server announced.
/// cql 6: SCYLLA_RATE_LIMIT_ERROR.
#[test]
fn rate_limits_have_an_announced_code() {
    let scylla = Dialect::new(V4).with_rate_limit_code(Some(0x4321));
    for (byte, operation) in
        [("00", OperationType::Read), ("01", OperationType::Write), ("07", OperationType::Other(7))]
    {
        let error = error(scylla, 0x4321, &format!("{byte} 01"));
        let rejected_by_coordinator = true;
        assert_eq!(error.detail, ErrorDetail::RateLimit { operation, rejected_by_coordinator });
        assert!(error.to_string().contains("rate limit"));
    }
    assert_eq!(detail(scylla, 0xF000, "00 01"), ErrorDetail::None);
}

/// cql 4: an error whose details cannot be read keeps its code and words.
#[test]
fn unreadable_details_do_not_hide_the_error() {
    for (number, body) in [
        (code::UNAVAILABLE, "00FF 00000003 00000001"),
        (code::UNAVAILABLE, "0004 0000"),
        (code::READ_FAILURE, "0004 00000001 00000002 7FFFFFFF 00"),
        (code::UNPREPARED, ""),
    ] {
        match detail(V5, number, body) {
            ErrorDetail::Unreadable(error) => assert!(error.offset >= 9, "{error:?}"),
            other => panic!("{other:?}"),
        }
    }
    match detail(V4, code::UNAVAILABLE, "00FF 00000003 00000001") {
        ErrorDetail::Unreadable(error) => {
            assert_eq!(error.problem, Problem::Unknown(0xFF));
            assert_eq!(error.to_string(), "cannot read a consistency at byte 9 of the body");
        }
        other => panic!("{other:?}"),
    }
}

/// cql 8: an unknown version is answered in a v5 header on stream 0, whatever was asked.
/// cql 1: decode such errors leniently.
#[test]
fn a_version_error_comes_in_another_version() {
    let text = "Invalid or unsupported protocol version (7); supported versions are (3/v3, 4/v4, 5/v5)";
    let body = format!("0000000A {:04X} '{text}'", text.len());
    let mut envelope = answer(V5, 0, Opcode::Error, &body);
    for (version, stream) in [(5, 0), (4, 0), (66, -1), (3, 7)] {
        envelope.header.version = version;
        envelope.header.stream = stream;
        let answer = response::parse(envelope.clone(), Dialect::new(V4), None).unwrap();
        let Response::Error(error) = answer.response else { panic!() };
        assert!(error.is_version_error());
        assert_eq!(error.message.as_bytes(), &golden(&body)[6..]);
    }
    assert!(!error(V4, code::PROTOCOL, "").is_version_error());
    envelope.body = Bytes::from(golden(&format!("00002200 {:04X} '{text}'", text.len())));
    let answer = response::parse(envelope, Dialect::new(V4), None).unwrap();
    let Response::Error(error) = answer.response else { panic!() };
    assert!(!error.is_version_error(), "an invalid statement may cite anything");
}

/// cql 8: the details of an error are in the version of its own header.
#[test]
fn details_are_in_the_version_of_the_header() {
    let body = format!("00001300 0000 {QUORUM} 00000001 04 7F000001 0001 01");
    let envelope = answer(V5, 0, Opcode::Error, &body);
    let answer = response::parse(envelope, Dialect::new(V4), None).unwrap();
    let Response::Error(error) = answer.response else { panic!() };
    match error.detail {
        ErrorDetail::ReadFailure { failures, data_present, .. } => {
            assert_eq!((failures.count(), data_present), (1, true));
        }
        other => panic!("{other:?}"),
    }
}
