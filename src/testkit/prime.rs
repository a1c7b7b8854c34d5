//! Statements that a cluster knows, and what it answers to them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use scylla_cql_core::deserialize::FrameSlice;
use scylla_cql_core::deserialize::value::DeserializeValue;
use scylla_cql_core::frame::response::result::{ColumnSpec, ColumnType};

use super::Answer;
use super::answer::Body;
use super::rows::specs;
use super::types::parse_columns;

/// A statement to prime: its text, and what PREPARE says about its parameters.
///
/// A text converts into one without parameters.
///
/// ```
/// use messina::testkit::Prime;
///
/// let insert = Prime::new("INSERT INTO ks.t (id, name) VALUES (?, ?)")
///     .params("id int, name text")
///     .partition_key([0]);
/// # let _ = insert;
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Prime {
    pub(super) text: String,
    pub(super) keyspace: String,
    pub(super) table: String,
    pub(super) params: Arc<[ColumnSpec<'static>]>,
    pub(super) partition_key: Vec<u16>,
    pub(super) columns: Arc<[ColumnSpec<'static>]>,
    pub(super) conditional: bool,
}

impl Prime {
    /// A statement without parameters. White space does not matter, all else does.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self {
            text: normal(text.as_ref()),
            keyspace: "ks".into(),
            table: "t".into(),
            params: Arc::new([]),
            partition_key: Vec::new(),
            columns: Arc::new([]),
            conditional: false,
        }
    }

    /// Says which table the statement is about; `ks.t` if never said. Stands before
    /// [`params`](Self::params).
    pub fn of(mut self, keyspace: &str, table: &str) -> Self {
        self.keyspace = keyspace.into();
        self.table = table.into();
        self
    }

    /// The parameters in their order: `"id int, name text"`.
    ///
    /// # Panics
    /// On text that names no known type.
    pub fn params(self, params: &str) -> Self {
        self.typed_params(parse_columns(params))
    }

    /// The parameters, with types that have no short text, such as user-defined types.
    pub fn typed_params<N: Into<String>>(mut self, params: impl IntoIterator<Item = (N, ColumnType<'static>)>) -> Self {
        let params = params.into_iter().map(|(name, typ)| (name.into(), typ));
        self.params = specs(&self.keyspace, &self.table, params);
        self
    }

    /// Which parameters make up the partition key.
    pub fn partition_key(mut self, indexes: impl IntoIterator<Item = u16>) -> Self {
        self.partition_key = indexes.into_iter().collect();
        self
    }

    /// The columns that PREPARE announces, where the answer is made by a closure.
    ///
    /// # Panics
    /// On text that names no known type.
    pub fn columns(mut self, columns: &str) -> Self {
        self.columns = specs(&self.keyspace, &self.table, parse_columns(columns));
        self
    }

    /// Marks the statement as conditional for clients that asked for the mark (Scylla).
    pub fn conditional(mut self) -> Self {
        self.conditional = true;
        self
    }
}

impl<T: AsRef<str>> From<T> for Prime {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// A request that reached a node, as a closure of [`Cluster::prime_with`](super::Cluster::prime_with)
/// sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The index of the node.
    pub node: usize,
    /// The text of the statement, also when it was prepared.
    pub text: String,
    /// The values as they came; `None` is null or unset.
    pub values: Vec<Option<Bytes>>,
    /// The number of the consistency level.
    pub consistency: u16,
    /// The page size asked for.
    pub page_size: Option<usize>,
    /// The paging state sent along.
    pub paging_state: Option<Bytes>,
    /// The client's timestamp, if any.
    pub timestamp: Option<i64>,
    /// What the client wants taken for now, in seconds since 1970, if it says so.
    pub now_in_seconds: Option<i32>,
    /// The custom payload sent along.
    pub payload: Vec<(String, Bytes)>,
    pub(super) params: Arc<[ColumnSpec<'static>]>,
}

impl Request {
    /// The value of the parameter with this index, if it is there, not null, and of that type.
    pub fn value<T>(&self, index: usize) -> Option<T>
    where
        T: for<'a> DeserializeValue<'a, 'a>,
    {
        let typ = self.params.get(index)?.typ();
        let bytes = self.values.get(index)?.as_ref()?;
        T::type_check(typ).ok()?;
        T::deserialize(typ, Some(FrameSlice::new(bytes))).ok()
    }
}

/// How an answer comes about.
#[derive(Clone)]
pub(super) enum Maker {
    Fixed(Arc<Answer>),
    Closure(Arc<dyn Fn(&Request) -> Answer + Send + Sync>),
}

/// A statement and its answer.
#[derive(Clone)]
pub(super) struct Primed {
    pub(super) prime: Prime,
    pub(super) maker: Maker,
}

/// All statements that a cluster knows.
#[derive(Default)]
pub(super) struct Primes {
    known: Mutex<HashMap<String, Primed>>,
}

impl Primes {
    pub(super) fn add(&self, mut prime: Prime, maker: Maker) {
        if let Maker::Fixed(answer) = &maker
            && let Body::Rows(rows) = &answer.body
            && prime.columns.is_empty()
        {
            prime.columns = rows.columns.clone();
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(prime.text.clone(), Primed { prime, maker });
    }

    pub(super) fn find(&self, text: &str) -> Option<Primed> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&normal(text)).cloned()
    }
}

impl fmt::Debug for Primes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(known.keys()).finish()
    }
}

/// A text without superfluous white space and without a last semicolon.
pub(super) fn normal(text: &str) -> String {
    let text = text.trim().trim_end_matches(';');
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
