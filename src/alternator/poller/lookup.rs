//! Where the names of the seeds lead.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use messina_layers::{BoxError, Resolved};
use tokio::time::timeout;
use tower::ServiceExt;

use super::Poller;
use crate::alternator::{discovery::ResolvedSeed, node::Node};

/// How long a lookup of seeds may hold a poll back while nodes are known that can be asked.
const LOOKUP_BESIDE: Duration = Duration::from_millis(300);
const LOOKUP: Duration = Duration::from_secs(3);

pub(super) type Lookup = BoxFuture<'static, Vec<ResolvedSeed>>;

impl Poller {
    /// Every address of every seed; those that cannot be looked up in time have none in this cycle.
    pub(super) fn look_up(&self) -> Lookup {
        let known = self.tracks.iter().any(|track| !track.live.known().is_empty());
        let limit = if known { LOOKUP_BESIDE } else { LOOKUP };
        let resolve = |node: &Node| {
            let (node, resolver, address) = (node.clone(), self.resolver.clone(), node.address().clone());
            async move {
                let port = address.port();
                let lookup = async move { resolver.oneshot(address).await };
                let answer = timeout(limit, AssertUnwindSafe(lookup).catch_unwind()).await;
                let addresses = match answer {
                    Ok(Ok(Ok(answer))) => answer.into_iter().map(|item: Resolved| item.socket(port)).collect(),
                    failed => {
                        let cause = match failed {
                            Ok(Ok(Err(error))) => error,
                            Ok(Err(_)) => BoxError::from("the resolver panicked"),
                            _ => BoxError::from("no answer in time"),
                        };
                        tracing::warn!(seed = %node, error = %cause, "the seed cannot be looked up");
                        Vec::new()
                    }
                };
                ResolvedSeed { node, addresses }
            }
        };
        let lookups: Vec<_> = self.seeds.iter().map(resolve).collect();
        futures_util::future::join_all(lookups).boxed()
    }
}
