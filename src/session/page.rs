//! One page of a result.

use std::fmt;
use std::net::SocketAddr;

use bytes::Bytes;
use scylla_cql_core::deserialize::result::TypedRowIterator;
use scylla_cql_core::deserialize::row::{ColumnIterator, DeserializeRow, RawColumn};
use scylla_cql_core::deserialize::value::DeserializeValue;
use scylla_cql_core::deserialize::{DeserializationError, FrameSlice};
use scylla_cql_core::frame::response::result::ColumnSpec;
use thiserror::Error as ThisError;
use uuid::Uuid;

use super::PagingState;
use super::rows_error::RowsError;
use crate::error::Error;
use crate::protocol::response::{self, ResultResponse, Rows, SchemaChange};
use crate::protocol::{Payload, ProtocolVersion};
use crate::topology::SchemaAgreement;

/// The node that answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ServedBy {
    /// The node.
    pub host_id: Uuid,
    /// The address of the connection.
    pub addr: SocketAddr,
}

impl fmt::Display for ServedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.addr, self.host_id)
    }
}

/// One page of a result, and what came with it.
#[derive(Clone, Debug)]
pub struct Page {
    content: Content,
    served_by: ServedBy,
    version: ProtocolVersion,
    /// Rarely there.
    extras: Option<Box<Extras>>,
}

#[derive(Clone, Debug)]
enum Content {
    Nothing,
    Rows(Rows),
    SchemaChange(Box<Changed>),
    /// The answer to PREPARE, which only the session asks for.
    Prepared(Box<response::Prepared>),
}

/// What changed in the schema, and whether the nodes agree on it.
#[derive(Clone, Debug)]
struct Changed {
    change: SchemaChange,
    agreement: Option<SchemaAgreement>,
}

#[derive(Clone, Debug)]
struct Extras {
    tracing_id: Option<Uuid>,
    warnings: Vec<String>,
    payload: Payload,
}

impl Page {
    #[inline]
    pub(super) fn new(result: ResultResponse, served_by: ServedBy, version: ProtocolVersion) -> Self {
        let content = match result {
            ResultResponse::Rows(rows) => Content::Rows(rows),
            ResultResponse::Prepared(prepared) => Content::Prepared(prepared),
            ResultResponse::SchemaChange(change) => {
                Content::SchemaChange(Box::new(Changed { change, agreement: None }))
            }
            ResultResponse::Void | ResultResponse::SetKeyspace(_) => Content::Nothing,
        };
        Self { content, served_by, version, extras: None }
    }

    #[inline]
    pub(super) fn with_extras(mut self, tracing_id: Option<Uuid>, warnings: Vec<String>, payload: Payload) -> Self {
        if tracing_id.is_some() || !warnings.is_empty() || !payload.is_empty() {
            for warning in &warnings {
                tracing::warn!(addr = %self.served_by.addr, warning, "the server warns");
            }
            self.extras = Some(Box::new(Extras { tracing_id, warnings, payload }));
        }
        self
    }

    /// The rows of this page, which may borrow from it; further pages are not looked at.
    ///
    /// # Errors
    /// [`RowsError::NotRows`] when the statement gives no rows, [`RowsError::Type`] when `T` does not fit the columns.
    pub fn rows<'a, T: DeserializeRow<'a, 'a>>(&'a self) -> Result<PageRows<'a, T>, RowsError> {
        let rows = self.raw_rows()?;
        let typed = rows.typed().map_err(|error| RowsError::of_type(error, rows.metadata().columns()))?;
        Ok(PageRows { typed, next: 0 })
    }

    /// How many rows this page has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw_rows().map_or(0, Rows::len)
    }

    /// Whether this page has no rows; further pages may have some.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the next page begins; `None` on the last one.
    #[must_use]
    pub fn paging_state(&self) -> Option<PagingState> {
        let state = self.raw_rows().ok()?.paging_state()?;
        Some(PagingState::new(state.clone(), self.version))
    }

    /// The columns of the rows; none if there are no rows.
    #[must_use]
    pub fn columns(&self) -> &[ColumnSpec<'static>] {
        self.raw_rows().map_or(&[], |rows| rows.metadata().columns())
    }

    /// Whether a conditional write was applied.
    ///
    /// # Errors
    /// [`RowsError::NotConditional`] for any other statement.
    pub fn applied(&self) -> Result<bool, Error> {
        let row = self.rows::<ColumnIterator<'_, '_>>().ok().and_then(|mut rows| rows.next());
        let column = row.ok_or(RowsError::NotConditional)??.next();
        match column {
            Some(Ok(RawColumn { spec, slice, .. })) if spec.name() == "[applied]" => {
                let read = bool::type_check(spec.typ()).ok().and_then(|()| bool::deserialize(spec.typ(), slice).ok());
                Ok(read.ok_or(RowsError::NotConditional)?)
            }
            _ => Err(RowsError::NotConditional.into()),
        }
    }

    /// What the server warns of.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        self.extras.as_ref().map_or(&[], |extras| &extras.warnings)
    }

    /// Bytes that the server's query handler sent along, if any.
    #[must_use]
    pub fn payload(&self) -> Option<&Payload> {
        self.extras.as_ref().map(|extras| &extras.payload).filter(|payload| !payload.is_empty())
    }

    /// Under which id the server traced the request, when it was asked to.
    #[must_use]
    pub fn tracing_id(&self) -> Option<Uuid> {
        self.extras.as_ref()?.tracing_id
    }

    /// What the statement changed in the schema.
    #[must_use]
    pub fn schema_change(&self) -> Option<&SchemaChange> {
        match &self.content {
            Content::SchemaChange(changed) => Some(&changed.change),
            _ => None,
        }
    }

    /// Whether the nodes agreed on what the statement changed in the schema, as far as the session waited for it.
    #[must_use]
    pub fn schema_agreement(&self) -> Option<&SchemaAgreement> {
        match &self.content {
            Content::SchemaChange(changed) => changed.agreement.as_ref(),
            _ => None,
        }
    }

    pub(super) fn set_agreement(&mut self, agreement: SchemaAgreement) {
        if let Content::SchemaChange(changed) = &mut self.content {
            changed.agreement = Some(agreement);
        }
    }

    /// The node that answered.
    #[must_use]
    pub fn served_by(&self) -> ServedBy {
        self.served_by
    }

    pub(super) fn raw_rows(&self) -> Result<&Rows, RowsError> {
        match &self.content {
            Content::Rows(rows) => Ok(rows),
            _ => Err(RowsError::NotRows),
        }
    }

    pub(super) fn into_prepared(self) -> Option<response::Prepared> {
        match self.content {
            Content::Prepared(prepared) => Some(*prepared),
            _ => None,
        }
    }

    pub(super) fn into_rows(self) -> Result<Rows, RowsError> {
        match self.content {
            Content::Rows(rows) => Ok(rows),
            _ => Err(RowsError::NotRows),
        }
    }
}

/// The rows of one page, one by one.
#[derive(Debug)]
pub struct PageRows<'a, T> {
    typed: TypedRowIterator<'a, 'a, T>,
    next: usize,
}

impl<'a, T: DeserializeRow<'a, 'a>> Iterator for PageRows<'a, T> {
    type Item = Result<T, RowsError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let row = self.next;
        self.next += 1;
        Some(self.typed.next()?.map_err(|source| RowsError::Row { row, source }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.typed.size_hint()
    }
}

impl<'a, T: DeserializeRow<'a, 'a>> ExactSizeIterator for PageRows<'a, T> {}

/// The length in bytes of the row at the front of these.
pub(super) fn row_length(columns: usize, data: &[u8]) -> Result<usize, DeserializationError> {
    let mut rest = data;
    for _ in 0..columns {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(cut_off)?;
        // A negative length is a null, without bytes.
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        rest = after.get(length..).ok_or_else(cut_off)?;
    }
    Ok(data.len() - rest.len())
}

/// The row at the front of these bytes.
pub(super) fn first_row<'a, T: DeserializeRow<'a, 'a>>(
    columns: &'a [ColumnSpec<'static>],
    data: &'a Bytes,
) -> Result<T, DeserializationError> {
    T::deserialize(ColumnIterator::new(columns, FrameSlice::new(data)))
}

fn cut_off() -> DeserializationError {
    DeserializationError::new(CutOff)
}

#[derive(Debug, ThisError)]
#[error("the page ends in the middle of the row")]
struct CutOff;
