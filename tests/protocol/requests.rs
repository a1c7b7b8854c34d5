//! Each request in each version, against bytes written by hand.

use bytes::Bytes;
use messina::protocol::ProtocolVersion::{V3, V4, V5};
use messina::protocol::request::{
    AuthResponse, Batch, BatchEntry, BatchStatement, Execute, MAX_BODY, Options, Prepare, Query, QueryParams, Register,
    Request, RequestError, Startup, WithExtras, write_envelope,
};
use messina::protocol::{Dialect, HEADER_LEN, Header, Payload, ProtocolVersion, Values};
use scylla_cql_core::frame::request::batch::BatchType;
use scylla_cql_core::frame::response::result::{ColumnType, NativeType};
use scylla_cql_core::frame::types::{Consistency, SerialConsistency};
use scylla_cql_core::value::Unset;

use crate::golden::{column, golden};

/// The body that is written, after the header was held against it.
fn body(request: &dyn Request, dialect: impl Into<Dialect>) -> Result<Vec<u8>, RequestError> {
    let dialect = dialect.into();
    let mut out = vec![0xAA];
    let written = write_envelope(request, dialect, 0x0203, &mut out);
    assert_eq!(written.is_err(), out.len() == 1, "an error writes nothing");
    written?;
    assert_eq!(out[0], 0xAA, "what stands before is kept");
    let header = Header::parse(out[1..].first_chunk().unwrap());
    assert_eq!((header.version, header.response), (dialect.version.as_u8(), false));
    assert_eq!((header.stream, header.opcode()), (0x0203, Some(request.opcode())));
    let body = out.split_off(1 + HEADER_LEN);
    assert_eq!(body.len(), header.length as usize);
    Ok(body)
}

#[track_caller]
fn assert_bytes(request: &dyn Request, dialect: impl Into<Dialect>, expected: &str) {
    let dialect = dialect.into();
    assert_eq!(body(request, dialect), Ok(golden(expected)), "{dialect:?}");
}

fn int_and_null() -> Values {
    let int = || ColumnType::Native(NativeType::Int);
    let columns = [column("a", int()), column("b", int())];
    Values::serialize(&columns, &(7_i32, None::<i32>)).unwrap()
}

fn every_param(values: &Values) -> QueryParams<'_> {
    QueryParams {
        consistency: Consistency::Quorum,
        serial_consistency: Some(SerialConsistency::LocalSerial),
        page_size: Some(100),
        paging_state: Some(b"ab"),
        timestamp: Some(-2),
        skip_metadata: true,
        now_in_seconds: None,
        values,
    }
}

/// cql 1: OPTIONS has no body, and looks the same in every version.
#[test]
fn options_are_nine_bytes() {
    for (version, expected) in
        [(V3, "03 00 0000 05 00000000"), (V4, "04 00 0000 05 00000000"), (V5, "05 00 0000 05 00000000")]
    {
        let mut out = Vec::new();
        write_envelope(&Options, Dialect::new(version), 0, &mut out).unwrap();
        assert_eq!(out, golden(expected));
    }
}

/// cql 1: STARTUP is a map of strings that has CQL_VERSION.
#[test]
fn startup_is_a_string_map() {
    let startup = Startup::new().with("COMPRESSION", "lz4").with("DRIVER_NAME", "x").with("DRIVER_NAME", "Messina");
    for version in ProtocolVersion::ALL {
        assert_bytes(
            &startup,
            version,
            "0003 000B 'CQL_VERSION' 0005 '3.0.0' 000B 'COMPRESSION' 0003 'lz4'
             000B 'DRIVER_NAME' 0007 'Messina'",
        );
    }
}

/// cql 1: AUTH_RESPONSE is bytes, which may be null; its secret is not shown.
#[test]
fn auth_response_is_bytes() {
    let token = AuthResponse { token: Some(b"\0user\0secret") };
    for version in ProtocolVersion::ALL {
        assert_bytes(&token, version, "0000000C 00 'user' 00 'secret'");
        assert_bytes(&AuthResponse { token: None }, version, "FFFFFFFF");
        assert_bytes(&AuthResponse { token: Some(b"") }, version, "00000000");
    }
    assert!(!format!("{token:?}").contains("secret"));
}

/// cql 1: REGISTER is a list of strings.
#[test]
fn register_is_a_string_list() {
    let register = Register { events: &["STATUS_CHANGE", "TOPOLOGY_CHANGE"] };
    for version in ProtocolVersion::ALL {
        assert_bytes(&register, version, "0002 000D 'STATUS_CHANGE' 000F 'TOPOLOGY_CHANGE'");
        assert_bytes(&Register { events: &[] }, version, "0000");
    }
}

/// cql 3: QUERY's flags take one byte up to v4, and four in v5.
#[test]
fn query_matches_its_bytes() {
    let plain = Query::new("SELECT 1", QueryParams::default());
    assert_bytes(&plain, V3, "00000008 'SELECT 1' 0006 00");
    assert_bytes(&plain, V4, "00000008 'SELECT 1' 0006 00");
    assert_bytes(&plain, V5, "00000008 'SELECT 1' 0006 00000000");

    let values = int_and_null();
    let mut full = Query::new("X", every_param(&values));
    let narrow = "00000001 'X' 0004 3F 0002 00000004 00000007 FFFFFFFF 00000064
                  00000002 'ab' 0009 FFFFFFFFFFFFFFFE";
    assert_bytes(&full, V3, narrow);
    assert_bytes(&full, V4, narrow);
    full.keyspace = Some("ks");
    full.params.now_in_seconds = Some(5);
    assert_bytes(
        &full,
        V5,
        "00000001 'X' 0004 000001BF 0002 00000004 00000007 FFFFFFFF 00000064
         00000002 'ab' 0009 FFFFFFFFFFFFFFFE 0002 'ks' 00000005",
    );
}

/// cql 3: QUERY may name its values.
#[test]
fn query_with_named_values_matches_its_bytes() {
    let mut values = Values::default();
    let int = ColumnType::Native(NativeType::Int);
    values.push_named("id", &7_i32, &int).unwrap();
    values.push_named("x", &Unset, &int).unwrap();
    let query = Query::new("X", QueryParams::with_values(&values));
    let named = "0002 0002 'id' 00000004 00000007 0001 'x' FFFFFFFE";
    assert_bytes(&query, V4, &format!("00000001 'X' 0006 41 {named}"));
    assert_bytes(&query, V5, &format!("00000001 'X' 0006 00000041 {named}"));
}

/// cql 3: PREPARE is its text up to v4; v5 adds flags, of which bit 1 announces a keyspace.
#[test]
fn prepare_matches_its_bytes() {
    let mut prepare = Prepare::new("SELECT 1");
    assert_bytes(&prepare, V3, "00000008 'SELECT 1'");
    assert_bytes(&prepare, V4, "00000008 'SELECT 1'");
    assert_bytes(&prepare, V5, "00000008 'SELECT 1' 00000000");
    prepare.keyspace = Some("ks");
    assert_bytes(&prepare, V5, "00000008 'SELECT 1' 00000001 0002 'ks'");
}

/// cql 3: EXECUTE names the result metadata it knows in v5, and in v4 with ScyllaDB's extension.
/// cql 6: SCYLLA_USE_METADATA_ID gives v4 the result-metadata id of v5.
#[test]
fn execute_matches_its_bytes() {
    let values = int_and_null();
    let execute = Execute { id: b"ID", result_metadata_id: Some(b"META"), params: every_param(&values) };
    let narrow = "0004 3F 0002 00000004 00000007 FFFFFFFF 00000064 00000002 'ab' 0009 FFFFFFFFFFFFFFFE";
    assert_bytes(&execute, V3, &format!("0002 'ID' {narrow}"));
    assert_bytes(&execute, V4, &format!("0002 'ID' {narrow}"));
    let scylla = Dialect::new(V4).with_metadata_id_extension(true);
    assert_bytes(&execute, scylla, &format!("0002 'ID' 0004 'META' {narrow}"));
    let wide = narrow.replacen("3F", "0000003F", 1);
    assert_bytes(&execute, V5, &format!("0002 'ID' 0004 'META' {wide}"));

    let without = Execute { result_metadata_id: None, ..execute };
    assert_eq!(body(&without, V5), Err(RequestError::NoMetadataId));
    assert_eq!(body(&without, scylla), Err(RequestError::NoMetadataId));
}

/// cql 3: BATCH, with its flags and what only v5 can say.
#[test]
fn batch_matches_its_bytes() {
    let values = int_and_null();
    let entries = [
        BatchEntry { statement: BatchStatement::Text("A"), values: Values::EMPTY },
        BatchEntry { statement: BatchStatement::Prepared(b"ID"), values: &values },
    ];
    let mut batch = Batch::new(&entries);
    let start = "00 0002 00 00000001 'A' 0000 01 0002 'ID' 0002 00000004 00000007 FFFFFFFF";
    assert_bytes(&batch, V3, &format!("{start} 0006 00"));
    assert_bytes(&batch, V5, &format!("{start} 0006 00000000"));
    batch.kind = BatchType::Counter;
    batch.serial_consistency = Some(SerialConsistency::Serial);
    batch.timestamp = Some(1);
    let start = start.replacen("00", "02", 1);
    assert_bytes(&batch, V4, &format!("{start} 0006 30 0008 0000000000000001"));
    batch.keyspace = Some("ks");
    batch.now_in_seconds = Some(5);
    assert_bytes(&batch, V5, &format!("{start} 0006 000001B0 0008 0000000000000001 0002 'ks' 00000005"));
}

/// cql 1: a payload is the only prefix of a request; the wish to be traced adds no bytes.
#[test]
fn extras_are_a_flag_and_a_prefix() {
    let mut payload = Payload::new();
    payload.push("k", Some(Bytes::from_static(b"value")));
    payload.push("null", None);
    let mut traced = WithExtras { request: Prepare::new("X"), tracing: true, payload: Some(&payload) };
    let expected = "0002 0001 'k' 00000005 'value' 0004 'null' FFFFFFFF 00000001 'X'";
    assert_bytes(&traced, V4, expected);
    assert_eq!(traced.header_flags(), 0x06);
    let needs = RequestError::NeedsVersion { what: "a custom payload", needs: V4, version: V3 };
    assert_eq!(body(&traced, V3), Err(needs));

    let nothing = Payload::new();
    traced.payload = Some(&nothing);
    assert_bytes(&traced, V3, "00000001 'X'");
    assert_eq!(traced.header_flags(), 0x02);
    traced.tracing = false;
    assert_eq!(traced.header_flags(), 0x00);
}

/// cql 3: what an older version cannot say is refused, not left out.
#[test]
fn what_a_version_cannot_say_is_refused() {
    let refused = |request: &dyn Request, version| match body(request, version) {
        Err(RequestError::NeedsVersion { what, needs, version: spoken }) => {
            assert_eq!(spoken, version);
            (what, needs)
        }
        other => panic!("{other:?}"),
    };
    let mut query = Query::new("X", QueryParams::default());
    query.keyspace = Some("ks");
    assert_eq!(refused(&query, V4), ("a keyspace beside the statement", V5));
    query.keyspace = None;
    query.params.now_in_seconds = Some(1);
    assert_eq!(refused(&query, V4), ("\"now in seconds\"", V5));
    let prepare = Prepare { text: "X", keyspace: Some("ks") };
    assert_eq!(refused(&prepare, V3), ("a keyspace beside the statement", V5));

    let int = column("a", ColumnType::Native(NativeType::Int));
    let unset = Values::serialize(&[int], &(Unset,)).unwrap();
    let query = Query::new("X", QueryParams::with_values(&unset));
    assert_eq!(refused(&query, V3), ("an unset value", V4));
    assert_bytes(&query, V4, "00000001 'X' 0006 01 0001 FFFFFFFE");
    let entries = [BatchEntry { statement: BatchStatement::Text("A"), values: &unset }];
    assert_eq!(refused(&Batch::new(&entries), V3), ("an unset value", V4));
}

/// cql 1: what is too long or too much is refused, not cut.
#[test]
fn what_is_too_large_is_refused() {
    let long = "x".repeat(65_536);
    let startup = Startup::new().with("KEY", long.as_str());
    let too_long = |what, length, limit| Err(RequestError::TooLong { what, length, limit });
    let what = "the value of a startup option";
    assert_eq!(body(&startup, V4), too_long(what, 65_536, 65_535));
    let what = "the name of the keyspace";
    let query = Query { keyspace: Some(&long), ..Query::new("X", QueryParams::default()) };
    assert_eq!(body(&query, V5), too_long(what, 65_536, 65_535));
    let execute = Execute { id: long.as_bytes(), result_metadata_id: None, params: QueryParams::default() };
    let what = "the id of a prepared statement";
    assert_eq!(body(&execute, V4), too_long(what, 65_536, 65_535));

    let events = vec!["E"; 65_536];
    let too_many = |what| Err(RequestError::TooMany { what, count: 65_536, limit: 65_535 });
    assert_eq!(body(&Register { events: &events }, V4), too_many("event types"));
    let entry = BatchEntry { statement: BatchStatement::Text("A"), values: Values::EMPTY };
    let entries = vec![entry; 65_536];
    assert_eq!(body(&Batch::new(&entries), V4), too_many("statements in the batch"));
    let payload: Payload = (0..65_536).map(|key: u32| (key.to_string(), None)).collect();
    let extras = WithExtras { request: Options, tracing: false, payload: Some(&payload) };
    assert_eq!(body(&extras, V4), too_many("entries in the custom payload"));

    let text = "x".repeat(MAX_BODY - 7);
    let query = Query::new(&text, QueryParams::default());
    assert_eq!(query.body_len(Dialect::new(V4)), Ok(MAX_BODY));
    let what = "the body of the request";
    let too_long = RequestError::TooLong { what, length: MAX_BODY + 3, limit: MAX_BODY };
    assert_eq!(query.body_len(Dialect::new(V5)), Err(too_long));
}

/// cql 3: a page has at least one row.
#[test]
fn a_page_without_rows_is_refused() {
    for page_size in [0, -1, i32::MIN] {
        let params = QueryParams { page_size: Some(page_size), ..QueryParams::default() };
        assert_eq!(body(&Query::new("X", params), V4), Err(RequestError::PageSize(page_size)));
    }
}

/// cql 3: values in a batch have no names.
#[test]
fn named_values_in_a_batch_are_refused() {
    let mut values = Values::default();
    values.push_named("a", &1_i32, &ColumnType::Native(NativeType::Int)).unwrap();
    let entries = [BatchEntry { statement: BatchStatement::Text("A"), values: &values }];
    assert_eq!(body(&Batch::new(&entries), V4), Err(RequestError::NamedInBatch));
}

/// cql 1: writing into a buffer that has room allocates nothing.
#[test]
fn writing_an_execute_needs_no_allocation() {
    let values = int_and_null();
    let execute = Execute { id: &[7; 16], result_metadata_id: None, params: every_param(&values) };
    let dialect = Dialect::new(V4);
    let length = execute.body_len(dialect).unwrap();
    let mut out = Vec::with_capacity(length);
    let place = out.as_ptr();
    execute.write_body(dialect, &mut out);
    assert_eq!((out.len(), out.as_ptr()), (length, place));
}
