//! The session: statements in, rows out.
//!
//! ```no_run
//! # async fn example() -> Result<(), messina::Error> {
//! use messina::Session;
//!
//! let session = Session::builder().contact_point("db.example.com:9042").build().await?;
//! session.execute("INSERT INTO ks.users (id, name) VALUES (?, ?)", (7, "Ada")).await?;
//! let (id, name): (i32, String) =
//!     session.execute("SELECT id, name FROM ks.users WHERE id = ?", (7,)).await?.one().await?;
//! # Ok(())
//! # }
//! ```

mod any_statement;
mod balancing;
mod batch;
mod bound_batch;
mod builder;
mod cache;
mod close;
mod deadline;
mod cluster;
mod cql_type;
mod execute;
mod failed;
mod failure;
mod keyspace;
mod layered;
mod one_run;
mod options;
mod page;
mod paging_state;
mod predicates;
mod preparing;
mod profile;
mod prepared;
mod reconfigure;
mod recovery;
mod request;
mod result_set;
mod room;
mod row_stream;
mod rows_error;
mod run;
mod routing;
mod service;
mod speculate;
mod state;
mod statement;
mod throttle;
mod trace;
mod trying;

use std::{
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use uuid::Uuid;

pub use self::{
    any_statement::AnyStatement,
    batch::Batch,
    builder::SessionBuilder,
    close::SessionClosed,
    layered::BoxRequests,
    page::{Page, PageRows, ServedBy},
    paging_state::PagingState,
    prepared::Prepared,
    profile::Profile,
    request::Request,
    result_set::{OwnedRow, ResultSet},
    row_stream::RowStream,
    rows_error::{Columns, RowsError},
    service::RequestFuture,
    state::{ControlState, NodesTold, SessionState},
    statement::Statement,
    throttle::{ConcurrencyThrottle, RateThrottle, Throttle, Throttled},
    trace::{Trace, TraceEvent},
};
#[doc(inline)]
pub use crate::control::{FallbackReason, LeftOut, PlannedEntry, ReconnectionPlan};
#[doc(inline)]
pub use crate::pool::{ConnectionState, NodeState, Purpose, Standing};
#[doc(inline)]
pub use crate::protocol::{
    Payload,
    response::{ErrorDetail, ResultMetadata, SchemaChange, ServerError},
};
use crate::{
    config::{Config, LiveConfig},
    connection::Connection,
    control::Control,
    establish::Opener,
    metrics::SessionMetrics,
    pool::{Node, Nodes, Routing},
    topology::{Snapshot, Strategy, Topology},
};

/// A connected client; cheap to clone, and all clones are the same session.
///
/// Its connections are served by the runtime that it was built in. Requests may be awaited in another one; while the session's own
/// stands still nothing is answered, and they end when their time is up.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

struct Inner {
    config: LiveConfig,
    metrics: SessionMetrics,
    // One change of settings at a time.
    settings: Mutex<()>,
    // What connections are opened with; none where they were made elsewhere.
    opener: Option<Opener>,
    nodes: Nodes,
    topology: Topology,
    cache: cache::Cache,
    // Around every request, where the application put some.
    layers: OnceLock<BoxRequests>,
    // Tells nodes that come up what is prepared.
    ups: preparing::Ups,
    // One change of the keyspace at a time.
    keyspace_turn: tokio::sync::Mutex<()>,
    closed: AtomicBool,
    // Taken at close; dropping it ends the control connection and those of the nodes.
    control: Mutex<Option<Control>>,
}

impl Session {
    /// Begins a new session.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    pub(crate) fn assemble(opener: Opener, nodes: Nodes, topology: Topology, control: Control) -> Self {
        let (config, metrics) = (opener.settings().clone(), opener.metrics().clone());
        let session = Self::new(config, metrics, Some(opener), nodes, topology, Some(control));
        session.inner.follow_ups();
        session
    }

    /// A session over connections that were made elsewhere and are never made again; for measurements.
    #[doc(hidden)]
    pub fn over_connections(config: Config, connections: impl IntoIterator<Item = (Uuid, Connection)>) -> Self {
        let metrics = SessionMetrics::new(&config.metrics);
        let nodes = Nodes::default();
        let node =
            |(host_id, connection): (Uuid, Connection)| Arc::new(Node::over_connection(host_id, connection, &metrics));
        nodes.replace(connections.into_iter().map(node).collect());
        Self::new(LiveConfig::new(Arc::new(config)), metrics, None, nodes, Topology::default(), None)
    }

    /// Sends requests to the nodes that hold their data under this strategy, by a cluster that is like this; for
    /// measurements.
    #[doc(hidden)]
    pub fn route_by(&self, cluster: &Snapshot, keyspace: &str, strategy: Strategy) {
        let nodes = &self.inner.nodes;
        nodes.set_routing(Routing::new(cluster, std::iter::once((keyspace, strategy)), &nodes.all()));
    }

    /// The node that a try of this request would go to now, after those that were tried; for measurements.
    #[doc(hidden)]
    pub fn next_node(&self, request: &Request, tried: &[Uuid]) -> Option<Uuid> {
        let config = self.inner.config.load();
        let (node, _) = self.inner.pick(&config, request.bound(), tried, tokio::time::Instant::now())?;
        Some(node.host_id())
    }

    fn new(
        config: LiveConfig,
        metrics: SessionMetrics,
        opener: Option<Opener>,
        nodes: Nodes,
        topology: Topology,
        control: Option<Control>,
    ) -> Self {
        let cache = cache::Cache::default();
        let inner = Inner {
            config,
            settings: Mutex::default(),
            metrics,
            opener,
            nodes,
            topology,
            cache,
            layers: OnceLock::new(),
            ups: preparing::Ups::default(),
            keyspace_turn: tokio::sync::Mutex::default(),
            closed: AtomicBool::new(false),
            control: Mutex::new(control),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The settings in force.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.inner.config.get()
    }
}

impl Inner {
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether its tasks have ended though nobody closed it: with the runtime that they ran in, or broken.
    fn is_over(&self) -> bool {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(Control::is_over)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("nodes", &self.nodes.all().len())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
