//! A batch as it is sent: prepared, with its values serialized.

use std::collections::HashSet;
use std::sync::Arc;

use scylla_cql_core::frame::request::batch::BatchType;

use super::Prepared;
use super::options::Options;
use crate::protocol::request::{Batch, BatchEntry, BatchStatement, QueryParams, Request as Message, RequestError};
use crate::protocol::{Dialect, Opcode, Values};

/// A batch whose statements are prepared and whose values are serialized.
#[derive(Clone, Debug)]
pub(super) struct BoundBatch {
    pub(super) kind: BatchType,
    pub(super) keyspace: Option<Arc<str>>,
    pub(super) entries: Vec<Entry>,
    pub(super) options: Options,
}

/// One statement of a batch.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    what: What,
    values: Values,
}

#[derive(Clone, Debug)]
enum What {
    Text(Arc<str>),
    Prepared(Prepared),
}

/// A batch as a message, with room for the list that the message borrows.
pub(super) struct BatchMessage<'a> {
    entries: Vec<BatchEntry<'a>>,
    rest: Batch<'a>,
}

impl Entry {
    pub(super) fn text(text: Arc<str>) -> Self {
        Self { what: What::Text(text), values: Values::default() }
    }

    pub(super) fn prepared(prepared: Prepared, values: Values) -> Self {
        Self { what: What::Prepared(prepared), values }
    }

    fn as_message(&self) -> BatchEntry<'_> {
        let statement = match &self.what {
            What::Text(text) => BatchStatement::Text(text),
            What::Prepared(prepared) => BatchStatement::Prepared(prepared.id()),
        };
        BatchEntry { statement, values: &self.values }
    }
}

impl BoundBatch {
    /// Its prepared statements with their values, in order.
    pub(super) fn prepared(&self) -> impl Iterator<Item = (&Prepared, &Values)> {
        self.entries.iter().filter_map(|entry| match &entry.what {
            What::Prepared(prepared) => Some((prepared, &entry.values)),
            What::Text(_) => None,
        })
    }

    /// Its prepared statements, each once.
    pub(super) fn distinct(&self) -> Vec<&Prepared> {
        let mut seen = HashSet::new();
        self.prepared().map(|(prepared, _)| prepared).filter(|prepared| seen.insert(prepared.id())).collect()
    }

    /// What is sent, with consistency and timestamp of these parameters.
    pub(super) fn message<'a>(&'a self, params: QueryParams<'a>) -> BatchMessage<'a> {
        let rest = Batch {
            kind: self.kind,
            consistency: params.consistency,
            serial_consistency: params.serial_consistency,
            timestamp: params.timestamp,
            now_in_seconds: params.now_in_seconds,
            keyspace: self.keyspace.as_deref(),
            ..Batch::new(&[])
        };
        BatchMessage { entries: self.entries.iter().map(Entry::as_message).collect(), rest }
    }
}

impl BatchMessage<'_> {
    fn whole(&self) -> Batch<'_> {
        Batch { entries: &self.entries, ..self.rest }
    }
}

impl Message for BatchMessage<'_> {
    fn opcode(&self) -> Opcode {
        Opcode::Batch
    }

    fn body_len(&self, dialect: Dialect) -> Result<usize, RequestError> {
        self.whole().body_len(dialect)
    }

    fn write_body(&self, dialect: Dialect, out: &mut Vec<u8>) {
        self.whole().write_body(dialect, out);
    }
}
