//! The printed table of a failed connect.

use super::{ConnectError, Error, fmt};

/// How many characters of one message are printed.
const MAX_MESSAGE: usize = 500;

/// Prints a [`ConnectError`]: its sentence, then a line per attempt with address, stage, elapsed and cause.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    error: &'a ConnectError,
}

impl<'a> Report<'a> {
    pub(super) fn new(error: &'a ConnectError) -> Self {
        Self { error }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        let failed = self.error.failed();
        if let ConnectError::Resolve { source, .. } | ConnectError::NotReady { source, .. } = self.error {
            write!(f, ": {}", Chain(&**source))?;
        }
        let width = failed.iter().map(|a| a.addr.to_string().len()).max().unwrap_or(0);
        for attempt in failed {
            write!(
                f,
                "\n  {:<width$}  {:<10}  {:>9}  {}",
                attempt.addr.to_string(),
                attempt.error.stage(),
                format!("{:.1?}", attempt.elapsed),
                Chain(attempt.error.cause()),
            )?;
        }
        if self.error.untried() > 0 {
            write!(f, "\n  {} more not tried", self.error.untried())?;
        }
        Ok(())
    }
}

/// An error with its causes on one line.
struct Chain<'a>(&'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut source = self.0.source();
        let mut last = self.0.to_string();
        write!(f, "{}", Printable(&last))?;
        while let Some(error) = source {
            let text = error.to_string();
            // Many errors print their source themselves; saying it twice helps nobody.
            if !last.ends_with(&text) {
                write!(f, ": {}", Printable(&text))?;
            }
            last = text;
            source = error.source();
        }
        Ok(())
    }
}

/// A text that may come from a peer, fit for a terminal and a log.
struct Printable<'a>(&'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;

        let end = self.0.char_indices().nth(MAX_MESSAGE).map_or(self.0.len(), |(end, _)| end);
        for c in self.0[..end].chars() {
            if controls(c) { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
        }
        if end < self.0.len() {
            write!(f, "... (the first {MAX_MESSAGE} of {} characters)", self.0.chars().count())?;
        }
        Ok(())
    }
}

/// Whether a character does something to a terminal or line instead of standing in it.
fn controls(c: char) -> bool {
    // The latter separate lines and turn the direction of writing.
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text on one line: control characters are escaped, and what is too long is cut, with a note.
pub fn printable(text: &str) -> impl fmt::Display + '_ {
    Printable(text)
}

/// An error with its causes on one line, each said once; every message is [`printable`].
pub fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl fmt::Display + 'a {
    Chain(error)
}
