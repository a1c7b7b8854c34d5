//! What a node counts.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use metrics::{Counter, Gauge};
use uuid::Uuid;

use super::{ConnectionMetrics, names, session};

/// The counters of one node, labelled by its host id and made once. Dropping it takes its name away.
pub(crate) struct NodeMetrics {
    handles: Arc<Handles>,
    /// What it is called, and the series that says so.
    called: Mutex<Option<(Called, Gauge)>>,
}

pub(super) struct Handles {
    pub(super) session: Arc<session::Handles>,
    pub(super) host_id: Uuid,
    open: Gauge,
    open_now: AtomicUsize,
    pub(super) in_flight: Gauge,
    pub(super) orphans: Gauge,
    pub(super) bytes_sent: Counter,
    pub(super) bytes_received: Counter,
}

#[derive(PartialEq, Eq)]
struct Called {
    endpoint: String,
    datacenter: String,
    rack: String,
}

/// How a try failed, in the words of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TryClass {
    /// It was not sent.
    Unsent,
    /// The connection was lost, or nobody waited any longer.
    Aborted,
    /// The server's write timeout.
    WriteTimeout,
    /// The server's read timeout.
    ReadTimeout,
    /// The server's unavailable.
    Unavailable,
    /// Anything else.
    Other,
}

impl TryClass {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unsent => "unsent",
            Self::Aborted => "aborted",
            Self::WriteTimeout => "write-timeout",
            Self::ReadTimeout => "read-timeout",
            Self::Unavailable => "unavailable",
            Self::Other => "other",
        }
    }
}

impl NodeMetrics {
    pub(super) fn new(session: Arc<session::Handles>, host_id: Uuid) -> Self {
        let label = host_id.to_string();
        let labels = &[("host_id", label.as_str())];
        let naming = &session.naming;
        let handles = Handles {
            open: naming.gauge(names::NODE_OPEN_CONNECTIONS, labels),
            open_now: AtomicUsize::new(0),
            in_flight: naming.gauge(names::NODE_IN_FLIGHT, labels),
            orphans: naming.gauge(names::NODE_ORPHANS, labels),
            bytes_sent: naming.counter(names::NODE_BYTES_SENT, labels),
            bytes_received: naming.counter(names::NODE_BYTES_RECEIVED, labels),
            host_id,
            session,
        };
        for gauge in [&handles.open, &handles.in_flight, &handles.orphans] {
            // A gauge that was never moved is not shown by every recorder.
            gauge.increment(0.0);
        }
        Self { handles: Arc::new(handles), called: Mutex::default() }
    }

    /// Says what the node is called; what it was called before goes to 0.
    pub(crate) fn called(&self, endpoint: String, datacenter: Option<&str>, rack: Option<&str>) {
        let now = Called {
            endpoint,
            datacenter: datacenter.unwrap_or_default().to_owned(),
            rack: rack.unwrap_or_default().to_owned(),
        };
        let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        if called.as_ref().is_some_and(|(before, _)| *before == now) {
            return;
        }
        let labels = [
            ("host_id", self.handles.host_id.to_string()),
            ("endpoint", now.endpoint.clone()),
            ("datacenter", now.datacenter.clone()),
            ("rack", now.rack.clone()),
        ];
        let labels = labels.each_ref().map(|(name, value)| (*name, value.as_str()));
        let gauge = self.handles.session.naming.gauge(names::NODE_INFO, &labels);
        if let Some((_, before)) = called.take() {
            before.decrement(1.0);
        }
        gauge.increment(1.0);
        *called = Some((now, gauge));
    }

    /// The node is gone: its name goes to 0, and so does the rest as its connections end.
    pub(crate) fn removed(&self) {
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((_, gauge)) = called {
            gauge.decrement(1.0);
        }
    }

    /// The part of one connection that its pool opened.
    pub(crate) fn connection(&self) -> ConnectionMetrics {
        ConnectionMetrics::of_pool(Arc::clone(&self.handles))
    }

    /// A try failed.
    #[cold]
    pub(crate) fn try_failed(&self, class: TryClass) {
        self.classed(names::NODE_REQUEST_ERRORS, class.as_str());
    }

    /// After a failed try the request is tried again, here or elsewhere.
    #[cold]
    pub(crate) fn retried(&self, class: TryClass) {
        self.classed(names::NODE_RETRIES, class.as_str());
    }

    /// A failed try was ignored.
    #[cold]
    pub(crate) fn ignored(&self, class: TryClass) {
        self.classed(names::NODE_IGNORES, class.as_str());
    }

    /// The node did not answer in time, and another try was started beside.
    #[cold]
    pub(crate) fn speculated(&self) {
        let host_id = self.handles.host_id.to_string();
        let counter = self.handles.session.naming.counter(names::NODE_SPECULATIVE_EXECUTIONS, &[("host_id", &host_id)]);
        counter.increment(1);
    }

    /// A connect of the node's pool failed; `auth` says that the login was refused.
    #[cold]
    pub(crate) fn connect_failed(&self, auth: bool) {
        self.classed(names::NODE_CONNECTION_ERRORS, if auth { "auth" } else { "init" });
    }

    /// What happens rarely gets its series when it happens first.
    fn classed(&self, name: &str, class: &'static str) {
        let host_id = self.handles.host_id.to_string();
        self.handles.session.naming.counter(name, &[("host_id", &host_id), ("class", class)]).increment(1);
    }
}

impl Handles {
    pub(super) fn opened(&self) {
        self.open.increment(1.0);
        if self.open_now.fetch_add(1, Ordering::Relaxed) == 0 {
            self.session.connected_nodes.increment(1.0);
        }
    }

    pub(super) fn closed(&self) {
        self.open.decrement(1.0);
        if self.open_now.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.session.connected_nodes.decrement(1.0);
        }
    }
}

impl Drop for NodeMetrics {
    fn drop(&mut self) {
        self.removed();
    }
}

impl fmt::Debug for NodeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeMetrics").field("host_id", &self.handles.host_id).finish_non_exhaustive()
    }
}
