//! The owner's end of the control connection.

use std::{convert::Infallible, fmt, future::Future, net::SocketAddr, sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use messina_layers::{TimedOut, guard::Guarded};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::{Instant, timeout},
};
use tracing::Instrument;
use uuid::Uuid;

use super::{First, Follower, live::Live, schema::SchemaChanges, task::Task};
use crate::{
    connection::Connection,
    error::{Error, Kind},
    establish::Opener,
    topology::{BoxIdentity, NodeFilter, Snapshot, Topology, TopologyMonitor},
};

/// Requests to the task that may wait.
const ROOM: usize = 64;

/// What a control connection reads with, and where it publishes; cheap to clone.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) monitor: Arc<dyn TopologyMonitor>,
    pub(crate) identity: BoxIdentity,
    pub(crate) topology: Topology,
    pub(crate) filter: Option<NodeFilter>,
    pub(super) schema: SchemaChanges,
    current: Arc<ArcSwapOption<Current>>,
}

/// The control connection of this moment.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) connection: Connection,
    /// The node at its other end.
    pub(crate) host_id: Uuid,
    /// The address that answered.
    pub(crate) addr: SocketAddr,
    pub(crate) since: Instant,
    /// The event types that it is registered for.
    pub(crate) events: Vec<&'static str>,
}

impl Shared {
    pub(crate) fn new(
        monitor: Arc<dyn TopologyMonitor>,
        identity: BoxIdentity,
        topology: Topology,
        filter: Option<NodeFilter>,
    ) -> Self {
        Self { monitor, identity, topology, filter, schema: SchemaChanges::default(), current: Arc::default() }
    }

    /// The control connection, while there is one.
    pub(crate) fn current(&self) -> Option<Arc<Current>> {
        self.current.load_full()
    }

    pub(super) fn set_current(&self, live: Option<&Live>) {
        self.current.store(live.map(|live| {
            Arc::new(Current {
                connection: live.connection().clone(),
                host_id: live.host_id(),
                addr: live.way.addr,
                since: Instant::now(),
                events: live.accepted.events.clone(),
            })
        }));
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("monitor", &self.monitor)
            .field("topology", &self.topology)
            .field("filter", &self.filter.is_some())
            .field("current", &self.current())
            .finish()
    }
}

/// The answer to a request: the cluster as it is known then.
pub(super) type Reply = oneshot::Sender<Result<Arc<Snapshot>, Error>>;

/// What the task may be asked for.
pub(super) enum Command {
    /// Reads the nodes again.
    Refresh(Reply),
    /// Looks for another control connection, and closes this one once there is one.
    Reconnect(Reply),
}

/// The control connection with its task; dropping it ends both.
#[derive(Debug)]
pub(crate) struct Control {
    task: JoinHandle<()>,
    handle: Handle,
}

/// Asks the task of a control connection; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    commands: mpsc::Sender<Command>,
    shared: Shared,
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
        self.handle.shared.set_current(None);
    }
}

impl Control {
    /// Tells the nodes of the first connection, and goes on from there in a task.
    pub(crate) fn start(first: First, opener: Opener, follower: impl Follower, shared: Shared) -> Self {
        let (sender, commands) = mpsc::channel(ROOM);
        let handle = Handle { commands: sender, shared: shared.clone() };
        let mut task = Task::new(opener, follower, shared, commands);
        let live = task.begin(first);
        let current = handle.shared.clone();
        let run = async move {
            let run = async {
                task.run(live).await;
                Ok::<_, Infallible>(())
            };
            let ended = Guarded::new(run).await;
            if let Err(error) = ended {
                // A bug of ours, as what the application brings is guarded; nobody shall look for it in the dark.
                current.set_current(None);
                tracing::error!(%error, "the control task broke: the session serves nobody any more, and has to be built anew");
            }
        };
        Self { task: tokio::spawn(run.instrument(tracing::debug_span!("control"))), handle }
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether the task has ended though nobody ended it: with its runtime, or broken.
    pub(crate) fn is_over(&self) -> bool {
        self.task.is_finished()
    }
}

impl Handle {
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Reads the nodes again, now; without a control connection as soon as there is one.
    pub(crate) async fn refresh(&self, limit: Duration) -> Result<Arc<Snapshot>, Error> {
        limited(limit, "the nodes were not read again", self.ask(Command::Refresh)).await
    }

    /// Looks for another control connection, and closes this one once there is one.
    pub(crate) async fn reconnect(&self, limit: Duration) -> Result<Arc<Snapshot>, Error> {
        limited(limit, "no other control connection was found", self.ask(Command::Reconnect)).await
    }

    /// Reads a keyspace again, now, and waits until its schema is published, or the limit is reached.
    pub(crate) async fn read_schema(&self, keyspace: String, limit: Duration) {
        if timeout(limit, self.shared.schema.read_now(keyspace)).await.is_err() {
            tracing::debug!(?limit, "what changed in the schema was not read in time");
        }
    }

    async fn ask(&self, command: impl FnOnce(Reply) -> Command) -> Result<Arc<Snapshot>, Error> {
        let closed = || Error::new(Kind::Closed, "the session is closed");
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

async fn limited<T>(
    limit: Duration,
    message: &'static str,
    asked: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match timeout(limit, asked).await {
        Ok(answer) => answer,
        Err(_elapsed) => Err(Error::new(Kind::Timeout, message).with_source(Arc::new(TimedOut::new(limit)) as Arc<_>)),
    }
}
