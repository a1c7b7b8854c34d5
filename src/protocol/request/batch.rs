//! BATCH: several statements as one.

use scylla_cql_core::frame::request::batch::BatchType;
use scylla_cql_core::frame::types::{Consistency, SerialConsistency};

use super::length::Length;
use super::params::{self, flag, flags_len, write_flags, write_tail};
use super::{Request, RequestError, Values, put};
use crate::protocol::{Dialect, Opcode};

/// BATCH: several statements, of which all or none take effect when logged.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Logged, unlogged, or of counters.
    pub kind: BatchType,
    /// The statements with their values.
    pub entries: &'a [BatchEntry<'a>],
    /// How many replicas must take part.
    pub consistency: Consistency,
    /// The same for the Paxos phase of a conditional batch.
    pub serial_consistency: Option<SerialConsistency>,
    /// The write timestamp, in microseconds since 1970.
    pub timestamp: Option<i64>,
    /// The keyspace of names without one; v5 and later.
    pub keyspace: Option<&'a str>,
    /// What "now" is for the server, in seconds since 1970; v5 and later.
    pub now_in_seconds: Option<i32>,
}

impl<'a> Batch<'a> {
    /// A logged batch at `LOCAL_QUORUM`.
    #[must_use]
    pub const fn new(entries: &'a [BatchEntry<'a>]) -> Self {
        Self {
            kind: BatchType::Logged,
            entries,
            consistency: Consistency::LocalQuorum,
            serial_consistency: None,
            timestamp: None,
            keyspace: None,
            now_in_seconds: None,
        }
    }
}

/// One statement of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchEntry<'a> {
    /// The statement.
    pub statement: BatchStatement<'a>,
    /// Its values, by position.
    pub values: &'a Values,
}

/// How a statement of a batch is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStatement<'a> {
    /// By its text.
    Text(&'a str),
    /// By the id of its prepared form.
    Prepared(&'a [u8]),
}

impl Request for Batch<'_> {
    fn opcode(&self) -> Opcode {
        Opcode::Batch
    }

    fn body_len(&self, dialect: Dialect) -> Result<usize, RequestError> {
        let mut length = Length::default().plus(1);
        length = length.count("statements in the batch", self.entries.len())?;
        for entry in self.entries {
            if entry.values.is_named() {
                return Err(RequestError::NamedInBatch);
            }
            length = length.plus(1);
            length = match entry.statement {
                BatchStatement::Text(text) => length.bytes(text.as_bytes()),
                BatchStatement::Prepared(id) => length.short_bytes("the id of a prepared statement", id)?,
            };
            length = length.values(entry.values, dialect)?;
        }
        length
            .plus(2 + flags_len(dialect))
            .plus(self.serial_consistency.map_or(0, |_| 2))
            .plus(self.timestamp.map_or(0, |_| 8))
            .v5_options(self.keyspace, self.now_in_seconds, dialect)?
            .finish()
    }

    fn write_body(&self, dialect: Dialect, out: &mut Vec<u8>) {
        out.push(self.kind as u8);
        put::count(out, self.entries.len());
        for entry in self.entries {
            match entry.statement {
                BatchStatement::Text(text) => {
                    out.push(0);
                    put::long_string(out, text);
                }
                BatchStatement::Prepared(id) => {
                    out.push(1);
                    put::short_bytes(out, id);
                }
            }
            put::values(out, entry.values);
        }
        put::short(out, self.consistency as u16);
        let flags = flag(self.serial_consistency.is_some(), params::SERIAL_CONSISTENCY)
            | flag(self.timestamp.is_some(), params::TIMESTAMP)
            | flag(self.keyspace.is_some(), params::KEYSPACE)
            | flag(self.now_in_seconds.is_some(), params::NOW_IN_SECONDS);
        write_flags(flags, dialect, out);
        write_tail(self.serial_consistency, self.timestamp, self.keyspace, self.now_in_seconds, out);
    }
}
