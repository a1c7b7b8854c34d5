//! Bytes that a real Cassandra 5.0 sent, and requests that it understood.

use std::sync::Arc;

use bytes::BytesMut;
use messina::protocol::ProtocolVersion::{self, V3, V4, V5};
use messina::protocol::request::{Execute, Prepare, Query, QueryParams, Register, Request, Startup, write_envelope};
use messina::protocol::response::{self, ErrorDetail, Prepared, ResultMetadata, ResultResponse, Rows};
use messina::protocol::version::versions_in_error;
use messina::protocol::{
    Compression, DEFAULT_MAX_BODY, Dialect, Envelope, Header, Opcode, Response, SegmentEncoder, Values, envelope,
};
use scylla_cql_core::frame::types::Consistency;
use scylla_cql_core::value::{Counter, Row};

use crate::support::{hex, read_segments};

/// An answer as it came, header and body.
fn answer(bytes: &str) -> Envelope {
    let mut buf = BytesMut::from(hex(bytes).as_slice());
    let answer = envelope::decode_response(&mut buf, DEFAULT_MAX_BODY).unwrap().unwrap();
    assert!(buf.is_empty());
    answer
}

fn parse_with(bytes: &str, version: ProtocolVersion, known: Option<&Arc<ResultMetadata>>) -> response::Answer {
    response::parse(answer(bytes), Dialect::new(version), known).unwrap()
}

fn parse(bytes: &str, version: ProtocolVersion) -> Response {
    parse_with(bytes, version, None).response
}

pub(crate) fn rows_with(bytes: &str, version: ProtocolVersion, known: Option<&Arc<ResultMetadata>>) -> Rows {
    match parse_with(bytes, version, known).response {
        Response::Result(ResultResponse::Rows(rows)) => rows,
        other => panic!("{other:?}"),
    }
}

fn prepared(bytes: &str, version: ProtocolVersion) -> Prepared {
    match parse(bytes, version) {
        Response::Result(ResultResponse::Prepared(prepared)) => *prepared,
        other => panic!("{other:?}"),
    }
}

/// A request as it was sent, header and body.
#[track_caller]
fn assert_sent(request: &dyn Request, version: ProtocolVersion, stream: i16, expected: &str) {
    let mut out = Vec::new();
    write_envelope(request, Dialect::new(version), stream, &mut out).unwrap();
    assert_eq!(out, hex(expected), "{version}");
}

/// cassandra: STARTUP, REGISTER and what answers them.
#[test]
fn a_handshake() {
    let startup = "000001000000160001000b43514c5f56455253494f4e0005332e302e30";
    let register =
        "0000310003000f544f504f4c4f47595f4348414e4745000d5354415455535f4348414e4745000d534348454d415f4348414e4745";
    for version in ProtocolVersion::ALL {
        let number = version.as_u8();
        let startup = startup.replacen("00000100000016", &format!("{number:02x}0000020100000016"), 1);
        assert_sent(&Startup::new(), version, 2, &startup);
        let events = ["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"];
        let register = format!("{number:02x}0000020b00{register}");
        assert_sent(&Register { events: &events }, version, 2, &register);
        assert!(matches!(parse(&format!("{:02x}0000020200000000", 0x80 | number), version), Response::Ready));
        let supported = format!(
            "{:02x}00000106000000660003001150524f544f434f4c5f56455253494f4e5300040004332f76330004342f76340004352f76350009\
             362f76362d62657461000b434f4d5052455353494f4e00020006736e6170707900036c7a34000b43514c5f56455253494f4e000100\
             05332e342e37",
            0x80 | number
        );
        match parse(&supported, version) {
            Response::Supported(supported) => {
                assert_eq!(supported.highest_common_version(V5), Some(V5));
                assert_eq!(supported.get("COMPRESSION").unwrap(), ["snappy", "lz4"]);
                assert_eq!(supported.first("CQL_VERSION"), Some("3.4.7"));
            }
            other => panic!("{other:?}"),
        }
    }
    let authenticate = "840000010300000031002f6f72672e6170616368652e63617373616e6472612e617574682e50617373776f726441\
                        757468656e74696361746f72";
    match parse(authenticate, V4) {
        Response::Authenticate { authenticator } => {
            assert_eq!(authenticator, "org.apache.cassandra.auth.PasswordAuthenticator");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(parse("840000021000000004ffffffff", V4), Response::AuthSuccess { token: None }));
}

/// cassandra: trouble with the version, in headers of other versions, on the request's stream or on stream 0.
#[test]
fn version_errors() {
    let beta = "8610002a000000004f0000000a0049426574612076657273696f6e206f66207468652070726f746f636f6c20757365642028362f7636\
                2d62657461292c20627574205553455f4245544120666c616720697320756e736574";
    let unknown = "8500000100000000670000000a0061496e76616c6964206f7220756e737570706f727465642070726f746f636f6c20766572\
                   73696f6e202837293b20737570706f727465642076657273696f6e73206172652028332f76332c20342f76342c20352f7635\
                   2c20362f76362d6265746129";
    let refused = "85000000000000002d0000000a002752656a656374696e672050726f746f636f6c2056657273696f6e20342f7634203c2035\
                   2f76352e";
    for (bytes, versions) in [(beta, None), (unknown, Some(vec![V3, V4, V5])), (refused, Some(vec![V5]))] {
        match parse(bytes, V4) {
            Response::Error(error) => {
                assert!(error.is_version_error(), "{error}");
                assert_eq!(versions_in_error(&error.message), versions);
            }
            other => panic!("{other:?}"),
        }
    }
    let early = "84000001000000003c0000000a0036556e6578706563746564206d6573736167652051554552592c20657870656374696e672053\
                 544152545550206f72204f5054494f4e53";
    match parse(early, V4) {
        Response::Error(error) => assert!(!error.is_version_error()),
        other => panic!("{other:?}"),
    }
}

/// cassandra: errors with details.
#[test]
fn errors() {
    let detail = |bytes| match parse(bytes, V4) {
        Response::Error(error) => error.detail,
        other => panic!("{other:?}"),
    };
    let exists = "8400000700000000410000240000\
                  3543616e6e6f742061646420616c7265616479206578697374696e67207461626c652022742220746f206b65797370616365\
                  20226522000165000174";
    let (keyspace, table) = ("e".to_owned(), "t".to_owned());
    assert_eq!(detail(exists), ErrorDetail::AlreadyExists { keyspace, table });
    let unavailable = "840000090000000037000010000027\
                       43616e6e6f74206163686965766520636f6e73697374656e6379206c6576656c2051554f52554d\
                       00040000000200000001";
    let consistency = Consistency::Quorum;
    assert_eq!(detail(unavailable), ErrorDetail::Unavailable { consistency, required: 2, alive: 1 });
    let missing =
        "84000004000000002a0000220000244b6579737061636520276e6f6b657973706163652720646f6573206e6f74206578697374";
    assert_eq!(detail(missing), ErrorDetail::None);
}

/// cassandra: a counter, a warning, a tracing id, and a page that is not the last.
#[test]
fn other_rows() {
    let counter =
        "8400000b080000002a000000020000000100000001000274790003636e7400016e000500000001000000080000000000000005";
    let rows = rows_with(counter, V4, None);
    assert_eq!(rows.typed::<(Counter,)>().unwrap().next().unwrap().unwrap(), (Counter(5),));

    let warned = "84080010080000005e0001002c4167677265676174696f6e207175657279207573656420776974686f757420706172746974696f6e\
                  206b657900000002000000010000000100027479000374776f0005636f756e740002000000010000000800000000000000\
                  02";
    let warned = parse_with(warned, V4, None);
    assert_eq!(warned.warnings, ["Aggregation query used without partition key"]);
    let traced = "8402000e08000000362d63a580ec5011f182c685b25774bb6500000002000000010000000100027479000374776f00016100\
                  09000000010000000400000001";
    let traced = parse_with(traced, V4, None);
    assert_eq!(traced.tracing_id.unwrap().to_string(), "2d63a580-ec50-11f1-82c6-85b25774bb65");

    let paged = "8400000c0800000085000000020000000300000001000000290b73797374656d5f61757468120010636964725f7065726d6973\
                 73696f6e73f07ffffffdf07ffffffd000d73797374656d5f736368656d6100067461626c6573000a7461626c655f6e616d\
                 65000d000000020000000b636964725f67726f75707300000010636964725f7065726d697373696f6e73";
    let paged = rows_with(paged, V4, None);
    assert_eq!(paged.paging_state().unwrap().len(), 41);
    let names: Vec<_> = paged.typed::<(&str,)>().unwrap().map(Result::unwrap).collect();
    assert_eq!(names, [("cidr_groups",), ("cidr_permissions",)]);
    let query = Query::new(
        "SELECT table_name FROM system_schema.tables",
        QueryParams { consistency: Consistency::One, page_size: Some(2), ..QueryParams::default() },
    );
    let text = "0000002b53454c454354207461626c655f6e616d652046524f4d2073797374656d5f736368656d612e7461626c6573";
    assert_sent(&query, V4, 12, &format!("0400000c0700000036{text}00010400000002"));
    assert_sent(&query, V5, 13, &format!("0500000d0700000039{text}00010000000400000002"));
}

/// cassandra: a statement is prepared and executed in every version.
#[test]
fn prepared_statements() {
    let text = "SELECT * FROM ty.two WHERE a = ? AND b = ?";
    let sent = "0000002a53454c454354202a2046524f4d2074792e74776f2057484552452061203d203f20414e442062203d203f";
    let id = "0010df61264d2bf5bab3bf21a261bd441bcb";
    let metadata_id = "00107c7847327fdf9192e996cdb4ed52e66e";
    let table = "00027479000374776f";
    let result = format!("0000000100000004{table}0001610009000162000d0001630002000176000d");
    let columns = format!("{table}0001610009000162000d");
    let key = "0000000200000001";
    let row = "00000001000000040000000700000001780000000800000000000000010000000376616c";
    let values = "0002000000040000000700000001 78";
    for (version, request, answer, execute) in [
        (
            V3,
            format!("03000004090000002e{sent}"),
            format!("83000004080000005600000004{id}0000000100000002{columns}{result}"),
            format!("030000060a00000024{id}000103{values}"),
        ),
        (
            V4,
            format!("04000004090000002e{sent}"),
            format!("84000004080000005e00000004{id}0000000100000002{key}{columns}{result}"),
            format!("040000060a00000024{id}000103{values}"),
        ),
        (
            V5,
            format!("050000040900000032{sent}00000000"),
            format!("85000004080000007000000004{id}{metadata_id}0000000100000002{key}{columns}{result}"),
            format!("050000060a00000039{id}{metadata_id}000100000003{values}"),
        ),
    ] {
        assert_sent(&Prepare::new(text), version, 4, &request);
        let prepared = prepared(&answer, version);
        assert_eq!(prepared.id, hex(id)[2..]);
        assert_eq!(prepared.result_metadata.columns().len(), 4);
        let values = Values::serialize(&prepared.metadata.col_specs, &(7_i32, "x")).unwrap();
        let params =
            QueryParams { consistency: Consistency::One, skip_metadata: true, ..QueryParams::with_values(&values) };
        let result_metadata_id = prepared.result_metadata_id.as_deref();
        let request = Execute { id: &prepared.id, result_metadata_id, params };
        assert_sent(&request, version, 6, &execute);
        let number = 0x80 | version.as_u8();
        let skipped = format!("{number:02x}0000060800000030000000020000000500000004{row}");
        let rows = rows_with(&skipped, version, Some(&prepared.result_metadata));
        assert!(Arc::ptr_eq(rows.metadata(), &prepared.result_metadata));
        let row = rows.typed::<(i32, &str, i64, &str)>().unwrap().next().unwrap().unwrap();
        assert_eq!(row, (7, "x", 1, "val"));
    }
    let changed = format!("85000007080000005f000000020000000900000004{metadata_id}{}{row}", &result[16..]);
    let rows = rows_with(&changed, V5, None);
    assert_eq!(rows.new_metadata_id().unwrap(), &hex(metadata_id)[2..]);
    let insert = "84000002080000004b0000000400100eb9dda5e1b95ce3790a55b947c796ac000000010000000400000002000200000002\
                  7479000374776f000162000d00016300020001610009000176000d0000000400000000";
    let insert = prepared(insert, V4);
    let key: Vec<_> = insert.metadata.pk_indexes.iter().map(|part| (part.index, part.sequence)).collect();
    assert_eq!(key, [(0, 1), (2, 0)]);
    assert!(insert.result_metadata.columns().is_empty());
}

/// cassandra: segments as they came, uncompressed and with LZ4.
#[test]
fn segments() {
    let plain = "410002d43eee850000020800000038000000020000000100000001000673797374656d00056c6f63616c000c636c757374\
                 65725f6e616d65000d0000000100000005747275746820a371ee";
    let lz4 = "400082000467be8af10285000001080000003800000002000000010400f10f0673797374656d00056c6f63616c000c636c757374\
               65725f6e616d65000d23008000000574727574682195cf70";
    for (bytes, lz4) in [(plain, false), (lz4, true)] {
        let (mut envelopes, whole) = read_segments(&hex(bytes), lz4, 1).unwrap();
        assert!(whole && envelopes.len() == 1);
        let answer = response::parse(envelopes.remove(0), Dialect::new(V5), None).unwrap();
        let Response::Result(ResultResponse::Rows(rows)) = answer.response else { panic!() };
        let names: Vec<_> = rows.typed::<(&str,)>().unwrap().map(Result::unwrap).collect();
        assert_eq!(names, [("truth",)]);
    }
    // What was sent was stored as it is, because it does not shrink.
    let sent = hex("3800000004671030050000010\
                    70000002f0000002553454c45435420636c75737465725f6e616d652046524f4d2073797374656d2e6c6f63616c00010000\
                    000053728d17");
    let (envelopes, whole) = read_segments(&sent, true, usize::MAX).unwrap();
    assert!(whole && envelopes[0].header.opcode() == Some(Opcode::Query));
    let query = Query::new(
        "SELECT cluster_name FROM system.local",
        QueryParams { consistency: Consistency::One, ..QueryParams::default() },
    );
    let mut envelope = Vec::new();
    write_envelope(&query, Dialect::new(V5), 1, &mut envelope).unwrap();
    let (mut plain, mut packed) = (Vec::new(), Vec::new());
    SegmentEncoder::new(false).encode(&envelope, &mut plain).unwrap();
    assert_eq!(read_segments(&plain, false, 1).unwrap().0, envelopes);
    SegmentEncoder::new(true).encode(&envelope, &mut packed).unwrap();
    assert_eq!(read_segments(&packed, true, 1).unwrap().0, envelopes);
}

/// cassandra: bodies as they came, with LZ4 and with Snappy.
#[test]
fn compressed_bodies() {
    let lz4 = include_str!("cassandra_lz4.txt");
    let snappy = include_str!("cassandra_snappy.txt");
    for (bytes, compression, keyspaces) in [(lz4, Compression::Lz4, 7), (snappy, Compression::Snappy, 7)] {
        let mut answer = answer(bytes.trim());
        assert!(answer.header.has(envelope::flags::COMPRESSED));
        answer.body = compression.decompress(&answer.body, DEFAULT_MAX_BODY).unwrap();
        answer.header = Header { flags: 0, length: answer.body.len() as u32, ..answer.header };
        let answer = response::parse(answer, Dialect::new(V4), None).unwrap();
        let Response::Result(ResultResponse::Rows(rows)) = answer.response else { panic!() };
        assert_eq!(rows.len(), keyspaces);
        assert!(rows.typed::<Row>().unwrap().all(|row| row.is_ok()));
    }
}
