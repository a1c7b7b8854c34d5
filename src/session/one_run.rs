//! A request from one node on, where it goes on in a box.

use std::future::poll_fn;
use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use super::deadline::Deadline;
use super::failed::timed_out;
use super::recovery::recover;
use super::request::Bound;
use super::result_set::Rest;
use super::routing::Picked;
use super::run::Owned;
use super::speculate::Hedge;
use super::trying::Trying;
use super::{Inner, ResultSet};
use crate::error::Error;

/// Waits for a connection that is being opened, and sends the first try on it; all within the deadline.
#[cold]
pub(super) async fn when_connected<'a>(
    session: &'a Arc<Inner>,
    bound: Owned,
    after: Option<&'a Rest>,
    deadline: Deadline,
) -> Result<ResultSet, Error> {
    let pick = || session.pick(&session.config.load(), &bound, &[], Instant::now());
    match timeout_at(deadline.at(), session.nodes.wait_for_node(pick)).await {
        Ok(Some(picked)) => run_on(session, picked, bound.into_shared(), after, deadline, None).await,
        Ok(None) | Err(_) => Err(session.no_node(&bound)),
    }
}

/// One run: a try on this node, and what follows when that fails.
pub(super) async fn run_on(
    session: &Arc<Inner>,
    (node, connection): Picked,
    bound: Arc<Bound>,
    after: Option<&Rest>,
    deadline: Deadline,
    among: Option<&Hedge>,
) -> Result<ResultSet, Error> {
    let mut trying = Trying::new(node, connection, Instant::now());
    let sent = trying.send(&session.config.load(), &bound, bound.from(after), None, (None, deadline));
    let answer = match sent {
        Ok(()) => timeout_at(deadline.at(), poll_fn(|cx| trying.poll_page(cx, &bound))).await,
        Err(failure) => Ok(Err(failure)),
    };
    match answer {
        Ok(Ok(page)) => Ok(ResultSet::new(session, page, &trying.node, || Some(Owned::Shared(bound)))),
        Ok(Err(failure)) => recover(session, bound, after, deadline, trying, failure, among).await,
        Err(_elapsed) => Err(timed_out(Vec::new(), Some(&trying), deadline)),
    }
}
