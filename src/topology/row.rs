//! Reading a row of a system table by column name: a server may lack columns and have others.

use std::{error, fmt};

use scylla_cql_core::{
    deserialize::{FrameSlice, row::ColumnIterator, value::DeserializeValue},
    frame::response::result::ColumnType,
};

/// A row that cannot be used: which column, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    table: &'static str,
    column: String,
    problem: String,
}

impl RowError {
    pub(super) fn new(table: &'static str, column: &str, problem: impl fmt::Display) -> Self {
        Self { table, column: column.to_owned(), problem: problem.to_string() }
    }

    /// The column.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}: {}", self.table, self.column, self.problem)
    }
}

impl error::Error for RowError {}

/// One row, its columns found by name.
pub(super) struct Row<'a> {
    table: &'static str,
    columns: Vec<(&'a str, &'a ColumnType<'a>, Option<FrameSlice<'a>>)>,
}

impl<'a> Row<'a> {
    pub(super) fn read(table: &'static str, columns: ColumnIterator<'a, 'a>) -> Result<Self, RowError> {
        let mut found = Vec::with_capacity(columns.columns_remaining());
        for column in columns {
            let column = column.map_err(|error| RowError::new(table, "?", error))?;
            found.push((column.spec.name(), column.spec.typ(), column.slice));
        }
        Ok(Self { table, columns: found })
    }

    /// The value, `None` if the column is missing or null.
    pub(super) fn get<T: DeserializeValue<'a, 'a>>(&self, name: &str) -> Result<Option<T>, RowError> {
        let Some((_, typ, slice)) = self.columns.iter().find(|(column, ..)| *column == name) else {
            return Ok(None);
        };
        if slice.is_none() {
            return Ok(None);
        }
        T::type_check(typ).map_err(|error| RowError::new(self.table, name, error))?;
        T::deserialize(typ, *slice).map(Some).map_err(|error| RowError::new(self.table, name, error))
    }

    pub(super) fn error(&self, column: &str, problem: impl fmt::Display) -> RowError {
        RowError::new(self.table, column, problem)
    }
}
