//! Answers of a handshake, prefixes, and events.

use bytes::Bytes;
use messina::protocol::ProtocolVersion::{self, V3, V4, V5};
use messina::protocol::envelope::flags;
use messina::protocol::response::event::{SchemaChangeKind, SchemaTarget, StatusChange, TopologyChange};
use messina::protocol::response::{self, Event, Problem, ResultResponse, SchemaChange, Supported};
use messina::protocol::{Dialect, Opcode, Response};

use crate::golden::{answer, read, read_result};

/// cql 1: READY, AUTHENTICATE, AUTH_CHALLENGE and AUTH_SUCCESS, the same in every version.
#[test]
fn the_answers_of_a_handshake() {
    for version in ProtocolVersion::ALL {
        assert!(matches!(read(version, Opcode::Ready, ""), Ok(Response::Ready)));
        match read(version, Opcode::Authenticate, "0004 'Auth'") {
            Ok(Response::Authenticate { authenticator }) => assert_eq!(authenticator, "Auth"),
            other => panic!("{other:?}"),
        }
        match read(version, Opcode::AuthChallenge, "00000002 'ab'") {
            Ok(Response::AuthChallenge { token }) => assert_eq!(token.as_deref(), Some(&b"ab"[..])),
            other => panic!("{other:?}"),
        }
        match read(version, Opcode::AuthSuccess, "FFFFFFFF") {
            Ok(Response::AuthSuccess { token }) => assert_eq!(token, None),
            other => panic!("{other:?}"),
        }
    }
}

fn supported(body: &str) -> Supported {
    match read(V4, Opcode::Supported, body) {
        Ok(Response::Supported(supported)) => supported,
        other => panic!("{other:?}"),
    }
}

/// cql 1: SUPPORTED is a map of lists.
/// cql 8: SUPPORTED carries PROTOCOL_VERSIONS whatever version asks.
#[test]
fn supported_is_a_map_of_lists() {
    let supported = supported(
        "0003 0011 'PROTOCOL_VERSIONS' 0004 0004 '3/v3' 0004 '4/v4' 0004 '5/v5' 0009 '6/v6-beta'
         000B 'COMPRESSION' 0002 0006 'snappy' 0003 'lz4' 0005 'EMPTY' 0000",
    );
    assert_eq!(supported.get("COMPRESSION").unwrap(), ["snappy", "lz4"]);
    assert_eq!(supported.first("COMPRESSION"), Some("snappy"));
    assert!(supported.contains("EMPTY") && supported.first("EMPTY").is_none());
    assert!(!supported.contains("CQL_VERSION"));
    assert_eq!(supported.iter().count(), 3);
    assert!(supported.lists_versions());
    assert_eq!(supported.highest_common_version(V5), Some(V5));
    assert_eq!(supported.highest_common_version(V4), Some(V4));
    assert_eq!(supported.dialect(V4), Dialect::new(V4));
}

/// cql 6: ScyllaDB's extensions of the bytes are read from SUPPORTED and echoed in STARTUP.
#[test]
fn extensions_are_agreed_on() {
    let supported: Supported = [
        ("SCYLLA_RATE_LIMIT_ERROR", "ERROR_CODE=61440"),
        ("SCYLLA_LWT_ADD_METADATA_MARK", "LWT_OPTIMIZATION_META_BIT_MASK=2147483648"),
        ("SCYLLA_USE_METADATA_ID", ""),
        ("SCYLLA_SHARD", "3"),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), vec![value.to_owned()]))
    .collect();
    let dialect = supported.dialect(V4);
    assert_eq!(dialect.rate_limit_code, Some(0xF000));
    assert_eq!(dialect.lwt_mask, Some(0x8000_0000));
    assert!(dialect.metadata_id_extension && dialect.has_metadata_id());
    assert_eq!(
        Supported::startup_options(dialect),
        [
            ("SCYLLA_USE_METADATA_ID", String::new()),
            ("SCYLLA_RATE_LIMIT_ERROR", String::new()),
            ("SCYLLA_LWT_ADD_METADATA_MARK", "LWT_OPTIMIZATION_META_BIT_MASK=2147483648".to_owned()),
        ]
    );
    assert!(!supported.dialect(V5).metadata_id_extension && supported.dialect(V5).has_metadata_id());
    assert!(Supported::startup_options(Dialect::new(V4)).is_empty());
    let odd: Supported =
        [("SCYLLA_RATE_LIMIT_ERROR".to_owned(), vec!["ERROR_CODE=x".to_owned()])].into_iter().collect();
    assert_eq!(odd.dialect(V4), Dialect::new(V4));
}

/// cql 1: tracing id, warnings and payload stand before the body, in this order.
#[test]
fn prefixes_come_in_order() {
    let all = flags::TRACING | flags::WARNINGS | flags::CUSTOM_PAYLOAD;
    let tracing = "000102030405060708090A0B0C0D0E0F";
    let body = format!("{tracing} 0002 0001 'a' 0002 'bc' 0002 0001 'k' 00000002 'xy' 0001 'n' FFFFFFFF 00000001",);
    let answer_with =
        |flags, body: &str| response::parse(answer(V4, flags, Opcode::Result, body), Dialect::new(V4), None).unwrap();
    let full = answer_with(all, &body);
    assert_eq!(full.tracing_id.unwrap().to_string(), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    assert_eq!(full.warnings, ["a", "bc"]);
    assert_eq!(full.payload.get("k"), Some(&Bytes::from_static(b"xy")));
    assert!(full.payload.contains("n") && full.payload.get("n").is_none());
    assert!(matches!(full.response, Response::Result(ResultResponse::Void)));
    let none = answer_with(0, "00000001");
    assert!(none.tracing_id.is_none() && none.warnings.is_empty() && none.payload.is_empty());
}

/// cql 1: only an ERROR may come in another version; a request is no answer; nothing may be left compressed.
#[test]
fn headers_that_cannot_be_answers_are_refused() {
    let refused =
        |envelope, dialect: ProtocolVersion| response::parse(envelope, dialect.into(), None).unwrap_err().problem;
    let ready = |flags| answer(V5, flags, Opcode::Ready, "");
    assert_eq!(refused(ready(0), V4), Problem::OtherVersion { came: 5, spoken: 4 });
    let mut request = ready(0);
    request.header.response = false;
    assert_eq!(refused(request, V5), Problem::Request);
    assert_eq!(refused(answer(V5, 0, Opcode::Query, ""), V5), Problem::Request);
    let mut unknown = ready(0);
    unknown.header.opcode = 0x42;
    assert_eq!(refused(unknown, V5), Problem::Unknown(0x42));
    let compressed = answer(V4, flags::COMPRESSED, Opcode::Ready, "");
    assert_eq!(refused(compressed, V4), Problem::Compressed);
    let meaningless = response::parse(ready(flags::COMPRESSED), V5.into(), None);
    assert!(meaningless.is_ok(), "the flag has no meaning in v5");
}

fn event(body: &str) -> Event {
    match read(V4, Opcode::Event, body) {
        Ok(Response::Event(event)) => event,
        other => panic!("{other:?}"),
    }
}

/// cql 5: topology and status events, with addresses of both families.
#[test]
fn node_events() {
    let topology = |change: &str, address: &str| {
        event(&format!("000F 'TOPOLOGY_CHANGE' {:04X} '{change}' {address}", change.len()))
    };
    let v4 = "04 7F000001 00002352";
    let address = "127.0.0.1:9042".parse().unwrap();
    for (name, change) in [
        ("NEW_NODE", TopologyChange::New),
        ("REMOVED_NODE", TopologyChange::Removed),
        ("MOVED_NODE", TopologyChange::Moved),
        ("LOST_NODE", TopologyChange::Other("LOST_NODE".to_owned())),
    ] {
        assert_eq!(topology(name, v4), Event::Topology { change, address });
    }
    let status = |change: &str| {
        let v6 = "10 00000000000000000000000000000001 00002352";
        event(&format!("000D 'STATUS_CHANGE' {:04X} '{change}' {v6}", change.len()))
    };
    let address = "[::1]:9042".parse().unwrap();
    for (name, change) in
        [("UP", StatusChange::Up), ("DOWN", StatusChange::Down), ("ODD", StatusChange::Other("ODD".to_owned()))]
    {
        assert_eq!(status(name), Event::Status { change, address });
    }
}

/// cql 5: an address has 4 or 16 bytes, and a port fits 16 bits.
#[test]
fn addresses_are_checked() {
    let problem = |inet: &str| {
        let body = format!("000D 'STATUS_CHANGE' 0002 'UP' {inet}");
        read(V4, Opcode::Event, &body).unwrap_err().problem
    };
    assert_eq!(problem("05 7F00000100 00002352"), Problem::AddressLength(5));
    assert_eq!(problem("04 7F000001 00010000"), Problem::Unknown(65_536));
    assert_eq!(problem("04 7F000001 FFFFFFFF"), Problem::Unknown(-1));
}

/// cql 5: changes of the schema, told by events and by results.
/// cql 3: functions and aggregates come with their argument types.
#[test]
fn schema_changes() {
    let change = |body: &str| {
        let told = event(&format!("000D 'SCHEMA_CHANGE' {body}"));
        let result = read_result(V4, &format!("00000005 {body}")).unwrap();
        match (told, result) {
            (Event::Schema(told), ResultResponse::SchemaChange(result)) => {
                assert_eq!(told, result);
                told
            }
            other => panic!("{other:?}"),
        }
    };
    let (keyspace, name) = ("ks".to_owned(), "x".to_owned());
    let arguments = vec!["int".to_owned(), "text".to_owned()];
    assert_eq!(
        change("0007 'CREATED' 0008 'KEYSPACE' 0002 'ks'"),
        SchemaChange {
            change: SchemaChangeKind::Created,
            target: SchemaTarget::Keyspace { keyspace: keyspace.clone() },
        }
    );
    assert_eq!(
        change("0007 'UPDATED' 0005 'TABLE' 0002 'ks' 0001 'x'"),
        SchemaChange {
            change: SchemaChangeKind::Updated,
            target: SchemaTarget::Table { keyspace: keyspace.clone(), name: name.clone() },
        }
    );
    assert_eq!(
        change("0007 'DROPPED' 0004 'TYPE' 0002 'ks' 0001 'x'").target,
        SchemaTarget::Type { keyspace: keyspace.clone(), name: name.clone() },
    );
    assert_eq!(
        change("0007 'DROPPED' 0008 'FUNCTION' 0002 'ks' 0001 'x' 0002 0003 'int' 0004 'text'").target,
        SchemaTarget::Function { keyspace: keyspace.clone(), name: name.clone(), arguments: arguments.clone() },
    );
    assert_eq!(
        change("0003 'ODD' 0009 'AGGREGATE' 0002 'ks' 0001 'x' 0002 0003 'int' 0004 'text'"),
        SchemaChange {
            change: SchemaChangeKind::Other("ODD".to_owned()),
            target: SchemaTarget::Aggregate { keyspace: keyspace.clone(), name, arguments },
        }
    );
    let target = "THING".to_owned();
    assert_eq!(change("0007 'CREATED' 0005 'THING' 0002 'ks'").target, SchemaTarget::Other { target, keyspace },);
}

/// cql 5: routes, and events that are not known.
#[test]
fn other_events() {
    let routes = "0014 'CLIENT_ROUTES_CHANGE' 000C 'UPDATE_NODES' 0001 0001 'c' 0002 0001 'h' 0001 'i'";
    assert_eq!(
        event(routes),
        Event::ClientRoutes {
            change: "UPDATE_NODES".to_owned(),
            connection_ids: vec!["c".to_owned()],
            host_ids: vec!["h".to_owned(), "i".to_owned()],
        }
    );
    let unknown = Event::Unknown { event_type: "NEWS".to_owned() };
    assert_eq!(event("0004 'NEWS' 0001 02"), unknown);
}

/// cql 1: what follows a known body is left alone, to leave room for what is new.
#[test]
fn more_than_is_known_is_left_alone() {
    assert!(read(V3, Opcode::Ready, "0102").is_ok());
    assert!(read(V4, Opcode::Authenticate, "0001 'A' 0102").is_ok());
    assert!(read_result(V4, "00000003 0002 'ks' 0102").is_ok());
}
