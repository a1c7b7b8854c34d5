//! What is printed, and whether it could be.

use std::{
    fmt,
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
};

static LOST: AtomicBool = AtomicBool::new(false);

/// Prints a line on stdout. A reader that went away wants no more, and the rest goes on without; any other failure is
/// kept for [`lost`].
pub(crate) fn print(line: fmt::Arguments<'_>) {
    if let Err(error) = writeln!(io::stdout(), "{line}")
        && error.kind() != io::ErrorKind::BrokenPipe
        && !LOST.swap(true, Ordering::Relaxed)
    {
        complain(format_args!("error: the output could not be written: {error}"));
    }
}

/// Prints a line on stderr, if that can be.
pub(crate) fn complain(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Whether something that was to be printed on stdout is lost.
pub(crate) fn lost() -> bool {
    LOST.load(Ordering::Relaxed)
}
