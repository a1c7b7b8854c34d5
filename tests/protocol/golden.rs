//! Bytes and columns written by hand.

use bytes::Bytes;
use messina::protocol::response::{self, ResultResponse};
use messina::protocol::{Dialect, Envelope, Header, Opcode, ParseError, ProtocolVersion, Response};
use scylla_cql_core::frame::response::result::{ColumnSpec, ColumnType, TableSpec};

use crate::support::hex;

/// Bytes from hexadecimal text in which quoted parts stand for themselves: `0003 'abc'`.
pub(crate) fn golden(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, part) in text.split('\'').enumerate() {
        if index % 2 == 0 {
            bytes.extend(hex(part));
        } else {
            bytes.extend(part.as_bytes());
        }
    }
    bytes
}

/// A column of table `ks.t`.
pub(crate) fn column(name: &str, typ: ColumnType<'static>) -> ColumnSpec<'static> {
    let table = TableSpec::owned("ks".to_owned(), "t".to_owned());
    ColumnSpec::owned(name.to_owned(), typ, table)
}

/// An answer with this body.
pub(crate) fn answer(version: ProtocolVersion, flags: u8, opcode: Opcode, body: &str) -> Envelope {
    let body = golden(body);
    let header = Header {
        version: version.as_u8(),
        response: true,
        flags,
        stream: 1,
        opcode: opcode.as_u8(),
        length: body.len() as u32,
    };
    Envelope { header, body: Bytes::from(body) }
}

/// What an answer without flags says, when nothing is known before.
pub(crate) fn read(dialect: impl Into<Dialect>, opcode: Opcode, body: &str) -> Result<Response, ParseError> {
    let dialect = dialect.into();
    let answer = answer(dialect.version, 0, opcode, body);
    Ok(response::parse(answer, dialect, None)?.response)
}

/// What a result says, when nothing is known before.
pub(crate) fn read_result(dialect: impl Into<Dialect>, body: &str) -> Result<ResultResponse, ParseError> {
    match read(dialect, Opcode::Result, body)? {
        Response::Result(result) => Ok(result),
        other => panic!("{other:?}"),
    }
}
