//! The pools of a session, and its end.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Session;
use crate::pool::NodeState;

/// How the end of a session went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionClosed {
    /// Connections that were closed.
    pub connections: usize,
    /// Requests that were still waiting for an answer when the time ran out.
    pub cut: usize,
}

impl Session {
    /// Ends the session and every clone of it; requests in flight have until the session's request timeout.
    ///
    /// It begins at the first poll; dropping the future then does not stop it.
    pub async fn close(&self) -> SessionClosed {
        self.close_within(self.inner.config.load().request_timeout).await
    }

    /// Ends the session and every clone of it; requests in flight have this long, then they are cut.
    pub async fn close_within(&self, limit: Duration) -> SessionClosed {
        self.inner.closed.store(true, Ordering::Release);
        self.inner.ups.end();
        let closing = self.inner.nodes.close(limit);
        // Only now, since it drops the nodes' connections, and what begins to close first has the limit.
        let control = self.inner.control.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(control);
        let mut closed = SessionClosed { connections: closing.len(), cut: 0 };
        for connection in closing {
            closed.cut += connection.await.cut;
        }
        closed
    }

    /// What is known now of every node, its pool and its connections, sorted by host id; none once it is closed.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeState> {
        self.inner.nodes.all().iter().map(|node| node.state()).collect()
    }

    /// Whether the session was closed, or its tasks have ended with the runtime that it was built in.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.is_closed() || self.inner.is_over()
    }
}
