//! Reading a row of a system table by column name: a server may lack columns and have others.

use std::{error, fmt, net::IpAddr};

use scylla_cql_core::{
    deserialize::{FrameSlice, row::ColumnIterator, value::DeserializeValue},
    frame::response::result::ColumnType,
    value::CqlValue,
};
use uuid::Uuid;

use super::Skipped;

/// A row that cannot be used: which column, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    table: &'static str,
    column: String,
    value: String,
    problem: String,
}

impl RowError {
    pub(super) fn new(table: &'static str, column: &str, problem: impl fmt::Display) -> Self {
        Self { table, column: column.to_owned(), value: "?".into(), problem: problem.to_string() }
    }

    /// The column.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }

    /// What the column says, as far as it can be printed.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The same as a row that is not used.
    pub(super) fn skipped(&self, host: impl fmt::Display) -> Skipped {
        Skipped::new(self.table, host, &self.column, &self.value, &self.problem)
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

/// The longest value that a message shows.
const SHOWN: usize = 64;

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
        T::type_check(typ).map_err(|error| self.error(name, error))?;
        T::deserialize(typ, *slice).map(Some).map_err(|error| self.error(name, error))
    }

    pub(super) fn error(&self, column: &str, problem: impl fmt::Display) -> RowError {
        RowError { value: self.shown(column), ..RowError::new(self.table, column, problem) }
    }

    /// Whether the row has this column, be it null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|(column, ..)| *column == name)
    }

    /// Every column that is not null, with its value; those that cannot be read are left out.
    pub(super) fn values(&self) -> impl Iterator<Item = (&'a str, CqlValue)> {
        self.columns
            .iter()
            .filter_map(|(name, typ, slice)| Some((*name, CqlValue::deserialize(typ, Some((*slice)?)).ok()?)))
    }

    /// Whose row it is, as far as it tells.
    pub(super) fn host(&self) -> String {
        if let Ok(Some(host_id)) = self.get::<Uuid>("host_id") {
            return host_id.to_string();
        }
        let address = ["peer", "native_address", "rpc_address"].into_iter().find_map(|name| self.get(name).ok()?);
        address.map_or_else(|| "an unknown host".to_owned(), |ip: IpAddr| ip.to_string())
    }

    /// A value as people read it.
    fn shown(&self, name: &str) -> String {
        let Some((_, typ, slice)) = self.columns.iter().find(|(column, ..)| *column == name) else {
            return "missing".to_owned();
        };
        if slice.is_none() {
            return "null".to_owned();
        }
        let text = match CqlValue::deserialize(typ, *slice) {
            Ok(CqlValue::Inet(ip)) => ip.to_string(),
            Ok(CqlValue::Uuid(id)) => id.to_string(),
            Ok(CqlValue::Int(number)) => number.to_string(),
            Ok(CqlValue::Text(text) | CqlValue::Ascii(text)) => format!("{text:?}"),
            Ok(other) => format!("{other:?}"),
            Err(_) => "bytes that do not fit its type".to_owned(),
        };
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}..", &text[..end]),
            None => text,
        }
    }
}
