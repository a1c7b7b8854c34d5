//! Rows that are not what was asked for.

use std::fmt;

use scylla_cql_core::deserialize::row::{BuiltinTypeCheckError, BuiltinTypeCheckErrorKind};
use scylla_cql_core::deserialize::{DeserializationError, TypeCheckError, value};
use scylla_cql_core::frame::response::result::ColumnSpec;
use thiserror::Error as ThisError;

use super::cql_type::CqlType;
use crate::error::{Error, Kind};

/// Rows that are not what was asked for; the cause of an [`Error`] of [`Kind::Rows`].
#[derive(Clone, Debug, ThisError)]
#[non_exhaustive]
pub enum RowsError {
    /// One row was asked for, and there is none.
    #[error("there is no row")]
    NoRow,
    /// One row was asked for, and there are more.
    #[error("there are {} rows", AtLeast(*.seen, *.more))]
    TooManyRows {
        /// How many were seen.
        seen: usize,
        /// Whether further pages follow that were not looked at.
        more: bool,
    },
    /// Rows were asked for, and the statement gives none: it is no query.
    #[error("the statement gives no rows")]
    NotRows,
    /// Whether it was applied was asked for, and the statement is not conditional.
    #[error("the statement is not conditional: its result has no column \"[applied]\"")]
    NotConditional,
    /// The Rust type does not fit the columns.
    #[error("{}", Mismatch(.0, .1))]
    Type(#[source] TypeCheckError, Columns),
    /// A row cannot be read as the Rust type.
    #[error("row {row} of its page cannot be read")]
    Row {
        /// Which row of its page, counted from 0.
        row: usize,
        /// What is wrong with it.
        #[source]
        source: DeserializationError,
    },
    /// The server sends an empty page again and again.
    #[error("an empty page says that it comes after itself")]
    EndlessPages,
}

/// The columns of a result, for an error.
#[derive(Clone, Debug)]
pub struct Columns(Vec<ColumnSpec<'static>>);

impl RowsError {
    pub(super) fn of_type(error: TypeCheckError, columns: &[ColumnSpec<'static>]) -> Self {
        Self::Type(error, Columns(columns.to_vec()))
    }
}

impl From<RowsError> for Error {
    fn from(error: RowsError) -> Self {
        let message = match &error {
            RowsError::NoRow | RowsError::TooManyRows { .. } => "exactly one row was asked for",
            RowsError::EndlessPages => "the pages do not end",
            _ => "the rows are not what was asked for",
        };
        let kind = if matches!(error, RowsError::EndlessPages) { Kind::Protocol } else { Kind::Rows };
        Self::new(kind, message).with_source(std::sync::Arc::new(error) as std::sync::Arc<_>)
    }
}

struct AtLeast(usize, bool);

impl fmt::Display for AtLeast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.1 { "at least " } else { "" }, self.0)
    }
}

/// Says in one line which column does not fit which type.
struct Mismatch<'a>(&'a TypeCheckError, &'a Columns);

impl fmt::Display for Mismatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(row) = self.0.downcast_ref::<BuiltinTypeCheckError>() else {
            return write!(f, "the Rust type does not fit the columns ({})", Listed(self.1));
        };
        match &row.kind {
            BuiltinTypeCheckErrorKind::ColumnTypeCheckFailed { column_name, err, .. } => {
                match err.downcast_ref::<value::BuiltinTypeCheckError>() {
                    Some(cell) => write!(
                        f,
                        "column `{column_name}` has the CQL type {}, which the Rust type {} cannot hold",
                        CqlType(&cell.cql_type),
                        cell.rust_name
                    ),
                    None => write!(f, "column `{column_name}` does not fit its Rust type"),
                }
            }
            _ => write!(f, "the Rust type {} does not fit the columns ({})", row.rust_name, Listed(self.1)),
        }
    }
}

struct Listed<'a>(&'a Columns);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, column) in self.0.0.iter().enumerate() {
            write!(f, "{}{} {}", if i == 0 { "" } else { ", " }, column.name(), CqlType(column.typ()))?;
        }
        Ok(())
    }
}
