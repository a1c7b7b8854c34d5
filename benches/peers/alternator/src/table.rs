//! What was measured: a row for each number, a column for each client.

use std::{collections::HashMap, fmt};

use crate::clients::KINDS;

#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    goal: &'static str,
    cells: HashMap<&'static str, String>,
}

impl Table {
    /// Fills a cell in, and says so at once.
    pub fn set(&mut self, what: &str, goal: &'static str, kind: &'static str, cell: String) {
        eprintln!("{what}  {kind}  {cell}");
        let place = self.rows.iter().position(|row| row.what == what).unwrap_or_else(|| {
            self.rows.push(Row { what: what.to_owned(), goal, cells: HashMap::new() });
            self.rows.len() - 1
        });
        self.rows[place].cells.insert(kind, cell);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return Ok(());
        }
        writeln!(f, "| | goal | {} |", KINDS.join(" | "))?;
        writeln!(f, "|---|---|{}", "---|".repeat(KINDS.len()))?;
        for Row { what, goal, cells } in &self.rows {
            write!(f, "| {what} | {goal} |")?;
            for kind in KINDS {
                write!(f, " {} |", cells.get(kind).map_or("", String::as_str))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
