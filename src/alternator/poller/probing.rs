//! Probes of nodes that have to prove themselves.

use std::panic::AssertUnwindSafe;

use futures_util::{FutureExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::Instant;

use super::Poller;
use crate::alternator::{discovery::Candidate, node::Node};

/// A node, its generation when it was asked, and whether it answered.
pub(super) type Probed = (Node, u64, bool);

impl Poller {
    pub(super) fn start_probes(&self, running: &mut FuturesUnordered<BoxFuture<'static, Probed>>, now: Instant) {
        let mut guarded = self.shared.guarded();
        let guarded = &mut *guarded;
        for track in &self.tracks {
            guarded.probes.schedule(track.live.routing(), &guarded.book, now);
        }
        while let Some(probe) = guarded.probes.start(&guarded.book, now) {
            let asker = self.asker.clone();
            running.push(Box::pin(async move {
                let candidate = Candidate { node: probe.node.clone(), dial: None };
                let status = AssertUnwindSafe(asker.status(&candidate, "/localnodes", probe.deadline)).catch_unwind();
                let alive = matches!(status.await, Ok(Ok(200)));
                (probe.node, probe.generation, alive)
            }));
        }
    }
}
