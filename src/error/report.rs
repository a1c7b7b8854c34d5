//! An error in one line, and as a table.

use std::fmt;

use messina_layers::{
    ConnectError,
    error::{chain, printable},
};

use super::Error;

/// Prints an [`Error`] with every attempt and try on a line of its own.
#[derive(Debug)]
pub struct Report<'a> {
    error: &'a Error,
}

impl<'a> Report<'a> {
    pub(super) fn new(error: &'a Error) -> Self {
        Self { error }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", printable(&self.error.inner.message))?;
        if let Some(source) = &self.error.inner.source {
            write!(f, ": {}", chain(&**source))?;
        }
        for failed in self.error.contact_points() {
            write!(f, "\ncontact point {}: {}", printable(&failed.name), failed.error.report())?;
        }
        for tried in self.error.tries() {
            write!(
                f,
                "\n  {}  {}  {:>9}  {}",
                tried.host_id,
                tried.addr,
                format!("{:.1?}", tried.elapsed),
                chain(&*tried.error)
            )?;
        }
        Ok(())
    }
}

/// The one line of an error.
pub(super) fn one_line(error: &Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", printable(&error.inner.message))?;
    if let Some(source) = &error.inner.source {
        write!(f, ": {}", chain(&**source))?;
    }
    for (i, failed) in error.contact_points().iter().enumerate() {
        write!(f, "{}{}", if i == 0 { ": " } else { "; " }, printable(&failed.name))?;
        contact_point(&failed.error, f)?;
    }
    for (i, tried) in error.tries().iter().enumerate() {
        let before = if i == 0 { " (" } else { "; " };
        write!(f, "{before}{} after {:.1?}: {}", tried.addr, tried.elapsed, chain(&*tried.error))?;
    }
    if !error.tries().is_empty() {
        f.write_str(")")?;
    }
    Ok(())
}

fn contact_point(error: &ConnectError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        ConnectError::Resolve { source, elapsed, .. } => {
            write!(f, " (resolve after {elapsed:.1?}: {})", chain(&**source))
        }
        ConnectError::NoAddress { .. } => f.write_str(" (resolve: the name has no address)"),
        _ => {
            for (i, attempt) in error.failed().iter().enumerate() {
                let before = if i == 0 { " (" } else { ", " };
                let (addr, stage) = (attempt.addr, attempt.error.stage());
                write!(f, "{before}{addr} {stage} after {:.1?}: {}", attempt.elapsed, chain(attempt.error.cause()))?;
            }
            if let ConnectError::NotReady { source, .. } = error {
                write!(
                    f,
                    "{}the stack broke: {}",
                    if error.failed().is_empty() { " (" } else { ", " },
                    chain(&**source)
                )?;
            }
            if error.untried() > 0 {
                write!(f, ", {} more not tried", error.untried())?;
            }
            f.write_str(")")
        }
    }
}
