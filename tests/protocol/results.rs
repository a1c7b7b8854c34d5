//! Rows and prepared statements.

use std::sync::Arc;

use bytes::Bytes;
use messina::protocol::ProtocolVersion::{V3, V4, V5};
use messina::protocol::response::{self, ParseError, Prepared, Problem, ResultMetadata, ResultResponse, Rows};
use messina::protocol::{Dialect, Opcode, ProtocolVersion, Response};
use scylla_cql_core::deserialize::row::ColumnIterator;
use scylla_cql_core::frame::response::result::{ColumnType, NativeType};

use crate::golden::{answer, column, read_result};

/// Two columns, `id int` and `name text`, with a common table and with tables of their own.
const COMMON: &str = "0002 'ks' 0001 't' 0002 'id' 0009 0004 'name' 000D";
const EACH: &str = "0002 'ks' 0001 't' 0002 'id' 0009 0002 'ks' 0001 't' 0004 'name' 000D";
/// Two rows of them.
const ROWS: &str = "00000002 00000004 00000007 00000003 'Ada' 00000004 00000008 FFFFFFFF";

fn id_and_name() -> Arc<ResultMetadata> {
    let id = column("id", ColumnType::Native(NativeType::Int));
    let name = column("name", ColumnType::Native(NativeType::Text));
    Arc::new(ResultMetadata::new(vec![id, name]))
}

fn rows_with(dialect: impl Into<Dialect>, known: Option<&Arc<ResultMetadata>>, body: &str) -> Result<Rows, ParseError> {
    let dialect = dialect.into();
    let answer = answer(dialect.version, 0, Opcode::Result, &format!("00000002 {body}"));
    match response::parse(answer, dialect, known)?.response {
        Response::Result(ResultResponse::Rows(rows)) => Ok(rows),
        other => panic!("{other:?}"),
    }
}

fn rows(dialect: impl Into<Dialect>, body: &str) -> Rows {
    rows_with(dialect, None, body).unwrap()
}

fn prepared(dialect: impl Into<Dialect>, body: &str) -> Result<Prepared, ParseError> {
    match read_result(dialect, &format!("00000004 {body}"))? {
        ResultResponse::Prepared(prepared) => Ok(*prepared),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_two_rows(rows: &Rows) {
    assert_eq!(rows.metadata(), &id_and_name());
    assert_eq!((rows.len(), rows.is_empty()), (2, false));
    let typed: Vec<(i32, Option<&str>)> = rows.typed().unwrap().map(Result::unwrap).collect();
    assert_eq!(typed, [(7, Some("Ada")), (8, None)]);
    assert_eq!(rows.raw().count(), 2);
    assert!(rows.typed::<(i32,)>().is_err());
}

/// cql 1: the other kinds of results.
#[test]
fn void_and_set_keyspace() {
    for version in ProtocolVersion::ALL {
        assert!(matches!(read_result(version, "00000001"), Ok(ResultResponse::Void)));
        match read_result(version, "00000003 0002 'ks'") {
            Ok(ResultResponse::SetKeyspace(keyspace)) => assert_eq!(keyspace, "ks"),
            other => panic!("{other:?}"),
        }
        let unknown = read_result(version, "00000006").unwrap_err();
        assert_eq!(unknown.problem, Problem::Unknown(6));
        assert_eq!((unknown.what, unknown.offset), ("the kind of a result", 0));
    }
}

/// cql 3: ROWS with a common table, with tables of their own, and with more pages.
#[test]
fn rows_match_their_bytes() {
    for version in ProtocolVersion::ALL {
        let common = rows(version, &format!("00000001 00000002 {COMMON} {ROWS}"));
        assert_two_rows(&common);
        assert!(common.paging_state().is_none() && common.new_metadata_id().is_none());
        let each = rows(version, &format!("00000000 00000002 {EACH} {ROWS}"));
        assert_two_rows(&each);
        let paged = rows(version, &format!("00000003 00000002 00000005 'state' {COMMON} {ROWS}"));
        assert_two_rows(&paged);
        assert_eq!(paged.paging_state(), Some(&Bytes::from_static(b"state")));
        let empty = rows(version, &format!("00000001 00000002 {COMMON} 00000000"));
        assert!(empty.is_empty() && empty.raw().next().is_none());
    }
}

/// cql 3: ROWS without metadata are read with what is known, which is shared and not copied.
#[test]
fn known_metadata_stands_in() {
    let known = id_and_name();
    for version in ProtocolVersion::ALL {
        let rows = rows_with(version, Some(&known), &format!("00000004 00000002 {ROWS}")).unwrap();
        assert_two_rows(&rows);
        assert!(Arc::ptr_eq(rows.metadata(), &known));
        let paged = format!("00000006 00000002 00000001 'p' {ROWS}");
        let paged = rows_with(version, Some(&known), &paged).unwrap();
        assert_two_rows(&paged);
        assert_eq!(paged.paging_state().unwrap().as_ref(), b"p");
        // Metadata that comes nevertheless wins.
        let full = "00000001 00000001 0001 'k' 0001 't' 0001 'x' 0009 00000000";
        let full = rows_with(version, Some(&known), full).unwrap();
        assert_eq!(full.metadata().columns()[0].name(), "x");
    }
}

/// cql 3: more pages need a state to go on from, or rows would be lost.
#[test]
fn more_pages_need_a_paging_state() {
    for state in ["FFFFFFFF", "00000000"] {
        let error = rows_with(V4, None, &format!("00000003 00000002 {state} {COMMON} {ROWS}")).unwrap_err();
        assert_eq!((error.what, error.problem), ("a paging state", Problem::Empty));
    }
}

/// cql 3: metadata that is told again in the same bytes is not read again; told otherwise, it is.
#[test]
fn metadata_is_known_again() {
    let first = rows(V4, &format!("00000001 00000002 {COMMON} {ROWS}"));
    let known = Arc::clone(first.metadata());
    let again = |flags: &str, columns: &str| {
        let body = format!("{flags} 00000002 {columns} {ROWS}");
        let rows = rows_with(V4, Some(&known), &body).unwrap();
        assert_eq!(rows.raw().map(Result::unwrap).map(ColumnIterator::count).sum::<usize>(), 4);
        rows
    };
    let same = again("00000001", COMMON);
    assert_two_rows(&same);
    assert!(Arc::ptr_eq(same.metadata(), &known));
    let paged = rows_with(V4, Some(&known), &format!("00000003 00000002 00000001 'p' {COMMON} {ROWS}")).unwrap();
    assert_two_rows(&paged);
    assert!(Arc::ptr_eq(paged.metadata(), &known) && paged.paging_state().is_some());
    let other_name = again("00000001", &COMMON.replace("'name'", "'nama'"));
    assert_eq!(other_name.metadata().columns()[1].name(), "nama");
    let other_type = again("00000001", &COMMON.replace("000D", "0003"));
    assert_eq!(other_type.metadata().columns()[1].typ(), &ColumnType::Native(NativeType::Blob));
    let each = again("00000000", EACH);
    assert_two_rows(&each);
    assert!(!Arc::ptr_eq(each.metadata(), &known));
    // The same bytes, which go on otherwise when each column tells its table.
    let common = "0001 'k' 0001 't' 0001 'x' 0009 0001 'a' 0001";
    let known_common = Arc::clone(rows(V4, &format!("00000001 00000002 {common} 00000000")).metadata());
    let each = format!("00000000 00000002 {common} 'y' 0001 'z' 0009 00000000");
    let each = rows_with(V4, Some(&known_common), &each).unwrap();
    assert_eq!(each.metadata().columns()[1].table_spec().table_name(), "y");
    let fewer = "00000001 00000001 0002 'ks' 0001 't' 0002 'id' 0009 00000001 00000004 00000007";
    let fewer = rows_with(V4, Some(&known), fewer).unwrap();
    assert_eq!(fewer.metadata().columns().len(), 1);
    let more = format!("00000001 00000003 {COMMON} 0001 'x' 0009 00000000");
    let more = rows_with(V4, Some(&known), &more).unwrap();
    assert_eq!(more.metadata().columns().len(), 3);
}

/// cql 3: metadata that is left out must be known, and fit.
#[test]
fn missing_metadata_is_an_error() {
    let body = format!("00000004 00000002 {ROWS}");
    let error = rows_with(V4, None, &body).unwrap_err();
    assert_eq!(error.problem, Problem::NoMetadata);
    let known = Arc::new(ResultMetadata::new(vec![column("a", ColumnType::Native(NativeType::Int))]));
    let error = rows_with(V4, Some(&known), &body).unwrap_err();
    assert_eq!(error.problem, Problem::OtherMetadata { told: 2, known: 1 });
}

/// cql 3: in v5, and in v4 with ScyllaDB's extension, a new id comes with changed metadata.
/// cql 6: SCYLLA_USE_METADATA_ID gives v4 the result-metadata id of v5.
#[test]
fn changed_metadata_has_a_new_id() {
    let scylla = Dialect::new(V4).with_metadata_id_extension(true);
    for dialect in [Dialect::new(V5), scylla] {
        let changed = format!("0000000B 00000002 00000001 'p' 0002 'ID' {COMMON} {ROWS}");
        let changed = rows(dialect, &changed);
        assert_two_rows(&changed);
        assert_eq!(changed.new_metadata_id(), Some(&Bytes::from_static(b"ID")));
    }
    let error = rows_with(V4, None, &format!("00000009 00000002 0002 'ID' {COMMON} {ROWS}")).unwrap_err();
    assert_eq!(error.problem, Problem::Unknown(8));
}

/// cql 1: a short answer is read without a copy of its rows.
#[test]
fn rows_are_not_copied() {
    let body = format!("00000002 00000004 00000002 {ROWS}");
    let answer = answer(V4, 0, Opcode::Result, &body);
    let place = answer.body.as_ptr() as usize;
    let known = id_and_name();
    let parsed = response::parse(answer, Dialect::new(V4), Some(&known)).unwrap();
    let Response::Result(ResultResponse::Rows(rows)) = parsed.response else { panic!() };
    assert_eq!(rows.data().as_ptr() as usize, place + 16);
    assert_eq!(rows.raw().map(Result::unwrap).map(ColumnIterator::count).sum::<usize>(), 4);
}

/// cql 3: PREPARED in v3 has no partition key, in v4 it has, in v5 also an id of the result metadata.
#[test]
fn prepared_matches_its_bytes() {
    let result = format!("00000001 00000002 {COMMON}");
    let v3 = prepared(V3, &format!("0002 'ID' 00000001 00000002 {COMMON} {result}")).unwrap();
    assert_eq!(v3.id, "ID");
    assert!(v3.result_metadata_id.is_none() && v3.metadata.pk_indexes.is_empty());
    assert_eq!(v3.metadata.col_specs, id_and_name().columns());
    assert_eq!((v3.metadata.col_count, v3.metadata.flags), (2, 1));
    assert_eq!(v3.result_metadata, id_and_name());
    assert!(!v3.is_lwt && v3.opaque_markers.is_empty());

    let markers = format!("00000001 00000002 00000002 0001 0000 {COMMON}");
    let v4 = prepared(V4, &format!("0002 'ID' {markers} {result}")).unwrap();
    let key: Vec<_> = v4.metadata.pk_indexes.iter().map(|part| (part.index, part.sequence)).collect();
    assert_eq!(key, [(0, 1), (1, 0)], "by index, with the place in the key beside it");
    assert_eq!(v4.metadata.col_specs, id_and_name().columns());

    let scylla = Dialect::new(V4).with_metadata_id_extension(true);
    for dialect in [Dialect::new(V5), scylla] {
        let v5 = prepared(dialect, &format!("0002 'ID' 0004 'META' {markers} {result}")).unwrap();
        assert_eq!(v5.result_metadata_id.as_deref(), Some(&b"META"[..]));
        assert_eq!(v5.result_metadata, id_and_name());
    }
}

/// cql 3: a statement without rows has no result metadata.
#[test]
fn prepared_without_results() {
    let body = "0002 'ID' 00000000 00000000 00000000 00000004 00000000";
    let write = prepared(V4, body).unwrap();
    assert!(write.result_metadata.columns().is_empty());
    assert!(write.metadata.col_specs.is_empty());
    let impossible = "0002 'ID' 00000000 00000000 00000000 00000004 00000003";
    assert_eq!(prepared(V4, impossible).unwrap_err().problem, Problem::NoMetadata);
}

/// cql 6: the mask marks conditional statements; the flags are kept as they came.
#[test]
fn conditional_statements_are_marked() {
    let body = |flags: &str| format!("0002 'ID' {flags} 00000000 00000000 00000004 00000000");
    let marked = Dialect::new(V4).with_lwt_mask(Some(0x8000_0000));
    let with = prepared(marked, &body("80000000")).unwrap();
    assert!(with.is_lwt);
    assert_eq!(with.metadata.flags, i32::MIN);
    assert!(!prepared(marked, &body("00000000")).unwrap().is_lwt);
    assert!(!prepared(V4, &body("80000000")).unwrap().is_lwt, "not agreed on");
    let empty_mask = Dialect::new(V4).with_lwt_mask(Some(0));
    assert!(!prepared(empty_mask, &body("80000000")).unwrap().is_lwt);
}

/// cql 3: the partition key is made of bind markers that are there.
#[test]
fn the_partition_key_is_checked() {
    let marker = "0002 'ks' 0001 't' 0001 'a' 0009";
    let none = "00000004 00000000";
    let index = prepared(V4, &format!("0002 'ID' 00000001 00000001 00000001 0001 {marker} {none}"));
    assert_eq!(index.unwrap_err().problem, Problem::Unknown(1));
    let parts = prepared(V4, &format!("0002 'ID' 00000001 00000001 00000002 0000 0000 {marker} {none}"));
    assert_eq!(parts.unwrap_err().problem, Problem::Unknown(2));
}
