//! What one connection of a node's pool counts.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::node;

/// A connection's part of its node's series; dropping it takes its part of every gauge away.
///
/// The connection says how its numbers moved, and takes back what it has added when it goes.
pub(crate) struct ConnectionMetrics {
    node: Arc<node::Handles>,
    open: AtomicBool,
}

impl ConnectionMetrics {
    pub(super) fn new(node: Arc<node::Handles>) -> Self {
        node.opened();
        Self { node, open: AtomicBool::new(true) }
    }

    /// The number of requests on the connection moved.
    #[inline]
    pub(crate) fn in_flight(&self, before: usize, now: usize) {
        match now.checked_sub(before) {
            Some(0) => {}
            Some(more) => self.node.in_flight.increment(more as f64),
            None => self.node.in_flight.decrement((before - now) as f64),
        }
    }

    /// The number of orphans on the connection moved.
    #[inline]
    pub(crate) fn orphans(&self, before: usize, now: usize) {
        if now != before {
            self.node.orphans.increment(now as f64 - before as f64);
        }
    }

    /// Bytes were written.
    pub(crate) fn sent(&self, bytes: u64) {
        self.node.bytes_sent.increment(bytes);
        self.node.session.bytes_sent.increment(bytes);
    }

    /// Bytes were read.
    pub(crate) fn received(&self, bytes: u64) {
        self.node.bytes_received.increment(bytes);
        self.node.session.bytes_received.increment(bytes);
    }

    /// The connection ended.
    pub(crate) fn ended(&self) {
        if self.open.swap(false, Ordering::Relaxed) {
            self.node.closed();
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
        f.debug_struct("ConnectionMetrics").field("host_id", &self.node.host_id).finish_non_exhaustive()
    }
}
