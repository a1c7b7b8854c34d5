//! One node: a Java process on a loopback address of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::files;
use super::log::Log;
use super::network::Network;
use super::process::Process;

/// How long a node may take until it answers; it needs about seven seconds on an idle core.
pub(crate) const START: Duration = Duration::from_secs(240);

/// A node that runs, or could run again on the same data.
#[derive(Debug)]
pub(crate) struct Node {
    address: Mutex<Ipv4Addr>,
    /// What it tells clients, where that is another address.
    front: Option<Ipv4Addr>,
    command: Command,
    /// Its configuration and its data.
    pub(crate) directory: PathBuf,
    run: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Node {
    pub(crate) fn new(address: Ipv4Addr, front: Option<Ipv4Addr>, command: Command, place: [PathBuf; 2]) -> Self {
        let [directory, run] = place;
        Self { address: Mutex::new(address), front, command, directory, run, process: Mutex::new(None) }
    }

    /// Where it is now.
    pub(crate) fn address(&self) -> Ipv4Addr {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_address(&self, address: Ipv4Addr) {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    pub(super) fn front(&self) -> Option<Ipv4Addr> {
        self.front
    }

    /// Where it serves clients.
    pub(crate) fn native(&self) -> SocketAddr {
        SocketAddr::from((self.address(), Network::ports().native))
    }

    /// Where it tells clients to go.
    pub(crate) fn advertised(&self) -> SocketAddr {
        SocketAddr::from((self.front.unwrap_or_else(|| self.address()), Network::ports().native))
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
        self.launch()?.wait_for(START, started).map_err(|why| format!("{}: {why}", self.address()))?;
        Ok(())
    }

    /// Starts a node that is down as a new one, with nothing known and a host id of its own, where it was before.
    pub(crate) fn reborn(&self) -> Result<(), String> {
        files::wipe(&self.directory)?;
        // The others remember another node at this address.
        files::options(&self.directory, &["-Dcassandra.allow_unsafe_join=true"])?;
        self.restart()
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
            None => Err(format!("{}: not running", self.address())),
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
