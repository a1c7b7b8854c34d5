//! One try: a request on one connection, and its answer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use scylla_cql_core::frame::types::Consistency;
use tokio::time::Instant;
use tower_service::Service;

use super::PagingState;
use super::deadline::Deadline;
use super::failure::{Failure, Refused};
use super::page::{Page, ServedBy};
use super::prepared::Known;
use super::request::Bound;
use crate::config::Config;
use crate::connection::{Connection, Reply};
use crate::pool::Node;
use crate::protocol::response::{Answer, Response, ResultResponse, parse};
use crate::protocol::{Dialect, Envelope, Payload};
use crate::topology::{TABLET_PAYLOAD, Tablet};

/// One try: made, then sent, then answered.
pub(super) struct Trying {
    pub(super) node: Arc<Node>,
    pub(super) connection: Arc<Connection>,
    pub(super) since: Instant,
    reply: Option<Reply>,
    /// What was known of the results when it was sent.
    known: Option<Arc<Known>>,
}

impl Trying {
    pub(super) fn new(node: Arc<Node>, connection: Arc<Connection>, since: Instant) -> Self {
        Self { node, connection, since, reply: None, known: None }
    }

    /// The same node and connection, with nothing sent.
    pub(super) fn again(&self, since: Instant) -> Self {
        Self::new(Arc::clone(&self.node), Arc::clone(&self.connection), since)
    }

    /// Sends the request, with the room that `held` has and at the consistency, where they are given.
    pub(super) fn send(
        &mut self,
        config: &Config,
        bound: &Bound,
        from: Option<&PagingState>,
        held: Option<Connection>,
        (consistency, deadline): (Option<Consistency>, Deadline),
    ) -> Result<(), Failure> {
        let dialect = self.connection.dialect();
        if from.is_some_and(|from| !from.is_for(dialect.version)) {
            return Err(Failure::Refused(Refused::PagingState(dialect.version)));
        }
        self.tell_span();
        self.known = bound.as_prepared().map(|prepared| prepared.shared().known.load_full());
        let message = bound.message(self.known.as_deref(), from, dialect, config, (consistency, deadline.timestamp()));
        self.reply = Some(match held {
            None => self.connection.try_send_at(&message, self.since)?,
            Some(mut handle) => handle.call(&message),
        });
        Ok(())
    }

    /// The span of the request says which node and shard have it now.
    #[inline]
    fn tell_span(&self) {
        if tracing::enabled!(tracing::Level::DEBUG) {
            let span = tracing::Span::current();
            span.record("node", tracing::field::display(self.node.host_id()));
            if let Some(shard) = self.node.shard_of(&self.connection) {
                span.record("shard", shard);
            }
        }
    }

    /// The page of a request that counts as done though it failed.
    pub(super) fn done_without_rows(&self) -> Page {
        Page::new(ResultResponse::Void, self.served_by(), self.connection.dialect().version)
    }

    fn served_by(&self) -> ServedBy {
        ServedBy { host_id: self.node.host_id(), addr: self.connection.peer() }
    }

    /// Waits for the answer to what was sent.
    #[inline]
    pub(super) fn poll_page(&mut self, cx: &mut Context<'_>, bound: &Bound) -> Poll<Result<Page, Failure>> {
        let Some(reply) = &mut self.reply else { return Poll::Ready(Err(Failure::unexpected())) };
        let envelope = ready!(Pin::new(reply).poll(cx))?;
        let served_by = self.served_by();
        Poll::Ready(read(bound, envelope, self.connection.dialect(), self.known.as_ref(), served_by))
    }
}

/// Reads an answer, and keeps what it says about the columns of a prepared statement.
#[inline]
fn read(
    bound: &Bound,
    envelope: Envelope,
    dialect: Dialect,
    known: Option<&Arc<Known>>,
    served_by: ServedBy,
) -> Result<Page, Failure> {
    let Answer { response, tracing_id, warnings, payload } =
        parse(envelope, dialect, known.map(|known| &known.metadata))?;
    if dialect.tablets && !payload.is_empty() {
        learn_tablet(bound, &payload);
    }
    let result = match response {
        Response::Result(result) => result,
        Response::Error(error) => return Err(Failure::Server(Box::new(error))),
        _ => return Err(Failure::unexpected()),
    };
    if let (ResultResponse::Rows(rows), Some(prepared), Some(known)) = (&result, bound.as_prepared(), known) {
        let metadata = rows.metadata();
        if let Some(id) = rows.new_metadata_id() {
            prepared.shared().learn(Some(id.clone()), Arc::clone(metadata));
        } else if !dialect.has_metadata_id() && !Arc::ptr_eq(metadata, &known.metadata) {
            prepared.shared().learn(known.id.clone(), Arc::clone(metadata));
        }
    }
    Ok(Page::new(result, served_by, dialect.version).with_extras(tracing_id, warnings, payload))
}

/// The server says which tablet the request concerned: it met a node or shard that does not hold it.
#[cold]
fn learn_tablet(bound: &Bound, payload: &Payload) {
    let Some(bytes) = payload.get(TABLET_PAYLOAD) else { return };
    let table = bound.target().and_then(|(prepared, _)| prepared.shared().tablets.as_ref());
    match (table, Tablet::read(bytes)) {
        (Some(table), Ok(tablet)) => table.learn(&tablet),
        (None, Ok(_)) => {}
        (_, Err(error)) => tracing::debug!(%error, "the server told of a tablet that cannot be read"),
    }
}
