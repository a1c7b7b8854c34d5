//! Notices a peer that is gone without a word: a half-open connection, a frozen process.

use std::time::Duration;

use tokio::time::{sleep_until, timeout};

use super::{
    closing::after,
    error::{ConnectionError, Reason, TrySendError},
    handle::Connection,
};
use crate::protocol::request::Options;

impl Connection {
    /// Sends OPTIONS whenever nothing was answered for `interval`, and ends the connection if that is not answered
    /// within `limit` either. Returns when the connection takes no more requests, for this or another reason.
    ///
    /// Events do not count: a peer that only talks serves nobody. Cancel safe.
    pub async fn heartbeat(&self, interval: Duration, limit: Duration) -> ConnectionError {
        let mut retired = std::pin::pin!(self.retired());
        loop {
            let seen = self.last_answer();
            let due = after(seen, interval);
            tokio::select! {
                error = &mut retired => return error,
                () = sleep_until(due) => {}
            }
            if self.last_answer() != seen {
                continue;
            }
            self.check(limit).await;
        }
    }

    /// Sends OPTIONS now, and ends the connection if neither that nor anything else is answered within `limit`.
    pub async fn check(&self, limit: Duration) {
        let seen = self.last_answer();
        let answered = match self.try_send(&Options) {
            Ok(reply) => timeout(limit, reply).await.is_ok(),
            // Every slot waits for an answer: the next one is as good as one to a heartbeat.
            Err(TrySendError::Full) => timeout(limit, self.retired()).await.is_ok(),
            Err(_) => return,
        };
        if !answered && self.last_answer() == seen {
            tracing::debug!(peer = %self.peer(), ?limit, "heartbeat not answered");
            self.shared().end(Reason::Heartbeat(limit));
        }
    }
}
