//! What a node prints, to wait for a line and to show when it does not start.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The lines of one process, shared with the thread that reads them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<(Mutex<Lines>, Condvar)>);

#[derive(Debug, Default)]
struct Lines {
    lines: Vec<String>,
    ended: bool,
}

impl Log {
    /// Reads the output until it ends.
    pub(crate) fn follow(output: impl Read + Send + 'static) -> Self {
        let log = Self::default();
        let writer = log.clone();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                writer.lock().lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
                writer.0.1.notify_all();
                line.clear();
            }
            writer.lock().ended = true;
            writer.0.1.notify_all();
        });
        log
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first line that is wanted, waiting for it if it has not been printed yet.
    pub(crate) fn wait_for(&self, limit: Duration, wanted: impl Fn(&str) -> bool) -> Result<String, String> {
        let find = |lines: &Lines| lines.lines.iter().find(|line| wanted(line)).cloned();
        let (lines, _) = self
            .0
            .1
            .wait_timeout_while(self.lock(), limit, |lines| !lines.ended && find(lines).is_none())
            .unwrap_or_else(PoisonError::into_inner);
        find(&lines).ok_or_else(|| {
            let why = if lines.ended { "the process ended" } else { "no such line in time" };
            let tail = lines.lines.len().saturating_sub(40);
            format!("{why}; the last lines were\n{}", lines.lines[tail..].join("\n"))
        })
    }

    /// Waits until the output ends, that is, until the process is gone.
    pub(crate) fn wait_end(&self, limit: Duration) -> Result<(), String> {
        let (lines, _) = self
            .0
            .1
            .wait_timeout_while(self.lock(), limit, |lines| !lines.ended)
            .unwrap_or_else(PoisonError::into_inner);
        if lines.ended { Ok(()) } else { Err(format!("the process still runs after {limit:?}")) }
    }
}
