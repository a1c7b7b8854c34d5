//! What a session counts as a whole.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use metrics::{Counter, Gauge, Histogram};
use uuid::Uuid;

use super::{ConnectionMetrics, ControlMetrics, Naming, NodeMetrics, names};
use crate::error::Kind;

/// The counters of a session; cheap to clone, and made once.
#[derive(Clone)]
pub(crate) struct SessionMetrics {
    handles: Arc<Handles>,
}

pub(super) struct Handles {
    pub(super) naming: Naming,
    requests: Counter,
    duration: Histogram,
    timeouts: Counter,
    pub(super) bytes_sent: Counter,
    pub(super) bytes_received: Counter,
    pub(super) connected_nodes: Gauge,
    prepared: Gauge,
    prepared_now: AtomicU64,
}

impl SessionMetrics {
    /// Describes every metric, and makes the handles, with the recorder in force.
    pub(crate) fn new(naming: &Naming) -> Self {
        naming.describe(names::ALL);
        messina_layers::metrics::describe();
        let handles = Handles {
            requests: naming.counter(names::REQUESTS, &[]),
            duration: naming.histogram(names::REQUEST_DURATION, &[]),
            timeouts: naming.counter(names::CLIENT_TIMEOUTS, &[]),
            bytes_sent: naming.counter(names::BYTES_SENT, &[]),
            bytes_received: naming.counter(names::BYTES_RECEIVED, &[]),
            connected_nodes: naming.gauge(names::CONNECTED_NODES, &[]),
            prepared: naming.gauge(names::PREPARED_STATEMENTS, &[]),
            prepared_now: AtomicU64::new(0),
            naming: naming.clone(),
        };
        // A gauge that was never moved is not shown by every recorder.
        handles.connected_nodes.increment(0.0);
        handles.prepared.increment(0.0);
        Self { handles: Arc::new(handles) }
    }

    /// The counters of one node; dropping them takes its part of every gauge away.
    pub(crate) fn node(&self, host_id: Uuid) -> NodeMetrics {
        NodeMetrics::new(Arc::clone(&self.handles), host_id)
    }

    /// The part of one control connection.
    pub(crate) fn control_connection(&self) -> ConnectionMetrics {
        ConnectionMetrics::of_control(Arc::clone(&self.handles))
    }

    /// The counters of the control connection.
    pub(crate) fn control(&self) -> ControlMetrics {
        ControlMetrics::new(&self.handles.naming)
    }

    /// A request begins.
    #[inline]
    pub(crate) fn request_begun(&self) {
        self.handles.requests.increment(1);
    }

    /// A request ended, either way.
    #[inline]
    pub(crate) fn request_ended(&self, elapsed: Duration) {
        self.handles.duration.record(elapsed);
    }

    /// A request ended with an error of this kind; beside [`request_ended`](Self::request_ended).
    #[cold]
    pub(crate) fn request_failed(&self, kind: Kind) {
        if kind == Kind::Timeout {
            self.handles.timeouts.increment(1);
        }
        self.handles.naming.counter(names::REQUEST_ERRORS, &[("kind", kind.as_str())]).increment(1);
    }

    /// So many statements are kept prepared now.
    pub(crate) fn prepared(&self, count: usize) {
        let before = self.handles.prepared_now.swap(count as u64, Ordering::Relaxed);
        self.handles.prepared.increment(count as f64 - before as f64);
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        self.prepared.decrement(*self.prepared_now.get_mut() as f64);
    }
}

impl fmt::Debug for SessionMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionMetrics").field("naming", &self.handles.naming).finish_non_exhaustive()
    }
}

/// What the attempts of a session's connects count beside what the layers do.
#[derive(Clone, Debug)]
pub(crate) struct ConnectMetrics {
    naming: Arc<Naming>,
}

/// Why an address was turned down for who answered there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// Another node.
    Host,
    /// A node of another cluster.
    Cluster,
    /// Who it is could not be read.
    Unknown,
}

impl ConnectMetrics {
    pub(crate) fn new(naming: &Naming) -> Self {
        Self { naming: Arc::new(naming.clone()) }
    }

    /// An address was turned down for who answered there.
    #[cold]
    pub(crate) fn rejected(&self, why: Rejection) {
        let reason = match why {
            Rejection::Host => "host",
            Rejection::Cluster => "cluster",
            Rejection::Unknown => "unknown",
        };
        self.naming.counter(names::IDENTITY_REJECTIONS, &[("reason", reason)]).increment(1);
    }

    /// A control connection could not register for events.
    #[cold]
    pub(crate) fn register_failed(&self) {
        self.naming.counter(names::REGISTER_FAILURES, &[]).increment(1);
    }
}
