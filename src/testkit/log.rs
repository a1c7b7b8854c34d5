//! What happened on the wire, in order, and how much of it at the same time.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::Stage;

mod record;

pub use record::{ConnectionLog, Ended, Event, EventKind};

/// The log of one or several clusters; a clone is the same log.
///
/// Each cluster and each [`BareAddress`](super::BareAddress) has a log of its own unless it is
/// given one. A shared log is how overlap is measured across clusters.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use messina::testkit::{Cluster, Log};
///
/// let log = Log::new();
/// let cluster = Cluster::builder().nodes(2).log(&log).start().await?;
/// // .. connect ..
/// log.wait_for(Duration::from_secs(1), |seen| seen.logins() == 2).await?;
/// assert_eq!(log.now().most_logins_at_once(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Log {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<Snapshot>,
    changed: watch::Sender<()>,
}

/// The state of a [`Log`] at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    connections: Vec<ConnectionLog>,
    open: usize,
    most_open: usize,
    logging_in: usize,
    most_logging_in: usize,
    logins: usize,
    rejected_logins: usize,
    next: u64,
}

/// A condition that did not come true within its limit; shows what was seen instead.
#[derive(Debug)]
pub struct NotSeen {
    within: Duration,
    seen: Snapshot,
}

impl fmt::Display for NotSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not seen within {:?}; {} connections:", self.within, self.seen.connections.len())?;
        self.seen.connections.iter().try_for_each(|connection| write!(f, "\n  {connection}"))
    }
}

impl std::error::Error for NotSeen {}

impl Default for Log {
    fn default() -> Self {
        Self::new()
    }
}

impl Log {
    /// An empty log.
    pub fn new() -> Self {
        let shared = Shared { state: Mutex::default(), changed: watch::Sender::new(()) };
        Self { shared: Arc::new(shared) }
    }

    /// What has happened until now.
    pub fn now(&self) -> Snapshot {
        self.state().clone()
    }

    /// Looks at what has happened until now, without a copy.
    pub fn look<R>(&self, look: impl FnOnce(&Snapshot) -> R) -> R {
        look(&self.state())
    }

    /// Every connection until now, in the order of accepting.
    pub fn connections(&self) -> Vec<ConnectionLog> {
        self.state().connections.clone()
    }

    /// Waits until the condition holds.
    ///
    /// # Errors
    /// [`NotSeen`] when it does not hold within the limit.
    pub async fn wait_for(
        &self,
        within: Duration,
        mut condition: impl FnMut(&Snapshot) -> bool,
    ) -> Result<(), NotSeen> {
        let mut changed = self.shared.changed.subscribe();
        let wait = async {
            while !condition(&self.state()) {
                // The sender lives as long as `self`.
                if changed.changed().await.is_err() {
                    break;
                }
            }
        };
        let waited = tokio::time::timeout(within, wait).await;
        waited.map_err(|_| NotSeen { within, seen: self.now() })
    }

    fn state(&self) -> MutexGuard<'_, Snapshot> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<R>(&self, change: impl FnOnce(&mut Snapshot) -> R) -> R {
        let result = change(&mut self.state());
        self.shared.changed.send_replace(());
        result
    }

    /// A connection was accepted.
    pub(super) fn opened(&self, server: SocketAddr, client: SocketAddr) -> Recorder {
        let index = self.change(|state| {
            let index = state.connections.len();
            state.connections.push(ConnectionLog::new(index, server, client));
            state.open += 1;
            state.note(index, EventKind::Opened);
            index
        });
        Recorder { log: self.clone(), index, logging_in: false, ended: false }
    }
}

impl Snapshot {
    /// Every connection, in the order of accepting.
    pub fn connections(&self) -> &[ConnectionLog] {
        &self.connections
    }

    /// The connections that this address accepted.
    pub fn of(&self, server: SocketAddr) -> impl Iterator<Item = &ConnectionLog> {
        self.connections.iter().filter(move |connection| connection.server() == server)
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.open
    }

    /// How many connections were accepted.
    pub fn opened(&self) -> usize {
        self.connections.len()
    }

    /// The most connections that were open when one of them sent its first byte.
    ///
    /// One that is closed before the next is dialled does not count beside it. That is exact where client and
    /// servers run on one thread; on several, the end of the one may be seen after the start of the other.
    pub fn most_open_at_once(&self) -> usize {
        self.most_open
    }

    /// How many logins succeeded, with a password or without.
    pub fn logins(&self) -> usize {
        self.logins
    }

    /// How many logins were refused.
    pub fn rejected_logins(&self) -> usize {
        self.rejected_logins
    }

    /// The most connections that were past OPTIONS and not done with initialisation at the same
    /// time.
    ///
    /// A connection counts from its STARTUP until the cluster name, and what else of keyspace,
    /// identity and REGISTER it asks for before anything else, is answered; or until it is closed.
    pub fn most_logins_at_once(&self) -> usize {
        self.most_logging_in
    }

    /// How many requests of a stage came, over all connections.
    pub fn count(&self, stage: Stage) -> usize {
        self.connections.iter().map(|connection| connection.count(stage)).sum()
    }

    fn note(&mut self, index: usize, kind: EventKind) {
        let order = self.next;
        self.next += 1;
        if let Some(connection) = self.connections.get_mut(index) {
            connection.push(Event { order, at: Instant::now(), kind });
        }
    }
}

/// Writes the log of one connection; the end of it is the end of the connection.
#[derive(Debug)]
pub(super) struct Recorder {
    log: Log,
    index: usize,
    logging_in: bool,
    ended: bool,
}

impl Recorder {
    pub(super) fn note(&self, kind: EventKind) {
        self.log.change(|state| {
            match &kind {
                EventKind::LoggedIn => state.logins += 1,
                EventKind::LoginRejected => state.rejected_logins += 1,
                _ => {}
            }
            state.note(self.index, kind);
        });
    }

    pub(super) fn received(&self, bytes: &[u8]) {
        // No one waits for bytes; what they mean is noted next.
        let mut state = self.log.state();
        let Some(connection) = state.connections.get_mut(self.index) else { return };
        let first = connection.received_total() == 0;
        connection.receive(bytes);
        if first {
            // Not when it was accepted: of one that the client closed right before, the end may be seen after that.
            state.most_open = state.most_open.max(state.open);
        }
    }

    /// Says whether the connection is in its initialisation.
    pub(super) fn logging_in(&mut self, now: bool) {
        if std::mem::replace(&mut self.logging_in, now) == now {
            return;
        }
        self.log.change(|state| {
            if now {
                state.logging_in += 1;
                state.most_logging_in = state.most_logging_in.max(state.logging_in);
            } else {
                state.logging_in -= 1;
            }
        });
    }

    pub(super) fn end(&mut self, ended: Ended) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.logging_in(false);
        self.log.change(|state| {
            state.open -= 1;
            state.note(self.index, EventKind::Closed(ended));
        });
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end(Ended::ByServer);
    }
}
