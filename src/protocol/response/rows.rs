//! Rows, read when they are asked for.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use scylla_cql_core::deserialize::result::{RawRowIterator, TypedRowIterator};
use scylla_cql_core::deserialize::row::DeserializeRow;
use scylla_cql_core::deserialize::{FrameSlice, TypeCheckError};

use super::metadata::{self, Described, Rare, ResultMetadata};
use crate::protocol::Dialect;
use crate::protocol::parse_error::{ParseError, Problem};
use crate::protocol::reader::Reader;

/// The rows of one page, still as they came.
///
/// ```
/// # use messina::protocol::response::{ParseError, Rows};
/// # fn names(rows: &Rows) -> Result<(), Box<dyn std::error::Error>> {
/// for row in rows.typed::<(i32, &str)>()? {
///     let (id, name) = row?;
///     println!("{id} {name}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Rows {
    metadata: Arc<ResultMetadata>,
    count: usize,
    data: Bytes,
    /// Rarely there, and rows are moved often.
    rare: Option<Box<Rare>>,
}

/// Everything before the rows.
pub(super) struct RowsHead {
    described: Described,
    count: usize,
    /// Where the rows begin in the body.
    offset: usize,
}

impl RowsHead {
    /// Reads metadata and the number of rows.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        dialect: Dialect,
        known: Option<&Arc<ResultMetadata>>,
    ) -> Result<Self, ParseError> {
        let described = metadata::read(reader, dialect, known)?;
        let columns = described.metadata.columns().len();
        let before = *reader;
        let what = "the number of rows";
        // A value takes at least its length.
        let count = reader.count(what, columns.saturating_mul(4))?;
        if columns == 0 && count > 0 {
            return Err(before.error(what, Problem::RowsWithoutColumns(count)));
        }
        let offset = reader.offset();
        Ok(Self { described, count, offset })
    }

    /// Goes on with the body that this was read from.
    pub(super) fn with_body(self, mut body: Bytes) -> Rows {
        body.advance(self.offset);
        Rows { metadata: self.described.metadata, count: self.count, data: body, rare: self.described.rare }
    }
}

impl Rows {
    /// The columns: those that came with the rows, or the known ones that stood in for them.
    #[must_use]
    pub const fn metadata(&self) -> &Arc<ResultMetadata> {
        &self.metadata
    }

    /// The id of [`Rows::metadata`] when the server says that it changed since the statement was prepared.
    #[must_use]
    pub fn new_metadata_id(&self) -> Option<&Bytes> {
        self.rare.as_ref()?.new_metadata_id.as_ref()
    }

    /// Where the next page begins; `None` on the last one.
    #[must_use]
    pub fn paging_state(&self) -> Option<&Bytes> {
        self.rare.as_ref()?.paging_state.as_ref()
    }

    /// How many rows this page has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether this page has none; more pages may follow.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The rows as they came.
    #[must_use]
    pub const fn data(&self) -> &Bytes {
        &self.data
    }

    /// The rows one by one, their values still as they came.
    #[must_use]
    pub fn raw(&self) -> RawRowIterator<'_, '_> {
        let data = FrameSlice::new(&self.data);
        RawRowIterator::new(self.count, self.metadata.columns(), data)
    }

    /// The rows one by one as `R`, which may borrow from them.
    ///
    /// # Errors
    /// When `R` does not fit the columns.
    pub fn typed<'a, R: DeserializeRow<'a, 'a>>(&'a self) -> Result<TypedRowIterator<'a, 'a, R>, TypeCheckError> {
        TypedRowIterator::new(self.raw())
    }
}
