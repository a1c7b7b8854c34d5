//! QUERY, PREPARE and EXECUTE.

use super::length::Length;
use super::{QueryParams, Request, RequestError, put};
use crate::protocol::{Dialect, Opcode};

/// PREPARE's own flag: a keyspace follows.
const PREPARE_KEYSPACE: i32 = 0x01;

/// QUERY: run a statement given as text.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The statement.
    pub text: &'a str,
    /// The keyspace of names without one; v5 and later.
    pub keyspace: Option<&'a str>,
    /// How it is to be run.
    pub params: QueryParams<'a>,
}

impl<'a> Query<'a> {
    /// A statement in the keyspace of its connection.
    #[must_use]
    pub const fn new(text: &'a str, params: QueryParams<'a>) -> Self {
        Self { text, keyspace: None, params }
    }
}

impl Request for Query<'_> {
    fn opcode(&self) -> Opcode {
        Opcode::Query
    }

    fn body_len(&self, dialect: Dialect) -> Result<usize, RequestError> {
        let length = Length::default().bytes(self.text.as_bytes());
        self.params.measure(length, self.keyspace, dialect)?.finish()
    }

    fn write_body(&self, dialect: Dialect, out: &mut Vec<u8>) {
        put::long_string(out, self.text);
        self.params.write(self.keyspace, dialect, out);
    }
}

/// PREPARE: prepare a statement.
#[derive(Clone, Copy, Debug)]
pub struct Prepare<'a> {
    /// The statement.
    pub text: &'a str,
    /// The keyspace of names without one; v5 and later.
    pub keyspace: Option<&'a str>,
}

impl<'a> Prepare<'a> {
    /// A statement in the keyspace of its connection.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self { text, keyspace: None }
    }
}

impl Request for Prepare<'_> {
    fn opcode(&self) -> Opcode {
        Opcode::Prepare
    }

    fn body_len(&self, dialect: Dialect) -> Result<usize, RequestError> {
        let flags = if dialect.version.has_wide_flags() { 4 } else { 0 };
        Length::default().bytes(self.text.as_bytes()).plus(flags).v5_options(self.keyspace, None, dialect)?.finish()
    }

    fn write_body(&self, dialect: Dialect, out: &mut Vec<u8>) {
        put::long_string(out, self.text);
        if dialect.version.has_wide_flags() {
            put::int(out, self.keyspace.map_or(0, |_| PREPARE_KEYSPACE));
        }
        if let Some(keyspace) = self.keyspace {
            put::string(out, keyspace);
        }
    }
}

/// EXECUTE: run a prepared statement.
#[derive(Clone, Copy, Debug)]
pub struct Execute<'a> {
    /// The id of the prepared statement.
    pub id: &'a [u8],
    /// The id of the result metadata that is known; written in dialects that have one, needed there.
    pub result_metadata_id: Option<&'a [u8]>,
    /// How it is to be run.
    pub params: QueryParams<'a>,
}

impl Request for Execute<'_> {
    fn opcode(&self) -> Opcode {
        Opcode::Execute
    }

    #[inline]
    fn body_len(&self, dialect: Dialect) -> Result<usize, RequestError> {
        let mut length = Length::default().short_bytes("the id of a prepared statement", self.id)?;
        if dialect.has_metadata_id() {
            let id = self.result_metadata_id.ok_or(RequestError::NoMetadataId)?;
            length = length.short_bytes("a result-metadata id", id)?;
        }
        self.params.measure(length, None, dialect)?.finish()
    }

    #[inline]
    fn write_body(&self, dialect: Dialect, out: &mut Vec<u8>) {
        put::short_bytes(out, self.id);
        if dialect.has_metadata_id() {
            put::short_bytes(out, self.result_metadata_id.unwrap_or_default());
        }
        self.params.write(None, dialect, out);
    }
}
