//! A request on several nodes at once: the first answer counts.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::deadline::Deadline;
use super::one_run::run_on;
use super::request::Bound;
use super::result_set::Rest;
use super::routing::Picked;
use super::run::Boxed;
use super::{Inner, ResultSet};
use crate::error::{Error, Kind};
use crate::policy::SpeculativePolicy;
use crate::pool::Node;

/// The nodes that one request was sent to, by all of its runs: none is asked twice.
#[derive(Debug, Default)]
pub(super) struct Hedge {
    used: Mutex<Vec<Arc<Node>>>,
}

impl Hedge {
    /// A node that no run has used, which is now used.
    pub(super) fn pick(&self, session: &Inner, bound: &Bound) -> Option<Picked> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let ids: Vec<_> = used.iter().map(|node| node.host_id()).collect();
        let picked = session.pick(&session.config.load(), bound, &ids, Instant::now())?;
        used.push(Arc::clone(&picked.0));
        Some(picked)
    }

    /// The node that was asked last did not answer in time.
    fn was_slow(&self) {
        if let Some(node) = self.used.lock().unwrap_or_else(PoisonError::into_inner).last() {
            node.metrics().speculated();
        }
    }
}

/// Runs a request on one node, and on one more each time the policy says so.
pub(super) async fn speculate(
    session: &Arc<Inner>,
    bound: Arc<Bound>,
    after: Option<&Rest>,
    deadline: Deadline,
    policy: Arc<dyn SpeculativePolicy>,
) -> Result<ResultSet, Error> {
    let begun = Instant::now();
    let hedge = Hedge::default();
    let run = || Box::pin(run(session, Arc::clone(&bound), after, deadline, &hedge)) as Boxed<'_>;
    let mut runs = vec![run()];
    let mut started = 1;
    let mut failed: Option<Error> = None;
    // No more runs are started once the nodes are used up; a delay beyond every clock starts none either.
    let mut next = policy.delay(started).and_then(|delay| begun.checked_add(delay));
    loop {
        let event = {
            let mut timer = std::pin::pin!(async {
                match next {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            });
            poll_fn(|cx| {
                for (place, run) in runs.iter_mut().enumerate() {
                    if let Poll::Ready(result) = Pin::new(run).poll(cx) {
                        return Poll::Ready(Some((place, result)));
                    }
                }
                timer.as_mut().poll(cx).map(|()| None)
            })
            .await
        };
        match event {
            Some((_, Ok(result))) => {
                policy.answered(begun.elapsed());
                return Ok(result);
            }
            Some((place, Err(error))) => {
                drop(runs.swap_remove(place));
                let unused = matches!(error.kind(), Kind::NoConnection) && error.tries().is_empty();
                failed = Some(match failed {
                    // A run that found no node of its own says nothing about the request.
                    Some(before) if unused => before,
                    Some(before) => error.after_tries(before.tries()),
                    None => error,
                });
                if unused {
                    next = None;
                }
                if runs.is_empty() {
                    return Err(failed.unwrap_or_else(|| session.no_connection()));
                }
            }
            None => {
                tracing::debug!(started, "no answer yet; the request is sent to one more node");
                hedge.was_slow();
                runs.push(run());
                started += 1;
                next = policy.delay(started).and_then(|delay| Instant::now().checked_add(delay));
            }
        }
    }
}

/// One run: a node of its own, and what follows when that fails.
async fn run(
    session: &Arc<Inner>,
    bound: Arc<Bound>,
    after: Option<&Rest>,
    deadline: Deadline,
    hedge: &Hedge,
) -> Result<ResultSet, Error> {
    let mut picked = hedge.pick(session, &bound);
    if picked.is_none() && hedge.used.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
        // The first one: connections may be on their way.
        let waited = session.nodes.wait_for_node(|| hedge.pick(session, &bound));
        picked = timeout_at(deadline.at(), waited).await.unwrap_or_default();
    }
    match picked {
        Some(picked) => run_on(session, picked, bound, after, deadline, Some(hedge)).await,
        None => Err(session.no_node(&bound)),
    }
}
