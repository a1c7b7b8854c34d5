//! What servers answer.

use std::sync::Arc;

use scylla_cql_core::frame::response::result::ColumnSpec;

use super::request::Params;
use crate::protocol::envelope::flags;
use crate::protocol::{Dialect, Opcode};
use crate::testkit::answer::{Body, put_error, put_prefixes};
use crate::testkit::prime::Prime;
use crate::testkit::rows::Page;
use crate::testkit::types::{self, count, put_bytes, put_int, put_short, put_short_bytes, put_string};
use crate::testkit::{Answer, Rows};

/// An answer, ready to get a header.
#[derive(Debug)]
pub(in crate::testkit) struct Written {
    pub(in crate::testkit) opcode: u8,
    pub(in crate::testkit) flags: u8,
    pub(in crate::testkit) body: Vec<u8>,
}

impl Written {
    pub(in crate::testkit) fn new(opcode: Opcode, body: Vec<u8>) -> Self {
        Self { opcode: opcode.as_u8(), flags: 0, body }
    }

    /// An ERROR.
    pub(in crate::testkit) fn error(code: i32, text: &str) -> Self {
        let mut body = Vec::new();
        put_error(&mut body, code, text, &[]);
        Self::new(Opcode::Error, body)
    }

    /// A string map of lists, as SUPPORTED carries it.
    pub(in crate::testkit) fn supported(options: &[(String, Vec<String>)]) -> Self {
        let mut body = Vec::new();
        put_short(&mut body, count(options.len()));
        for (key, values) in options {
            put_string(&mut body, key);
            put_short(&mut body, count(values.len()));
            values.iter().for_each(|value| put_string(&mut body, value));
        }
        Self::new(Opcode::Supported, body)
    }

    /// The answer in the dialect of the connection; `asked` is what stood around the statement.
    pub(in crate::testkit) fn answer(
        answer: &Answer,
        dialect: Dialect,
        asked: &Params,
        metadata_id: Option<&[u8]>,
    ) -> Self {
        let mut written = Self::new(Opcode::Result, Vec::new());
        let body = &mut written.body;
        if dialect.version.has_payload() {
            put_prefixes(body, answer);
            let flag = |on: bool, flag| if on { flag } else { 0 };
            written.flags = flag(!answer.warnings.is_empty(), flags::WARNINGS)
                | flag(!answer.payload.is_empty(), flags::CUSTOM_PAYLOAD);
        }
        match &answer.body {
            Body::Void => put_int(body, 1),
            Body::Rows(rows) => put_rows(body, rows, dialect, asked, metadata_id),
            Body::Keyspace(name) => {
                put_int(body, 3);
                put_string(body, name);
            }
            Body::SchemaChange(parts) => {
                put_int(body, 5);
                parts.iter().for_each(|part| put_string(body, part));
            }
            Body::Error { code, text, tail } => {
                put_error(body, *code, text, tail);
                written.opcode = Opcode::Error.as_u8();
            }
            Body::Raw { opcode, body: raw } => {
                body.extend_from_slice(raw);
                written.opcode = *opcode;
            }
        }
        written
    }

    /// RESULT PREPARED.
    pub(in crate::testkit) fn prepared(id: &[u8], prime: &Prime, dialect: Dialect) -> Self {
        let mut body = Vec::new();
        put_int(&mut body, 4);
        put_short_bytes(&mut body, id);
        if dialect.has_metadata_id() {
            put_short_bytes(&mut body, &metadata_id(&prime.columns));
        }
        let mut mark = 0;
        if prime.conditional {
            mark = dialect.lwt_mask.unwrap_or(0).cast_signed();
        }
        put_int(&mut body, GLOBAL_TABLE | mark);
        put_int(&mut body, length(prime.params.len()));
        if dialect.version.has_partition_key_indexes() {
            put_int(&mut body, length(prime.partition_key.len()));
            prime.partition_key.iter().for_each(|index| put_short(&mut body, *index));
        }
        put_columns(&mut body, &prime.keyspace, &prime.table, &prime.params);
        put_int(&mut body, if prime.columns.is_empty() { NO_METADATA } else { GLOBAL_TABLE });
        put_int(&mut body, length(prime.columns.len()));
        if let Some(first) = prime.columns.first() {
            let table = first.table_spec();
            put_columns(&mut body, table.ks_name(), table.table_name(), &prime.columns);
        }
        Self::new(Opcode::Result, body)
    }
}

const GLOBAL_TABLE: i32 = 0x01;
const MORE_PAGES: i32 = 0x02;
const NO_METADATA: i32 = 0x04;
const METADATA_CHANGED: i32 = 0x08;

fn put_rows(out: &mut Vec<u8>, rows: &Rows, dialect: Dialect, asked: &Params, known_metadata: Option<&[u8]>) {
    let from = asked.paging_state.as_ref().and_then(|state| Page::from_state(state));
    let (cells, next) = rows.page(from.unwrap_or_default(), asked.page_size);
    let current = metadata_id(&rows.columns);
    let changed = dialect.has_metadata_id() && known_metadata.is_some_and(|known| known != current.as_slice());

    let mut flags = GLOBAL_TABLE;
    if next.is_some() {
        flags |= MORE_PAGES;
    }
    if changed {
        flags |= METADATA_CHANGED;
    } else if asked.skip_metadata {
        flags = flags & !GLOBAL_TABLE | NO_METADATA;
    }
    put_int(out, 2);
    put_int(out, flags);
    put_int(out, length(rows.columns.len()));
    if let Some(next) = next {
        put_bytes(out, Some(&next.to_state()));
    }
    if changed {
        put_short_bytes(out, &current);
    }
    if flags & NO_METADATA == 0 {
        put_columns(out, &rows.keyspace, &rows.table, &rows.columns);
    }
    put_int(out, length(cells.rows));
    out.extend_from_slice(cells.bytes);
}

/// One table for all columns, then each column's name and type.
fn put_columns(out: &mut Vec<u8>, keyspace: &str, table: &str, columns: &[ColumnSpec<'_>]) {
    put_string(out, keyspace);
    put_string(out, table);
    for column in columns {
        put_string(out, column.name());
        types::write(out, column.typ());
    }
}

fn length(value: usize) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// An id that changes with the columns.
pub(in crate::testkit) fn metadata_id(columns: &Arc<[ColumnSpec<'static>]>) -> [u8; 16] {
    let mut bytes = Vec::new();
    put_columns(&mut bytes, "", "", columns);
    digest(&bytes)
}

/// Sixteen bytes that stand for a text, the same in every run.
pub(in crate::testkit) fn digest(bytes: &[u8]) -> [u8; 16] {
    let fnv = |start: u64| {
        bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3))
    };
    let mut id = [0; 16];
    id[..8].copy_from_slice(&fnv(0xCBF2_9CE4_8422_2325).to_be_bytes());
    id[8..].copy_from_slice(&fnv(0x6C62_272E_07BB_0142).to_be_bytes());
    id
}
