//! A request whose first try failed.

use std::future::poll_fn;
use std::sync::Arc;

use scylla_cql_core::frame::types::Consistency;
use tokio::time::{Instant, timeout_at};
use tower_service::Service;
use uuid::Uuid;

use super::deadline::Deadline;
use super::failed::timed_out;
use super::failure::{Failure, Refused, Retries, Step};
use super::page::Page;
use super::request::Bound;
use super::result_set::Rest;
use super::room::wait_for_room;
use super::routing::Picked;
use super::run::Owned;
use super::speculate::Hedge;
use super::trying::Trying;
use super::{Inner, PagingState, ResultSet};
use crate::connection::Connection;
use crate::error::{Error, Try};
use crate::protocol::response::{Response, ResultResponse, parse};

/// Goes on after the first try failed, for as long as that may help and there is time.
pub(super) async fn recover(
    session: &Arc<Inner>,
    bound: Arc<Bound>,
    after: Option<&Rest>,
    deadline: Deadline,
    first: Trying,
    failure: Failure,
    among: Option<&Hedge>,
) -> Result<ResultSet, Error> {
    let from = bound.from(after);
    let mut recovery = Recovery {
        session,
        bound: &bound,
        from,
        tries: Vec::new(),
        now: Some(first),
        consistency: None,
        deadline,
        among,
    };
    let outcome = timeout_at(deadline.at(), recovery.go_on(failure)).await;
    let Recovery { tries, now, .. } = recovery;
    match (outcome, now) {
        (Ok(Ok(page)), Some(now)) => {
            Ok(ResultSet::new(session, page, &now.node, || Some(Owned::Shared(Arc::clone(&bound)))))
        }
        (Ok(Err(error)), _) => Err(error),
        (_, now) => Err(timed_out(tries, now.as_ref(), deadline)),
    }
}

/// A request on its way from node to node.
pub(super) struct Recovery<'a> {
    pub(super) session: &'a Inner,
    bound: &'a Bound,
    from: Option<&'a PagingState>,
    /// Those that failed.
    pub(super) tries: Vec<Try>,
    /// The one that runs.
    now: Option<Trying>,
    /// In place of the request's own.
    consistency: Option<Consistency>,
    deadline: Deadline,
    /// Where the same request runs on other nodes too.
    among: Option<&'a Hedge>,
}

impl Recovery<'_> {
    async fn go_on(&mut self, mut failure: Failure) -> Result<Page, Error> {
        let config = self.session.config.get();
        let idempotent = self.bound.is_idempotent(self.from, &config);
        let mut retries = Retries::new(self.bound.options().retry_policy(&config));
        let mut full = Vec::new();
        loop {
            let asked = self.consistency.unwrap_or_else(|| self.bound.options().consistency(&config));
            let step = retries.decide(&failure, idempotent, asked);
            if let Step::Next(Some(at)) | Step::Again(Some(at)) = step {
                self.consistency = Some(at);
            }
            let was_full = matches!(failure, Failure::Full);
            let (kind, class) = (failure.kind(), failure.class());
            let Some(last) = self.now.take() else { return Err(self.session.no_connection()) };
            let tried = last.failed(failure);
            tracing::debug!(node = %tried.host_id, addr = %tried.addr, cause = %tried.error, next = ?step, "try failed");
            self.tries.push(tried);
            let result = match step {
                Step::End => return Err(self.gave_up(kind, idempotent)),
                Step::Ignore => {
                    last.node.metrics().ignored(class);
                    let page = last.done_without_rows();
                    self.now = Some(last);
                    return Ok(page);
                }
                Step::Again(_) => {
                    last.node.metrics().retried(class);
                    self.one_try(last.again(Instant::now()), None).await
                }
                Step::Prepare => match self.prepare_on(&last).await {
                    Ok(()) => {
                        last.node.metrics().retried(class);
                        self.one_try(last.again(Instant::now()), None).await
                    }
                    Err(failure) => Err(failure),
                },
                Step::Next(_) => {
                    retries.next_node();
                    let failed = last.node;
                    if was_full {
                        full.push(Arc::clone(&failed));
                    }
                    let tried: Vec<_> = self.tries.iter().map(|tried| tried.host_id).collect();
                    match self.pick(&tried) {
                        Some((node, connection)) => {
                            failed.metrics().retried(class);
                            self.one_try(Trying::new(node, connection, Instant::now()), None).await
                        }
                        None => match wait_for_room(&mut full).await {
                            Some((node, held)) => {
                                failed.metrics().retried(class);
                                let connection = Arc::new(held.clone());
                                self.one_try(Trying::new(node, connection, Instant::now()), Some(held)).await
                            }
                            None => return Err(self.gave_up(kind, idempotent)),
                        },
                    }
                }
            };
            match result {
                Ok(page) => return Ok(page),
                Err(next) => failure = next,
            }
        }
    }

    fn pick(&self, tried: &[Uuid]) -> Option<Picked> {
        match self.among {
            None => self.session.pick(&self.session.config.load(), self.bound, tried, Instant::now()),
            Some(hedge) => hedge.pick(self.session, self.bound),
        }
    }

    /// Sends the request once, with the room that `held` has if it is given.
    async fn one_try(&mut self, trying: Trying, held: Option<Connection>) -> Result<Page, Failure> {
        let now = self.now.insert(trying);
        now.send(&self.session.config.load(), self.bound, self.from, held, (self.consistency, self.deadline))?;
        poll_fn(|cx| now.poll_page(cx, self.bound)).await
    }

    /// Tells a node about the statement again, or about those of a batch. Whatever fails here, the request was not executed.
    async fn prepare_on(&mut self, last: &Trying) -> Result<(), Failure> {
        let now = self.now.insert(last.again(Instant::now()));
        for prepared in self.bound.all_prepared() {
            let shared = prepared.shared();
            let mut handle = Connection::clone(&now.connection);
            poll_fn(|cx| handle.poll_room(cx)).await.map_err(|error| Failure::NotSent(Arc::new(error)))?;
            let keyspace = self.session.keyspace();
            let request = shared.prepare(keyspace.as_deref(), handle.dialect());
            let envelope = handle.call(request).await.map_err(|error| match Failure::from(error) {
                Failure::Lost(cause) => Failure::NotSent(cause),
                other => other,
            })?;
            match parse(envelope, handle.dialect(), None)?.response {
                Response::Result(ResultResponse::Prepared(answer)) if answer.id == shared.id => {
                    shared.prepared_again(*answer);
                }
                Response::Result(ResultResponse::Prepared(_)) => return Err(Failure::Refused(Refused::OtherId)),
                Response::Error(error) => return Err(Failure::NotPrepared(Box::new(error))),
                _ => return Err(Failure::unexpected()),
            }
        }
        Ok(())
    }
}
