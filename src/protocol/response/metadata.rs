//! What a result says about its columns.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use scylla_cql_core::frame::response::result::{ColumnSpec, PartitionKeyIndex, PreparedMetadata, TableSpec};

use super::column_type;
use crate::protocol::Dialect;
use crate::protocol::parse_error::{ParseError, Problem};
use crate::protocol::reader::{Reader, capacity};

const GLOBAL_TABLE: i32 = 0x01;
const MORE_PAGES: i32 = 0x02;
const NO_METADATA: i32 = 0x04;
const METADATA_CHANGED: i32 = 0x08;

/// How many bytes the repeated names of a common table may take: far above any table, far below any memory.
const MAX_REPEATED_NAMES: u64 = 16 * 1024 * 1024;

/// The columns of a result; kept with a prepared statement and shared by its results.
///
/// Two are equal when their columns are, however those were told.
#[derive(Clone, Default)]
pub struct ResultMetadata {
    columns: Vec<ColumnSpec<'static>>,
    opaque: Vec<OpaqueType>,
    /// What this was read from, to be known again without reading it.
    told: Option<Told>,
}

/// How a server told the columns.
#[derive(Clone)]
struct Told {
    /// Whether one table is told for all columns.
    global: bool,
    /// From the common table, or the first column, to the last.
    bytes: Box<[u8]>,
}

/// A type that is a blob here because its class is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueType {
    /// The index of the column.
    pub column: usize,
    /// The class that is not known: the column's type, or a part of it.
    pub class: String,
}

impl ResultMetadata {
    /// Metadata of these columns.
    #[must_use]
    pub const fn new(columns: Vec<ColumnSpec<'static>>) -> Self {
        Self { columns, opaque: Vec::new(), told: None }
    }

    /// The columns in order.
    #[must_use]
    pub fn columns(&self) -> &[ColumnSpec<'static>] {
        &self.columns
    }

    /// The types that are blobs here because their classes are not known.
    #[must_use]
    pub fn opaque_types(&self) -> &[OpaqueType] {
        &self.opaque
    }
}

impl PartialEq for ResultMetadata {
    fn eq(&self, other: &Self) -> bool {
        self.columns == other.columns && self.opaque == other.opaque
    }
}

impl Eq for ResultMetadata {}

impl fmt::Debug for ResultMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultMetadata").field("columns", &self.columns).field("opaque", &self.opaque).finish()
    }
}

/// What stands before the rows of a result, and after a prepared statement.
pub(super) struct Described {
    pub(super) metadata: Arc<ResultMetadata>,
    pub(super) rare: Option<Box<Rare>>,
}

/// What few results have.
#[derive(Clone, Debug)]
pub(super) struct Rare {
    pub(super) paging_state: Option<Bytes>,
    pub(super) new_metadata_id: Option<Bytes>,
}

/// Reads result metadata. `known` stands in for what the server left out, and for what it tells in the same bytes.
pub(super) fn read(
    reader: &mut Reader<'_>,
    dialect: Dialect,
    known: Option<&Arc<ResultMetadata>>,
) -> Result<Described, ParseError> {
    let before = *reader;
    let flags = reader.int("the flags of a result")?;
    let changed = flags & METADATA_CHANGED != 0;
    if changed && !dialect.has_metadata_id() {
        let problem = Problem::Unknown(i64::from(METADATA_CHANGED));
        return Err(before.error("the flags of a result", problem));
    }
    let at_count = *reader;
    let count = reader.length("the number of columns")?;
    let mut paging_state = None;
    if flags & MORE_PAGES != 0 {
        let before = *reader;
        // Without a state to go on from, the rest of the rows would be lost, or the first page asked for again.
        let state = reader.bytes("a paging state")?.filter(|state| !state.is_empty());
        let state = state.ok_or_else(|| before.error("a paging state", Problem::Empty))?;
        paging_state = Some(Bytes::copy_from_slice(state));
    }
    let mut new_metadata_id = None;
    if changed {
        let id = reader.short_bytes("a new result-metadata id")?;
        new_metadata_id = Some(Bytes::copy_from_slice(id));
    }
    let metadata = if flags & NO_METADATA != 0 {
        stand_in(at_count, count, known)?
    } else {
        let global = flags & GLOBAL_TABLE != 0;
        match known.and_then(|known| pass_known(reader, count, global, known)) {
            Some(known) => known,
            None => {
                let start = *reader;
                let (columns, opaque) = read_columns(reader, at_count, count, global)?;
                let bytes = start.rest()[..start.left() - reader.left()].into();
                Arc::new(ResultMetadata { columns, opaque, told: Some(Told { global, bytes }) })
            }
        }
    };
    let is_rare = paging_state.is_some() || new_metadata_id.is_some();
    let rare = is_rare.then(|| Box::new(Rare { paging_state, new_metadata_id }));
    Ok(Described { metadata, rare })
}

/// Passes columns that are told in the same bytes as the known ones; the same bytes mean the same.
fn pass_known(
    reader: &mut Reader<'_>,
    count: usize,
    global: bool,
    known: &Arc<ResultMetadata>,
) -> Option<Arc<ResultMetadata>> {
    let told = known.told.as_ref()?;
    if known.columns.len() != count || told.global != global || !reader.rest().starts_with(&told.bytes) {
        return None;
    }
    reader.take("the columns", told.bytes.len()).ok()?;
    Some(Arc::clone(known))
}

/// What is known, in place of what the server left out.
fn stand_in(
    at_count: Reader<'_>,
    told: usize,
    known: Option<&Arc<ResultMetadata>>,
) -> Result<Arc<ResultMetadata>, ParseError> {
    let problem = match known {
        Some(metadata) if metadata.columns.len() == told => return Ok(Arc::clone(metadata)),
        _ if told == 0 => return Ok(Arc::default()),
        Some(metadata) => Problem::OtherMetadata { told, known: metadata.columns.len() },
        None => Problem::NoMetadata,
    };
    Err(at_count.error("result metadata", problem))
}

/// The specifications of `count` columns or bind markers; `at_count` is where their number stood.
fn read_columns(
    reader: &mut Reader<'_>,
    at_count: Reader<'_>,
    count: usize,
    global: bool,
) -> Result<(Vec<ColumnSpec<'static>>, Vec<OpaqueType>), ParseError> {
    let common = if global { Some(read_table(reader)?) } else { None };
    // A column takes at least the length of its name and a type; without a common table two more lengths.
    let min_each = if global { 4 } else { 8 };
    let left = reader.left();
    let (what, told) = ("the columns", count as u64);
    if count.saturating_mul(min_each) > left {
        return Err(at_count.error(what, Problem::TooMany { count: told, left }));
    }
    if let Some((keyspace, table)) = common {
        let repeated = told * (keyspace.len() + table.len()) as u64;
        if repeated > MAX_REPEATED_NAMES {
            return Err(at_count.error(what, Problem::Expansion(repeated)));
        }
    }
    let mut columns = Vec::with_capacity(capacity(count));
    let mut opaque = Vec::new();
    let mut classes = Vec::new();
    for column in 0..count {
        let (keyspace, table) = match common {
            Some(common) => common,
            None => read_table(reader)?,
        };
        let table = TableSpec::owned(keyspace.to_owned(), table.to_owned());
        let name = reader.string("the name of a column")?.to_owned();
        let typ = column_type::read(reader, &mut classes)?;
        opaque.extend(classes.drain(..).map(|class| OpaqueType { column, class }));
        columns.push(ColumnSpec::owned(name, typ, table));
    }
    Ok((columns, opaque))
}

fn read_table<'a>(reader: &mut Reader<'a>) -> Result<(&'a str, &'a str), ParseError> {
    let keyspace = reader.string("the keyspace of a column")?;
    let table = reader.string("the table of a column")?;
    Ok((keyspace, table))
}

/// What PREPARED says about the bind markers.
pub(super) struct Markers {
    pub(super) metadata: PreparedMetadata,
    pub(super) opaque: Vec<OpaqueType>,
}

/// Reads the metadata of bind markers.
pub(super) fn read_markers(reader: &mut Reader<'_>, dialect: Dialect) -> Result<Markers, ParseError> {
    let flags = reader.int("the flags of a prepared statement")?;
    let at_count = *reader;
    let count = reader.length("the number of bind markers")?;
    if count > usize::from(u16::MAX) {
        let (count, left) = (count as u64, reader.left());
        return Err(at_count.error("the bind markers", Problem::TooMany { count, left }));
    }
    let mut pk_indexes = Vec::new();
    if dialect.version.has_partition_key_indexes() {
        pk_indexes = read_partition_key(reader, count)?;
    }
    let (columns, opaque) = read_columns(reader, at_count, count, flags & GLOBAL_TABLE != 0)?;
    let metadata = PreparedMetadata { flags, col_count: columns.len(), pk_indexes, col_specs: columns };
    Ok(Markers { metadata, opaque })
}

/// Which of the bind markers are parts of the partition key.
fn read_partition_key(reader: &mut Reader<'_>, markers: usize) -> Result<Vec<PartitionKeyIndex>, ParseError> {
    let what = "the bind markers of the partition key";
    let before = *reader;
    let parts = reader.count(what, 2)?;
    let wrong = |reader: Reader<'_>, number| reader.error(what, Problem::Unknown(number));
    if parts > markers {
        return Err(wrong(before, parts as i64));
    }
    let mut pk_indexes = Vec::with_capacity(capacity(parts));
    for sequence in 0..parts {
        let before = *reader;
        let index = reader.short(what)?;
        if usize::from(index) >= markers {
            return Err(wrong(before, i64::from(index)));
        }
        // There are no more parts than markers, whose number fits.
        let sequence = sequence as u16;
        pk_indexes.push(PartitionKeyIndex { index, sequence });
    }
    pk_indexes.sort_by_key(|part| part.index);
    Ok(pk_indexes)
}
