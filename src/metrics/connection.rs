//! What one connection counts.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{node, session};

/// A connection's part of the series of its node and of the session.
///
/// Whoever drives the connection says how its numbers moved, with all of them 0 at the end.
pub(crate) struct ConnectionMetrics {
    session: Arc<session::Handles>,
    /// A control connection is not of any node's pool.
    node: Option<Arc<node::Handles>>,
    open: AtomicBool,
}

/// The numbers of a connection that are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Requests whose answer is due.
    pub(crate) in_flight: usize,
    /// Those among them that were given up.
    pub(crate) orphans: usize,
    /// Bytes written so far.
    pub(crate) sent: u64,
    /// Bytes read so far.
    pub(crate) received: u64,
}

impl ConnectionMetrics {
    pub(super) fn of_pool(node: Arc<node::Handles>) -> Self {
        node.opened();
        Self { session: Arc::clone(&node.session), node: Some(node), open: AtomicBool::new(true) }
    }

    pub(super) fn of_control(session: Arc<session::Handles>) -> Self {
        Self { session, node: None, open: AtomicBool::new(true) }
    }

    /// The numbers moved since they were told last.
    pub(crate) fn moved(&self, told: &mut Traffic, now: Traffic) {
        if *told == now {
            return;
        }
        let (sent, received) = (now.sent - told.sent, now.received - told.received);
        if sent > 0 {
            self.session.bytes_sent.increment(sent);
        }
        if received > 0 {
            self.session.bytes_received.increment(received);
        }
        if let Some(node) = &self.node {
            if sent > 0 {
                node.bytes_sent.increment(sent);
            }
            if received > 0 {
                node.bytes_received.increment(received);
            }
            if now.in_flight != told.in_flight {
                node.in_flight.increment(now.in_flight as f64 - told.in_flight as f64);
            }
            if now.orphans != told.orphans {
                node.orphans.increment(now.orphans as f64 - told.orphans as f64);
            }
        }
        *told = now;
    }

    /// The connection ended.
    pub(crate) fn ended(&self) {
        if let (true, Some(node)) = (self.open.swap(false, Ordering::Relaxed), &self.node) {
            node.closed();
        }
    }
}

impl Drop for ConnectionMetrics {
    fn drop(&mut self) {
        self.ended();
    }
}

impl fmt::Debug for ConnectionMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node.as_ref().map(|node| node.host_id);
        f.debug_struct("ConnectionMetrics").field("node", &node).finish_non_exhaustive()
    }
}
