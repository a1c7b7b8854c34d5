//! The printed table of a failed connect.

use super::{ConnectError, Error, fmt};

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
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        let mut last = self.0.to_string();
        while let Some(error) = source {
            let text = error.to_string();
            // Many errors print their source themselves; saying it twice helps nobody.
            if !last.ends_with(&text) {
                write!(f, ": {text}")?;
            }
            last = text;
            source = error.source();
        }
        Ok(())
    }
}

/// An error with its causes on one line, each said once.
pub fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl fmt::Display + 'a {
    Chain(error)
}
