//! Bytes and columns written by hand.

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
