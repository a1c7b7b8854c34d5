//! Rows that a server answers with, typed by CQL text.

use std::sync::Arc;

use scylla_cql_core::frame::response::result::{ColumnSpec, ColumnType, TableSpec};
use scylla_cql_core::serialize::RowWriter;
use scylla_cql_core::serialize::row::{RowSerializationContext, SerializeRow};

use super::types::parse_columns;

/// Columns and rows; each row is checked against the columns when it is added.
///
/// ```
/// use messina::testkit::{Rows, rows};
///
/// let people = rows!["id int, name text"; (1, "Ada"), (2, "Grace")];
/// assert_eq!(people, Rows::new("id int, name text").row((1, "Ada")).row((2, "Grace")));
/// assert_eq!(people.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    pub(super) keyspace: String,
    pub(super) table: String,
    pub(super) columns: Arc<[ColumnSpec<'static>]>,
    /// The cells of every row as they travel, one row after the other.
    cells: Vec<u8>,
    /// Where each row ends in `cells`.
    ends: Vec<usize>,
    pages: Vec<usize>,
}

impl Rows {
    /// No rows yet; `columns` as in a `CREATE TABLE`: `"id int, tags map<text, list<int>>"`.
    ///
    /// # Panics
    /// On text that names no known type.
    pub fn new(columns: &str) -> Self {
        Self::typed(parse_columns(columns))
    }

    /// No rows yet, with column types that have no short text, such as user-defined types.
    pub fn typed<N: Into<String>>(columns: impl IntoIterator<Item = (N, ColumnType<'static>)>) -> Self {
        let columns = columns.into_iter().map(|(name, typ)| (name.into(), typ));
        Self {
            keyspace: "ks".into(),
            table: "t".into(),
            columns: specs("ks", "t", columns),
            cells: Vec::new(),
            ends: Vec::new(),
            pages: Vec::new(),
        }
    }

    /// Says which table the columns belong to; `ks.t` if never said.
    pub fn of(mut self, keyspace: &str, table: &str) -> Self {
        let old = self.columns.iter();
        let columns = old.map(|column| (column.name().to_owned(), column.typ().clone()));
        self.columns = specs(keyspace, table, columns);
        self.keyspace = keyspace.into();
        self.table = table.into();
        self
    }

    /// Adds a row.
    ///
    /// # Panics
    /// On values that do not fit the columns.
    pub fn row(mut self, values: impl SerializeRow) -> Self {
        self.push(values);
        self
    }

    /// Adds a row in place.
    ///
    /// # Panics
    /// On values that do not fit the columns.
    pub fn push(&mut self, values: impl SerializeRow) {
        let context = RowSerializationContext::from_specs(&self.columns);
        let mut writer = RowWriter::new(&mut self.cells);
        if let Err(error) = values.serialize(&context, &mut writer) {
            panic!("row {} does not fit its columns: {error}", self.ends.len());
        }
        self.ends.push(self.cells.len());
    }

    /// Cuts the rows into pages of these lengths whatever page size is asked for; a page may be
    /// empty. What is left over makes one more page.
    pub fn pages(mut self, lengths: impl IntoIterator<Item = usize>) -> Self {
        self.pages = lengths.into_iter().collect();
        self
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The rows of a page that starts at `from`, and where the next page starts.
    pub(super) fn page(&self, from: Page, size: Option<usize>) -> (Cells<'_>, Option<Page>) {
        let start = from.row.min(self.len());
        let length = match self.pages.get(from.number) {
            Some(length) => *length,
            None if !self.pages.is_empty() => self.len() - start,
            None => size.unwrap_or(self.len()),
        };
        let end = start.saturating_add(length).min(self.len());
        let number = from.number.saturating_add(1);
        let more = end < self.len() || number < self.pages.len();
        let next = Page { number, row: end };
        let cells = Cells { bytes: self.bytes(start, end), rows: end - start };
        (cells, more.then_some(next))
    }

    fn bytes(&self, start: usize, end: usize) -> &[u8] {
        let offset = |row: usize| row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.cells[offset(start)..offset(end)]
    }
}

/// Some rows of a [`Rows`], as they travel.
pub(super) struct Cells<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) rows: usize,
}

/// Where a page starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    number: usize,
    row: usize,
}

impl Page {
    /// The opaque bytes a client sends back.
    pub(super) fn to_state(self) -> [u8; 16] {
        let mut state = [0; 16];
        state[..8].copy_from_slice(&(self.number as u64).to_be_bytes());
        state[8..].copy_from_slice(&(self.row as u64).to_be_bytes());
        state
    }

    /// Reads what [`to_state`](Self::to_state) wrote.
    pub(super) fn from_state(state: &[u8]) -> Option<Self> {
        let (number, row) = state.split_first_chunk::<8>()?;
        let row: [u8; 8] = row.try_into().ok()?;
        Some(Self {
            number: usize::try_from(u64::from_be_bytes(*number)).ok()?,
            row: usize::try_from(u64::from_be_bytes(row)).ok()?,
        })
    }
}

/// Column specs of one table.
pub(super) fn specs(
    keyspace: &str,
    table: &str,
    columns: impl IntoIterator<Item = (String, ColumnType<'static>)>,
) -> Arc<[ColumnSpec<'static>]> {
    let table = TableSpec::owned(keyspace.into(), table.into());
    columns.into_iter().map(|(name, typ)| ColumnSpec::owned(name, typ, table.clone())).collect()
}

/// [`Rows`] in one line: the columns, then a tuple for each row.
///
/// ```
/// let row = messina::testkit::rows!["count bigint"; (3_i64,)];
/// # assert_eq!(row.len(), 1);
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! __testkit_rows {
    ($columns:expr $(; $($row:expr),* $(,)?)?) => {
        $crate::testkit::Rows::new($columns)$($(.row($row))*)?
    };
}
