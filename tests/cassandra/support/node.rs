//! One node: a Java process on a loopback address of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::log::Log;
use super::network::Network;
use super::process::Process;

/// How long a node may take until it answers; it needs about seven seconds on an idle core.
pub(crate) const START: Duration = Duration::from_secs(120);

/// A node that runs, or could run again on the same data.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) address: Ipv4Addr,
    command: Command,
    run: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Node {
    pub(crate) fn new(address: Ipv4Addr, command: Command, run: PathBuf) -> Self {
        Self { address, command, run, process: Mutex::new(None) }
    }

    /// Where clients connect.
    pub(crate) fn native(&self) -> SocketAddr {
        SocketAddr::from((self.address, Network::ports().native))
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the process and returns at once.
    pub(crate) fn launch(&self) -> Result<Log, String> {
        let process = Process::start(&self.command, &self.run)?;
        let log = process.log().clone();
        *self.process() = Some(process);
        Ok(log)
    }

    /// Starts the node and waits until it serves.
    pub(crate) fn restart(&self) -> Result<(), String> {
        self.launch()?.wait_for(START, started).map_err(|why| format!("{}: {why}", self.address))?;
        Ok(())
    }

    /// Stops the node in the middle of what it does; its sockets stay.
    pub(crate) fn freeze(&self) -> Result<(), String> {
        self.signal("STOP")
    }

    /// Lets a frozen node go on.
    pub(crate) fn thaw(&self) -> Result<(), String> {
        self.signal("CONT")
    }

    /// Ends the node on the spot.
    pub(crate) fn kill(&self) -> Result<(), String> {
        self.signal("KILL")?;
        self.gone(Duration::from_secs(20))
    }

    /// Asks the node to drain and end, and waits for it.
    pub(crate) fn stop(&self) -> Result<(), String> {
        self.signal("TERM")?;
        self.gone(Duration::from_secs(60))
    }

    fn signal(&self, signal: &str) -> Result<(), String> {
        match &*self.process() {
            Some(process) => process.signal(signal),
            None => Err(format!("{}: not running", self.address)),
        }
    }

    fn gone(&self, limit: Duration) -> Result<(), String> {
        let process = self.process().take();
        process.map_or(Ok(()), |process| process.wait(limit))
    }
}

/// The line a node prints when it serves clients.
pub(crate) fn started(line: &str) -> bool {
    line.contains("Startup complete")
}
