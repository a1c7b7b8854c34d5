//! Several statements as one.

use std::fmt;
use std::sync::Arc;

use scylla_cql_core::frame::request::batch::BatchType;
use scylla_cql_core::serialize::row::SerializeRow;

use super::any_statement::{Either, Repr};
use super::bound_batch::{BoundBatch, Entry};
use super::deadline::Deadline;
use super::options::{Options, option_setters};
use super::request::Bound;
use super::run::{Boxed, Owned, Running};
use super::statement::is_use;
use super::{AnyStatement, Inner, Prepared, Request, Session, Statement};
use crate::error::{Error, Kind};
use crate::protocol::Values;

/// Several writes as one request: all or none of a logged batch take effect.
///
/// Each statement stands with its own values. Text with values is prepared when the batch is executed, once for the
/// session; text without values is sent as it is. The options of the statements themselves do not count, those of the
/// batch do.
///
/// ```
/// use messina::{Batch, Consistency};
///
/// let batch = Batch::logged()
///     .with("INSERT INTO ks.users (id, name) VALUES (?, ?)", (7, "Ada"))
///     .with("INSERT INTO ks.names (name, id) VALUES (?, ?)", ("Ada", 7))
///     .with("UPDATE ks.log SET last = 7 WHERE k = 0", ())
///     .with_consistency(Consistency::Quorum);
/// assert_eq!(batch.len(), 3);
/// // session.execute(batch, ()).await?;
/// ```
///
/// Servers warn of, and refuse, batches whose rows are many kilobytes or lie in many partitions: a batch is for rows
/// that belong together, not for speed. A request holds at most 65535 statements.
#[derive(Clone)]
pub struct Batch {
    kind: BatchType,
    keyspace: Option<Arc<str>>,
    entries: Vec<(Written, Arc<dyn SerializeRow + Send + Sync>)>,
    options: Options,
}

/// A statement of a batch as it was given.
#[derive(Clone, Debug)]
enum Written {
    Text(Arc<Statement>),
    Prepared(Prepared),
}

impl Batch {
    /// All statements take effect, or none.
    #[must_use]
    pub fn logged() -> Self {
        Self::of(BatchType::Logged)
    }

    /// Statements of one partition take effect together; nothing is promised for those of several.
    #[must_use]
    pub fn unlogged() -> Self {
        Self::of(BatchType::Unlogged)
    }

    /// Changes of counters, and nothing else.
    #[must_use]
    pub fn counter() -> Self {
        Self::of(BatchType::Counter)
    }

    fn of(kind: BatchType) -> Self {
        Self { kind, keyspace: None, entries: Vec::new(), options: Options::default() }
    }

    /// Adds a statement with its values; another batch adds its statements.
    #[must_use]
    pub fn with<'a>(
        mut self,
        statement: impl Into<AnyStatement<'a>>,
        values: impl SerializeRow + Send + Sync + 'static,
    ) -> Self {
        self.push(statement, values);
        self
    }

    /// Adds a statement with its values; another batch adds its statements.
    pub fn push<'a>(
        &mut self,
        statement: impl Into<AnyStatement<'a>>,
        values: impl SerializeRow + Send + Sync + 'static,
    ) {
        let written = match statement.into().0 {
            Repr::Text(text) => Written::Text(Arc::new(Statement::new(text))),
            Repr::Statement(statement) => Written::Text(Arc::new(statement.into_owned())),
            Repr::Prepared(prepared) => Written::Prepared(prepared),
            Repr::Batch(inner) => {
                self.entries.extend(inner.into_owned().entries);
                return;
            }
        };
        self.entries.push((written, Arc::new(values)));
    }

    /// Sets the keyspace of names that have none; needs protocol v5, and fails where an older one is spoken.
    #[must_use]
    pub fn with_keyspace(mut self, keyspace: impl Into<Arc<str>>) -> Self {
        self.keyspace = Some(keyspace.into());
        self
    }

    option_setters!();

    /// How many statements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }
}

impl fmt::Debug for Batch {
    /// Without the values, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statements: Vec<_> = self.entries.iter().map(|(written, _)| written.text()).collect();
        f.debug_struct("Batch").field("kind", &self.kind).field("statements", &statements).finish_non_exhaustive()
    }
}

impl Written {
    fn text(&self) -> &str {
        match self {
            Self::Text(statement) => &statement.text,
            Self::Prepared(prepared) => prepared.text(),
        }
    }
}

impl Session {
    /// Prepares what a batch needs and serializes its values: the request may be sent often, and through tower.
    ///
    /// # Errors
    /// [`Kind::Values`] for values that do not fit, naming the statement; [`Kind::Statement`] for an empty batch; and
    /// as [`prepare`](Self::prepare).
    pub async fn bind_batch(&self, batch: &Batch) -> Result<Request, Error> {
        let deadline = self.inner.deadline(&batch.options);
        Ok(Request::new(self.inner.bound_batch(batch, deadline).await?))
    }
}

impl Inner {
    /// A batch, from its statements as they are written to the answer.
    pub(super) fn run_batch<'a>(self: &'a Arc<Self>, batch: Either<'a, Batch>, no_values: bool) -> Boxed<'a> {
        Box::pin(async move {
            if !no_values {
                let message = "the values of a batch stand with its statements; pass `()` beside the batch";
                return Err(Error::new(Kind::Values, message));
            }
            let deadline = self.deadline(&batch.options);
            let bound = self.bound_batch(&batch, deadline).await?;
            Running::new(self, Owned::Alone(bound), Some(deadline)).await
        }) as Boxed<'a>
    }

    async fn bound_batch(self: &Arc<Self>, batch: &Batch, deadline: Deadline) -> Result<Bound, Error> {
        if batch.is_empty() {
            return Err(Error::new(Kind::Statement, "a batch needs at least one statement"));
        }
        let mut entries = Vec::with_capacity(batch.len());
        for (place, (written, values)) in batch.entries.iter().enumerate() {
            let prepared = match written {
                Written::Text(statement) if is_use(&statement.text) => {
                    return Err(Error::new(Kind::Statement, format!("statement {place} of the batch is `USE`")));
                }
                Written::Text(statement) if values.is_empty() => {
                    entries.push(Entry::text(Arc::clone(&statement.text)));
                    continue;
                }
                Written::Text(statement) => {
                    let keyspace = statement.keyspace.clone().or_else(|| batch.keyspace.clone());
                    let asked = Statement { keyspace, ..Statement::clone(statement) };
                    self.prepared(&asked, deadline).await?
                }
                Written::Prepared(prepared) => prepared.clone(),
            };
            let bound = Values::serialize(prepared.markers(), &**values).map_err(|error| {
                let message = format!("cannot bind the values of statement {place} of the batch, {:?}", written.text());
                Error::new(Kind::Values, message).with_source(Arc::new(error) as Arc<_>)
            })?;
            entries.push(Entry::prepared(prepared, bound));
        }
        Ok(Bound::batch(BoundBatch {
            kind: batch.kind,
            keyspace: batch.keyspace.clone(),
            entries,
            options: batch.options.clone(),
        }))
    }
}
