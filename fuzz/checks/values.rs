//! Values of any type: what is read is read without harm, and can be sent again.

use bytes::Bytes;
use messina::protocol::response::{self, Response, ResultResponse};
use messina::protocol::{Dialect, Envelope, Header, Opcode, ProtocolVersion, Values};
use scylla_cql_core::value::Row;

pub(crate) fn check(data: &[u8]) {
    let Some((type_len, rest)) = data.split_first() else { return };
    let Some((typ, value)) = rest.split_at_checked(usize::from(*type_len)) else { return };
    // One row of one column without a name: its type, and its value.
    let mut body = vec![0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    body.extend_from_slice(typ);
    body.extend_from_slice(&1_i32.to_be_bytes());
    body.extend_from_slice(&(value.len() as i32).to_be_bytes());
    body.extend_from_slice(value);
    let header = Header {
        version: 4,
        response: true,
        flags: 0,
        stream: 0,
        opcode: Opcode::Result.as_u8(),
        length: body.len() as u32,
    };
    let envelope = Envelope { header, body: Bytes::from(body) };
    let Ok(answer) = response::parse(envelope, Dialect::new(ProtocolVersion::V4), None) else { return };
    let Response::Result(ResultResponse::Rows(rows)) = answer.response else { return };
    let columns = rows.metadata().columns();
    for row in rows.typed::<Row>().unwrap() {
        let Ok(row) = row else { break };
        let Ok(values) = Values::serialize(columns, &row.columns) else { continue };
        assert_eq!(usize::from(values.count()), columns.len());
        assert_eq!(values.iter().count(), columns.len());
    }
}
