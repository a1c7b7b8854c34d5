//! Rows of the node list that are not used.

use std::fmt;

/// A row, or a part of one, that is not used: whose, which column, what it says, and why that is of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The table.
    pub table: &'static str,
    /// The host as far as the row tells it: its host id, or else an address.
    pub host: String,
    /// The column.
    pub column: String,
    /// What it says.
    pub value: String,
    /// Why that is of no use.
    pub reason: String,
}

impl Skipped {
    /// A row that is not used.
    pub fn new(
        table: &'static str,
        host: impl fmt::Display,
        column: &str,
        value: impl fmt::Display,
        reason: impl fmt::Display,
    ) -> Self {
        Self {
            table,
            host: host.to_string(),
            column: column.to_owned(),
            value: value.to_string(),
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, host, column, value, reason } = self;
        write!(f, "{table}.{column} of {host} is {value}: {reason}")
    }
}
