//! From a statement and values to a result.

use std::future::Future;
use std::sync::Arc;

use scylla_cql_core::serialize::row::SerializeRow;
use tokio::time::timeout_at;

use super::any_statement::Repr;
use super::deadline::Deadline;
use super::request::Bound;
use super::run::{Boxed, Owned, Running};
use super::statement::is_use;
use super::{AnyStatement, Inner, Prepared, Request, ResultSet, Session, Statement};
use crate::error::{Error, Kind};

impl Session {
    /// Executes a statement: text, a [`Statement`], a [`Prepared`], or a [`Batch`](super::Batch).
    ///
    /// Text without values is sent as it is. Text with values is prepared, once for the session, and kept among the 1000
    /// statements used last. Values are tuples `(7, "Ada")`, structs with `#[derive(SerializeRow)]`, maps by name, or
    /// `()`; a single value is the tuple `(7,)`. "`SerializeRow` is not implemented for `i32`" means that its comma is
    /// missing.
    ///
    /// A request whose outcome is known to be harmless is tried on another node, or once more on the same, if it fails;
    /// one whose outcome is unknown only if it is [idempotent](Statement::with_idempotence). If every connection is
    /// saturated it waits for room. All of it takes no longer than the request's timeout. Dropping the future gives the
    /// request up; it may still be executed.
    ///
    /// # Errors
    /// What failed, with every try: which node, how long, and why. [`Error::kind`] tells what to do about it.
    pub fn execute<'a>(
        &'a self,
        statement: impl Into<AnyStatement<'a>>,
        values: impl SerializeRow + Send + 'a,
    ) -> impl Future<Output = Result<ResultSet, Error>> + Send + 'a {
        self.inner.start(statement.into(), values)
    }

    /// Executes a request that was bound before; it may be executed again and again.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub async fn execute_request(&self, request: &Request) -> Result<ResultSet, Error> {
        let bound = request.bound();
        check_text(bound.sent_text())?;
        Running::new(&self.inner, Owned::Shared(Arc::clone(bound)), None).await
    }

    /// Prepares a statement; its options become those of the prepared statement.
    ///
    /// It is prepared on one node, then beside requests on the others, and on nodes that come up later; a node that does not
    /// know it all the same is told when it is asked to execute it. What [`execute`](Self::execute) prepares by itself is
    /// shared.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub async fn prepare(&self, statement: impl Into<Statement>) -> Result<Prepared, Error> {
        let statement = statement.into();
        check_text(Some(&statement.text))?;
        let deadline = self.inner.deadline(&statement.options);
        let prepared = Box::pin(self.inner.prepared(&statement, deadline)).await?;
        Ok(prepared.with_options(statement.options))
    }
}

impl Inner {
    fn start<'a, V: SerializeRow + Send + 'a>(
        self: &'a Arc<Self>,
        statement: AnyStatement<'a>,
        values: V,
    ) -> Running<'a> {
        let statement = match statement.0 {
            Repr::Prepared(prepared) => return self.start_prepared(prepared, &values),
            Repr::Batch(batch) => return Running::boxed(self, self.run_batch(batch, values.is_empty())),
            // Known text is known to be no `USE`.
            Repr::Text(text) => match self.cache.get(&text, None).filter(|_| !values.is_empty()) {
                Some(prepared) => return self.start_prepared(prepared, &values),
                None => Statement::new(text),
            },
            Repr::Statement(statement) => statement.into_owned(),
        };
        if let Err(error) = check_text(Some(&statement.text)) {
            return Running::failed(self, error);
        }
        if values.is_empty() {
            return Running::new(self, Owned::Alone(Bound::text(Arc::new(statement))), None);
        }
        Running::boxed(self, Box::pin(self.prepare_and_run(statement, values)))
    }

    fn start_prepared(self: &Arc<Self>, prepared: Prepared, values: &impl SerializeRow) -> Running<'_> {
        match prepared.bound(values) {
            Ok(bound) => Running::new(self, Owned::Alone(bound), None),
            Err(error) => Running::failed(self, error),
        }
    }

    async fn prepare_and_run(
        self: &Arc<Self>,
        statement: Statement,
        values: impl SerializeRow + Send,
    ) -> Result<ResultSet, Error> {
        let deadline = self.deadline(&statement.options);
        let prepared = self.prepared(&statement, deadline).await?;
        let bound = prepared.with_options(statement.options).bound(&values)?;
        Running::new(self, Owned::Alone(bound), Some(deadline)).await
    }

    /// The statement from the cache, or prepared now.
    pub(super) async fn prepared(
        self: &Arc<Self>,
        statement: &Statement,
        deadline: Deadline,
    ) -> Result<Prepared, Error> {
        // The common case takes no write lock and counts nothing.
        if let Some(prepared) = self.cache.get(&statement.text, statement.keyspace.as_deref()) {
            return Ok(prepared);
        }
        let slot = self.cache.slot(&statement.text, statement.keyspace.as_ref());
        let prepared = slot.prepared.get_or_try_init(|| self.prepare(statement, deadline));
        let result = match timeout_at(deadline.at(), prepared).await {
            Ok(Ok(prepared)) => {
                self.metrics.prepared(self.cache.len());
                return Ok(prepared.clone());
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Error::new(
                Kind::Timeout,
                format!("the statement was not prepared within {:?}; another request is about to", deadline.limit()),
            )),
        };
        self.cache.forget(&statement.text, &slot);
        self.metrics.prepared(self.cache.len());
        result
    }

    async fn prepare(self: &Arc<Self>, statement: &Statement, deadline: Deadline) -> Result<Prepared, Error> {
        let (text, keyspace) = (Arc::clone(&statement.text), statement.keyspace.clone());
        let prepared_in = self.keyspace();
        let mut asked = Statement { text: Arc::clone(&text), keyspace: keyspace.clone(), options: Default::default() };
        asked.options.payload.clone_from(&statement.options.payload);
        let bound = Owned::Alone(Bound::prepare(Arc::new(asked)));
        let result = Running::new(self, bound, Some(deadline)).await?;
        let served_by = result.served_by();
        match result.into_page().into_prepared() {
            Some(answer) => {
                let prepared = Prepared::new(text, (keyspace, prepared_in), Default::default(), answer, |table| {
                    self.nodes.tablets().of(table.ks_name(), table.table_name())
                });
                self.prepare_elsewhere(&prepared, served_by.host_id);
                Ok(prepared)
            }
            None => Err(Error::new(
                Kind::Protocol,
                format!("{served_by} answered a request to prepare with something else"),
            )),
        }
    }
}

/// Whether the session can send this text.
fn check_text(text: Option<&str>) -> Result<(), Error> {
    match text {
        Some(text) if is_use(text) => Err(Error::new(
            Kind::Statement,
            "`USE` would change the keyspace of one connection of many; call `session.use_keyspace(..)`, set it with \
             `keyspace(..)` at the builder, or write names as `keyspace.table`",
        )),
        _ => Ok(()),
    }
}

impl Session {
    /// The request as a future of its own.
    pub(super) fn executing(&self, request: Request) -> Boxed<'static> {
        let session = self.clone();
        Box::pin(async move { session.execute_request(&request).await })
    }
}
