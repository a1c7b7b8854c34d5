//! Plain text in columns, for what is shown to people: aligned, without frames, fit for a pipe.

use std::{borrow::Cow, fmt};

use messina_layers::error::printable;

/// Rows under a heading; a column that has nothing in any row is left out.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
struct Column {
    heading: Cow<'static, str>,
    // Numbers end at the same place; words begin there.
    number: bool,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self { columns: Vec::new(), rows: Vec::new() }
    }

    /// A column of words.
    pub(crate) fn text(mut self, heading: impl Into<Cow<'static, str>>) -> Self {
        self.columns.push(Column { heading: heading.into(), number: false });
        self
    }

    /// A column of numbers.
    pub(crate) fn number(mut self, heading: impl Into<Cow<'static, str>>) -> Self {
        self.columns.push(Column { heading: heading.into(), number: true });
        self
    }

    /// A row: as many cells as there are columns; what a peer sent is made printable.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().map(|cell| printable(&cell).to_string()).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let columns = self.columns.iter().enumerate().map(|(at, column)| (at, column, widest(at)));
        let shown: Vec<_> = columns.filter(|(_, _, width)| *width > 0).collect();
        let heading = shown.iter().map(|(_, column, _)| &*column.heading).collect();
        let rows = self.rows.iter().map(|row| shown.iter().map(|(at, ..)| row[*at].as_str()).collect());
        for (number, cells) in std::iter::once::<Vec<&str>>(heading).chain(rows).enumerate() {
            let mut line = String::new();
            for ((_, column, width), cell) in shown.iter().zip(cells) {
                let width = (*width).max(column.heading.chars().count());
                let gap = if line.is_empty() { "" } else { "  " };
                line += &match column.number {
                    true => format!("{gap}{cell:>width$}"),
                    false => format!("{gap}{cell:<width$}"),
                };
            }
            write!(f, "{}{}", if number == 0 { "" } else { "\n" }, line.trim_end())?;
        }
        Ok(())
    }
}
