//! One request from its first try to its answer.
//!
//! ```text
//!   go ── one try ──▶ answer
//!            └─ failed ──▶ recover (boxed): next node, same node again, prepare and again, wait for room, or give up
//! ```

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tower_service::Service;

use super::failure::{Cause, Failure, Refused, Retries, Step};
use super::prepared::Known;
use super::request::Bound;
use super::room::wait_for_room;
use super::{Inner, PagingState, ServedBy};
use crate::connection::Connection;
use crate::error::{Error, Try};
use crate::pool::Node;
use crate::protocol::request::Prepare;
use crate::protocol::response::{Answer, Response, ResultResponse, parse};
use crate::protocol::{Dialect, Envelope, ProtocolVersion};

/// When a request began and how long it may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    start: Instant,
    limit: Duration,
}

/// An answer, and whose it is.
pub(super) struct Done {
    pub(super) answer: Answer,
    pub(super) node: Arc<Node>,
    pub(super) served_by: ServedBy,
    pub(super) version: ProtocolVersion,
}

/// A request while it runs.
pub(super) struct Run<'a> {
    pub(super) session: &'a Inner,
    bound: &'a Bound,
    from: Option<&'a PagingState>,
    pub(super) tries: Vec<Try>,
    pub(super) now: Option<Now>,
}

/// The try that runs.
#[derive(Clone)]
pub(super) struct Now {
    node: Arc<Node>,
    connection: Arc<Connection>,
    since: Instant,
}

impl Deadline {
    pub(super) fn begins_now(limit: Duration) -> Self {
        Self { start: Instant::now(), limit }
    }

    pub(super) fn limit(self) -> Duration {
        self.limit
    }

    pub(super) fn at(self) -> Instant {
        // Far enough to be never, near enough for every clock.
        let never = Duration::from_secs(60 * 60 * 24 * 365 * 30);
        self.start.checked_add(self.limit).unwrap_or_else(|| self.start + never)
    }
}

impl Inner {
    /// How long a request may take that begins now.
    pub(super) fn deadline(&self, own: Option<Duration>) -> Deadline {
        Deadline::begins_now(own.unwrap_or(self.config.request_timeout))
    }

    /// Runs a request: from a page on, and on this node if it is still there.
    pub(super) async fn run(
        &self,
        bound: &Bound,
        from: Option<&PagingState>,
        near: Option<&Arc<Node>>,
        deadline: Deadline,
    ) -> Result<Done, Error> {
        let from = from.or(bound.options().paging_state.as_ref());
        let mut run = Run { session: self, bound, from, tries: Vec::new(), now: None };
        let outcome = timeout_at(deadline.at(), run.go(near, deadline.start)).await;
        outcome.unwrap_or_else(|_| Err(run.timed_out(deadline.limit)))
    }
}

impl Run<'_> {
    async fn go(&mut self, near: Option<&Arc<Node>>, start: Instant) -> Result<Done, Error> {
        let near = near.and_then(connected);
        let Some((node, connection)) = near.or_else(|| connected(&self.session.nodes.pick(&[])?)) else {
            return Err(self.no_connection());
        };
        match self.one_try(node, connection, None, start).await {
            Ok(done) => Ok(done),
            Err(failure) => Box::pin(self.recover(failure)).await,
        }
    }

    /// Sends the request once, with the room that `held` has if it is given.
    async fn one_try(
        &mut self,
        node: Arc<Node>,
        connection: Arc<Connection>,
        held: Option<Connection>,
        since: Instant,
    ) -> Result<Done, Failure> {
        let now = self.now.insert(Now { node, connection, since });
        let dialect = now.connection.dialect();
        if self.from.is_some_and(|from| !from.is_for(dialect.version)) {
            return Err(Failure::Refused(Refused::PagingState(dialect.version)));
        }
        let known = self.bound.as_prepared().map(|prepared| prepared.shared().known.load_full());
        let reply = {
            let message = self.bound.message(known.as_deref(), self.from, dialect, &self.session.config);
            match held {
                None => now.connection.try_send(&message)?,
                Some(mut handle) => handle.call(&message),
            }
        };
        let envelope = reply.await?;
        let answer = read(self.bound, envelope, dialect, known.as_ref())?;
        let served_by = ServedBy { host_id: now.node.host_id(), addr: now.connection.peer() };
        Ok(Done { answer, node: Arc::clone(&now.node), served_by, version: dialect.version })
    }

    /// Goes on after a try that failed, for as long as that may help.
    async fn recover(&mut self, mut failure: Failure) -> Result<Done, Error> {
        let idempotent = self.bound.is_idempotent(self.from, &self.session.config);
        let mut retries = Retries::default();
        let mut full = Vec::new();
        loop {
            let step = retries.decide(&failure, idempotent);
            let was_full = matches!(failure, Failure::Full);
            let kind = failure.kind();
            let Some(last) = self.failed(failure) else { return Err(self.no_connection()) };
            if let Some(tried) = self.tries.last() {
                tracing::debug!(node = %tried.host_id, addr = %tried.addr, cause = %tried.error, next = ?step, "try failed");
            }
            let result = match step {
                Step::End => return Err(self.gave_up(kind, idempotent)),
                Step::Again => self.again(last).await,
                Step::Prepare => {
                    self.now = Some(Now { since: Instant::now(), ..last.clone() });
                    match self.prepare_on(Connection::clone(&last.connection)).await {
                        Ok(()) => self.again(last).await,
                        Err(failure) => Err(failure),
                    }
                }
                Step::Next => {
                    retries.next_node();
                    if was_full {
                        full.push(last.node);
                    }
                    let tried: Vec<_> = self.tries.iter().map(|tried| tried.host_id).collect();
                    match self.session.nodes.pick(&tried).as_ref().and_then(connected) {
                        Some((node, connection)) => self.one_try(node, connection, None, Instant::now()).await,
                        None => match wait_for_room(&mut full).await {
                            Some((node, handle)) => {
                                let connection = Arc::new(handle.clone());
                                self.one_try(node, connection, Some(handle), Instant::now()).await
                            }
                            None => return Err(self.gave_up(kind, idempotent)),
                        },
                    }
                }
            };
            match result {
                Ok(done) => return Ok(done),
                Err(next) => failure = next,
            }
        }
    }

    async fn again(&mut self, last: Now) -> Result<Done, Failure> {
        self.one_try(last.node, last.connection, None, Instant::now()).await
    }

    /// Tells a node about the statement again. Whatever fails here, the request was not executed.
    async fn prepare_on(&self, mut handle: Connection) -> Result<(), Failure> {
        let Some(prepared) = self.bound.as_prepared() else {
            return Err(Failure::unexpected());
        };
        let shared = prepared.shared();
        std::future::poll_fn(|cx| handle.poll_room(cx)).await.map_err(|error| Failure::NotSent(Arc::new(error)))?;
        let request = Prepare { text: &shared.text, keyspace: shared.keyspace.as_deref() };
        let reply = handle.call(request);
        let envelope = reply.await.map_err(|error| match Failure::from(error) {
            Failure::Lost(cause) => Failure::NotSent(cause),
            other => other,
        })?;
        match parse(envelope, handle.dialect(), None)?.response {
            Response::Result(ResultResponse::Prepared(answer)) if answer.id == shared.id => {
                shared.prepared_again(*answer);
                Ok(())
            }
            Response::Result(ResultResponse::Prepared(_)) => Err(Failure::Refused(Refused::OtherId)),
            Response::Error(error) => Err(Failure::Server(Box::new(error))),
            _ => Err(Failure::unexpected()),
        }
    }

    /// Notes the try that ran as failed, and gives it back.
    fn failed(&mut self, failure: Failure) -> Option<Now> {
        let now = self.now.take()?;
        self.note(&now, failure.into_cause());
        Some(now)
    }

    pub(super) fn note(&mut self, now: &Now, cause: Cause) {
        self.tries.push(Try::new(now.node.host_id(), now.connection.peer(), now.since.elapsed(), cause));
    }
}

/// Reads an answer, and keeps what it says about the columns of a prepared statement.
fn read(bound: &Bound, envelope: Envelope, dialect: Dialect, known: Option<&Arc<Known>>) -> Result<Answer, Failure> {
    let answer = parse(envelope, dialect, known.map(|known| &known.metadata))?;
    match &answer.response {
        Response::Result(ResultResponse::Rows(rows)) => {
            if let (Some(prepared), Some(known)) = (bound.as_prepared(), known) {
                let metadata = rows.metadata();
                if let Some(id) = rows.new_metadata_id() {
                    prepared.shared().learn(Some(id.clone()), Arc::clone(metadata));
                } else if !dialect.has_metadata_id() && !Arc::ptr_eq(metadata, &known.metadata) {
                    prepared.shared().learn(known.id.clone(), Arc::clone(metadata));
                }
            }
            Ok(answer)
        }
        Response::Result(_) => Ok(answer),
        Response::Error(_) => match answer.response {
            Response::Error(error) => Err(Failure::Server(Box::new(error))),
            _ => Err(Failure::unexpected()),
        },
        _ => Err(Failure::unexpected()),
    }
}

/// A node with its connection, if it has one.
fn connected(node: &Arc<Node>) -> Option<(Arc<Node>, Arc<Connection>)> {
    Some((Arc::clone(node), node.connection()?))
}
