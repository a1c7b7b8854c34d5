//! A statement with its values, ready to be sent.

use std::sync::Arc;

use scylla_cql_core::frame::types::Consistency;

use super::bound_batch::{BatchMessage, BoundBatch};
use super::deadline::Deadline;
use super::options::{Options, option_setters, paging_setters};
use super::prepared::Known;
use super::result_set::Rest;
use super::routing::token;
use super::{PagingState, Prepared, Statement};
use crate::config::Config;
use crate::protocol::request::{Execute, Prepare, Query, QueryParams, Request as Message, RequestError, WithExtras};
use crate::protocol::{Dialect, Opcode, Values};
use crate::topology::Token;

/// A statement with its values and options; cheap to clone.
///
/// Made by [`Prepared::bind`], sent by [`Session::execute_request`](super::Session::execute_request) or by the session
/// as a [`tower::Service`].
#[derive(Clone, Debug)]
pub struct Request {
    bound: Arc<Bound>,
    /// Set where its time has begun.
    deadline: Option<Deadline>,
}

/// What a request consists of, as long as nobody else wants it.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    what: What,
    values: Values,
}

#[derive(Clone, Debug)]
enum What {
    Text(Arc<Statement>),
    Prepared(Prepared),
    Prepare(Arc<Statement>),
    Batch(Arc<BoundBatch>),
}

impl Request {
    pub(super) fn new(bound: Bound) -> Self {
        Self { bound: Arc::new(bound), deadline: None }
    }

    /// The page that comes after another, or the first one.
    pub(super) fn new_at(mut bound: Arc<Bound>, after: Option<&Rest>) -> Self {
        if let Some(after) = after {
            Arc::make_mut(&mut bound).options_mut().paging_state = Some(after.state.clone());
        }
        Self { bound, deadline: None }
    }

    pub(super) fn begun(self, deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    option_setters!();
    paging_setters!();

    /// Where on the token ring its partition lies, if it is prepared and binds the whole partition key.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        self.bound.token()
    }

    pub(super) fn bound(&self) -> &Arc<Bound> {
        &self.bound
    }

    pub(super) fn options_mut(&mut self) -> &mut Options {
        Arc::make_mut(&mut self.bound).options_mut()
    }
}

impl From<Statement> for Request {
    /// A statement without values, sent as text.
    fn from(statement: Statement) -> Self {
        Self::new(Bound::text(Arc::new(statement)))
    }
}

impl Bound {
    /// A statement to be sent as text, without values.
    pub(super) fn text(statement: Arc<Statement>) -> Self {
        Self { what: What::Text(statement), values: Values::default() }
    }

    pub(super) fn prepared(prepared: Prepared, values: Values) -> Self {
        Self { what: What::Prepared(prepared), values }
    }

    /// The wish to have a statement prepared.
    pub(super) fn prepare(statement: Arc<Statement>) -> Self {
        Self { what: What::Prepare(statement), values: Values::default() }
    }

    pub(super) fn batch(batch: BoundBatch) -> Self {
        Self { what: What::Batch(Arc::new(batch)), values: Values::default() }
    }

    pub(super) fn options(&self) -> &Options {
        match &self.what {
            What::Batch(batch) => &batch.options,
            What::Text(statement) | What::Prepare(statement) => &statement.options,
            What::Prepared(prepared) => prepared.options(),
        }
    }

    fn options_mut(&mut self) -> &mut Options {
        match &mut self.what {
            What::Text(statement) | What::Prepare(statement) => Arc::make_mut(statement).options_mut(),
            What::Prepared(prepared) => prepared.options_mut(),
            What::Batch(batch) => &mut Arc::make_mut(batch).options,
        }
    }

    /// The text that is sent, where text is sent.
    pub(super) fn sent_text(&self) -> Option<&str> {
        match &self.what {
            What::Text(statement) | What::Prepare(statement) => Some(&statement.text),
            What::Prepared(_) | What::Batch(_) => None,
        }
    }

    /// Whether this only prepares a statement.
    pub(super) fn is_prepare(&self) -> bool {
        matches!(self.what, What::Prepare(_))
    }

    pub(super) fn as_prepared(&self) -> Option<&Prepared> {
        match &self.what {
            What::Prepared(prepared) => Some(prepared),
            What::Text(_) | What::Prepare(_) | What::Batch(_) => None,
        }
    }

    /// The prepared statement that it is routed by, and the token of its partition.
    #[inline]
    pub(super) fn target(&self) -> Option<(&Prepared, Token)> {
        match &self.what {
            What::Prepared(prepared) => Some((prepared, token(prepared, &self.values)?)),
            What::Batch(batch) => {
                batch.prepared().find_map(|(prepared, values)| Some((prepared, token(prepared, values)?)))
            }
            What::Text(_) | What::Prepare(_) => None,
        }
    }

    /// The prepared statement that says which table it concerns; of a batch, the first one.
    pub(super) fn routed_by(&self) -> Option<&Prepared> {
        match &self.what {
            What::Batch(batch) => Some(batch.prepared().next()?.0),
            _ => self.as_prepared(),
        }
    }

    /// The token of its partition; of a batch, that of the first statement that has one.
    pub(super) fn token(&self) -> Option<Token> {
        self.target().map(|(_, token)| token)
    }

    /// Every prepared statement that a node must know to execute this.
    pub(super) fn all_prepared(&self) -> Vec<&Prepared> {
        match &self.what {
            What::Batch(batch) => batch.distinct(),
            _ => self.as_prepared().into_iter().collect(),
        }
    }

    /// The page to begin at: after a page that came, or where the user said.
    pub(super) fn from<'a>(&'a self, after: Option<&'a Rest>) -> Option<&'a PagingState> {
        after.map(|after| &after.state).or(self.options().paging_state.as_ref())
    }

    /// Whether it does no harm to execute this twice; a further page is only read.
    pub(super) fn is_idempotent(&self, from: Option<&PagingState>, config: &Config) -> bool {
        self.options().idempotent(config) || from.is_some() || matches!(self.what, What::Prepare(_))
    }

    /// What is sent to a connection of this dialect.
    #[inline]
    pub(super) fn message<'a>(
        &'a self,
        known: Option<&'a Known>,
        from: Option<&'a PagingState>,
        dialect: Dialect,
        config: &Config,
        (consistency, timestamp): (Option<Consistency>, Option<i64>),
    ) -> impl Message + 'a {
        let options = self.options();
        let metadata_id = known.and_then(|known| known.id.as_deref());
        // Safe only where the server would say that the columns changed.
        let skip_metadata = dialect.has_metadata_id()
            && metadata_id.is_some()
            && known.is_some_and(|known| !known.metadata.columns().is_empty());
        let params = QueryParams {
            consistency: consistency.unwrap_or_else(|| options.consistency(config)),
            serial_consistency: Some(options.serial_consistency(config)),
            page_size: Some(options.page_size(config)),
            paging_state: from.map(PagingState::as_bytes),
            timestamp,
            skip_metadata,
            now_in_seconds: options.now_in_seconds,
            values: &self.values,
        };
        let request = match &self.what {
            What::Text(statement) => {
                Kind::Query(Query { text: &statement.text, keyspace: statement.keyspace(), params })
            }
            What::Prepared(prepared) => {
                Kind::Execute(Execute { id: &prepared.shared().id, result_metadata_id: metadata_id, params })
            }
            What::Prepare(statement) => {
                Kind::Prepare(Prepare { text: &statement.text, keyspace: statement.keyspace() })
            }
            What::Batch(batch) => Kind::Batch(Box::new(batch.message(params))),
        };
        WithExtras { request, tracing: options.tracing, payload: options.payload.as_deref() }
    }
}

/// One of the three as one type.
enum Kind<'a> {
    Query(Query<'a>),
    Execute(Execute<'a>),
    Prepare(Prepare<'a>),
    // Rare and large.
    Batch(Box<BatchMessage<'a>>),
}

impl Message for Kind<'_> {
    #[inline]
    fn opcode(&self) -> Opcode {
        match self {
            Self::Query(query) => query.opcode(),
            Self::Execute(execute) => execute.opcode(),
            Self::Prepare(prepare) => prepare.opcode(),
            Self::Batch(batch) => batch.opcode(),
        }
    }

    #[inline]
    fn body_len(&self, dialect: Dialect) -> Result<usize, RequestError> {
        match self {
            Self::Query(query) => query.body_len(dialect),
            Self::Execute(execute) => execute.body_len(dialect),
            Self::Prepare(prepare) => prepare.body_len(dialect),
            Self::Batch(batch) => batch.body_len(dialect),
        }
    }

    #[inline]
    fn write_body(&self, dialect: Dialect, out: &mut Vec<u8>) {
        match self {
            Self::Query(query) => query.write_body(dialect, out),
            Self::Execute(execute) => execute.write_body(dialect, out),
            Self::Prepare(prepare) => prepare.write_body(dialect, out),
            Self::Batch(batch) => batch.write_body(dialect, out),
        }
    }
}
