//! What writing a request and reading its answer costs, as bytes only, in v4 and v5.
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench; criterion's macros make undocumented items")]

use std::{hint::black_box, sync::Arc};

use bytes::{Bytes, BytesMut};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use messina::protocol::{
    DEFAULT_MAX_BODY, Dialect, Envelope, Header, ProtocolVersion, SegmentDecoder, SegmentEncoder, Values, envelope,
    request::{Execute, QueryParams, write_envelope},
    response::{self, Response, ResultMetadata, ResultResponse},
};
use scylla_cql_core::frame::response::result::{ColumnSpec, ColumnType, NativeType, TableSpec};

const ID: [u8; 16] = [7; 16];

fn values() -> Values {
    let table = TableSpec::borrowed("ks", "users");
    let columns = [ColumnSpec::borrowed("id", ColumnType::Native(NativeType::Int), table)];
    Values::serialize(&columns, &(7_i32,)).unwrap()
}

fn execute(values: &Values, dialect: Dialect, out: &mut Vec<u8>) {
    let params = QueryParams { skip_metadata: true, ..QueryParams::with_values(values) };
    let id = dialect.has_metadata_id().then_some(&ID[..]);
    write_envelope(&Execute { id: &ID, result_metadata_id: id, params }, dialect, 1, out).unwrap();
}

/// ROWS of one row with one blob of 100 bytes, its metadata said (`described`) or left out.
fn rows(version: u8, described: bool) -> Bytes {
    let mut body = Vec::new();
    body.extend(2_i32.to_be_bytes());
    body.extend(if described { 1_i32 } else { 4 }.to_be_bytes());
    body.extend(1_i32.to_be_bytes());
    if described {
        for name in ["ks", "users", "name"] {
            body.extend((name.len() as u16).to_be_bytes());
            body.extend(name.as_bytes());
        }
        body.extend(3_u16.to_be_bytes());
    }
    body.extend(1_i32.to_be_bytes());
    body.extend(100_i32.to_be_bytes());
    body.extend([9; 100]);
    let mut out = Vec::new();
    Header { version, response: true, flags: 0, stream: 1, opcode: 8, length: body.len() as u32 }.write(&mut out);
    out.extend(body);
    out.into()
}

fn parse(envelope: Envelope, dialect: Dialect, known: Option<&Arc<ResultMetadata>>) -> response::Rows {
    match response::parse(envelope, dialect, known).unwrap().response {
        Response::Result(ResultResponse::Rows(rows)) => rows,
        other => panic!("{other:?}"),
    }
}

fn codec(c: &mut Criterion) {
    let values = values();
    for version in [ProtocolVersion::V4, ProtocolVersion::V5] {
        let dialect = Dialect::new(version);
        c.bench_function(&format!("{version}: write EXECUTE"), |b| {
            let mut out = Vec::with_capacity(1024);
            b.iter(|| {
                out.clear();
                execute(black_box(&values), dialect, &mut out);
                out.len()
            });
        });

        let described = rows(version.as_u8(), true);
        let first = envelope::decode(&mut BytesMut::from(&described[..]), DEFAULT_MAX_BODY).unwrap().unwrap();
        let known = Arc::clone(parse(first, dialect, None).metadata());
        let answer = rows(version.as_u8(), false);
        let mut wire = Vec::new();
        if version == ProtocolVersion::V5 {
            SegmentEncoder::new(false).encode(&answer, &mut wire).unwrap();
        } else {
            wire.extend_from_slice(&answer);
        }
        c.bench_function(&format!("{version}: read ROWS, metadata known"), |b| {
            let mut segments = SegmentDecoder::new(false, DEFAULT_MAX_BODY);
            b.iter_batched(
                || BytesMut::from(&wire[..]),
                |mut buf| {
                    let envelope = if version == ProtocolVersion::V5 {
                        segments.decode(&mut buf)
                    } else {
                        envelope::decode(&mut buf, DEFAULT_MAX_BODY)
                    };
                    let rows = parse(envelope.unwrap().unwrap(), dialect, Some(&known));
                    let (blob,) = rows.typed::<(&[u8],)>().unwrap().next().unwrap().unwrap();
                    blob.len()
                },
                BatchSize::SmallInput,
            );
        });
        c.bench_function(&format!("{version}: write 64 EXECUTEs for the wire"), |b| {
            let mut segments = SegmentEncoder::new(false);
            let (mut out, mut wire) = (Vec::with_capacity(8192), Vec::with_capacity(8192));
            b.iter(|| {
                out.clear();
                wire.clear();
                for _ in 0..64 {
                    execute(&values, dialect, &mut out);
                }
                if version == ProtocolVersion::V5 {
                    segments.encode(&out, &mut wire).unwrap();
                }
                out.len() + wire.len()
            });
        });
    }
}

criterion_group!(benches, codec);
criterion_main!(benches);
