//! A process that never outlives the run, whatever ends it.

#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use super::log::Log;

/// Runs the rest of its arguments and watches a pipe whose other end is held here. The kernel closes the pipe when the
/// run ends in any way, a kill included; then the process is killed and the data of the run removed.
const WATCHED: &str = r#"
run=$1
shift
exec 3<&0
"$@" </dev/null 3<&- 2>&1 &
child=$!
echo "pid $child"
(
    cat <&3
    : >"$run/abandoned"
    kill -KILL "$child"
) >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait "$child"
kill "$watch" 2>/dev/null
if [ -e "$run/abandoned" ]; then rm -rf "$run"; fi
"#;

/// A running program with its output.
#[derive(Debug)]
pub(crate) struct Process {
    shell: Child,
    /// Closing it kills the program.
    pipe: Option<ChildStdin>,
    pid: u32,
    log: Log,
}

impl Process {
    /// Starts a program whose data is under `run`.
    pub(crate) fn start(command: &Command, run: &Path) -> Result<Self, String> {
        let mut shell = Command::new("sh");
        shell.args(["-c", WATCHED, "sh"]).arg(run).arg(command.get_program()).args(command.get_args());
        // A group of its own: an interrupt from the terminal reaches the run alone, which then ends its nodes.
        #[cfg(unix)]
        shell.process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = shell.spawn().map_err(|error| format!("sh: {error}"))?;
        let pipe = shell.stdin.take();
        let output = shell.stdout.take().ok_or("sh has no output")?;
        let log = Log::follow(output);
        let line = log.wait_for(Duration::from_secs(10), |line| line.starts_with("pid "))?;
        let pid = line["pid ".len()..].parse().map_err(|_| format!("not a process id: {line}"))?;
        Ok(Self { shell, pipe, pid, log })
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: &str) -> Result<(), String> {
        let mut kill = Command::new("sh");
        kill.args(["-c", "kill -s \"$1\" \"$2\"", "sh", signal, &self.pid.to_string()]);
        let output = kill.output().map_err(|error| format!("sh: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("kill -s {signal} {}: {}", self.pid, String::from_utf8_lossy(&output.stderr).trim()))
    }

    /// Waits until the program is gone, after a signal that ends it.
    pub(crate) fn wait(mut self, limit: Duration) -> Result<(), String> {
        self.log.wait_end(limit)?;
        self.shell.wait().map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.shell.try_wait().is_ok_and(|status| status.is_some()) {
            return;
        }
        let _ = self.signal("KILL");
        if self.log.wait_end(Duration::from_secs(10)).is_err() {
            // The pipe kills too; nothing more can be done from here.
            self.pipe = None;
        }
        let _ = self.shell.wait();
    }
}
