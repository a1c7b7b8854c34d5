//! Answers of every kind in every dialect.

use std::sync::Arc;

use bytes::Bytes;
use messina::protocol::response::{self, Response, ResultMetadata, ResultResponse};
use messina::protocol::version::versions_in_error;
use messina::protocol::{Dialect, Envelope, Header, ProtocolVersion};
use scylla_cql_core::frame::response::result::{ColumnSpec, ColumnType, NativeType, TableSpec};
use scylla_cql_core::value::Row;

pub(crate) fn check(data: &[u8]) {
    let [mode, opcode, flags, body @ ..] = data else { return };
    let version = ProtocolVersion::ALL[usize::from(mode & 3) % 3];
    let dialect = Dialect::new(version)
        .with_metadata_id_extension(mode & 4 != 0)
        .with_rate_limit_code((mode & 8 != 0).then_some(0xF000))
        .with_lwt_mask((mode & 16 != 0).then_some(1 << 31));
    let header = Header {
        // An error may come in any version.
        version: if mode & 32 != 0 { mode >> 4 } else { version.as_u8() },
        response: true,
        flags: *flags,
        stream: 0,
        opcode: opcode & 0x1F,
        length: body.len() as u32,
    };
    let known = (mode & 64 != 0).then(known);
    let envelope = Envelope { header, body: Bytes::copy_from_slice(body) };
    let Ok(answer) = response::parse(envelope.clone(), dialect, known.as_ref()) else { return };
    let _ = format!("{answer:?}");
    match answer.response {
        Response::Error(error) => {
            let _ = (error.is_version_error(), versions_in_error(&error.message), error.to_string());
        }
        Response::Supported(supported) => {
            let _ = supported.highest_common_version(ProtocolVersion::NEWEST);
            let _ = supported.dialect(version);
        }
        Response::Result(ResultResponse::Rows(rows)) => {
            // Each row takes bytes, so that this ends.
            assert!(rows.len() <= body.len() / 4);
            assert!(rows.raw().count() == rows.len());
            for row in rows.typed::<Row>().unwrap() {
                if row.is_err() {
                    break;
                }
            }
            // What was read once is known again, or read to the same.
            let metadata = Arc::clone(rows.metadata());
            let again = response::parse(envelope, dialect, Some(&metadata)).unwrap();
            let Response::Result(ResultResponse::Rows(again)) = again.response else { panic!() };
            assert!(Arc::ptr_eq(again.metadata(), &metadata) && again.data() == rows.data());
        }
        _ => {}
    }
}

/// Two columns of which something is known.
fn known() -> Arc<ResultMetadata> {
    let column = |name: &str, native| {
        let table = TableSpec::owned("ks".to_owned(), "t".to_owned());
        ColumnSpec::owned(name.to_owned(), ColumnType::Native(native), table)
    };
    Arc::new(ResultMetadata::new(vec![column("a", NativeType::Int), column("b", NativeType::Text)]))
}
