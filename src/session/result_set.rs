//! The result of a request.

use std::sync::Arc;

use scylla_cql_core::deserialize::row::DeserializeRow;
use scylla_cql_core::frame::response::result::ColumnSpec;
use uuid::Uuid;

use super::page::{Page, ServedBy};
use super::request::Bound;
use super::row_stream::RowStream;
use super::rows_error::RowsError;
use super::run::{Owned, Running};
use super::{Inner, PagingState};
use crate::error::Error;
use crate::pool::Node;
use crate::protocol::Payload;
use crate::protocol::response::SchemaChange;
use crate::topology::SchemaAgreement;

/// A row type that owns what it holds, or borrows only where rows may be borrowed from.
///
/// Every `DeserializeRow` that borrows nothing is one: tuples, derived structs, [`Row`](crate::value::Row).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a row",
    note = "tuples of values are row types, `(i32, String)` or `(i32,)`, and structs with `#[derive(DeserializeRow)]`",
    note = "a type that borrows, such as `(&str,)`, is read from one page: `result.page().rows::<(&str,)>()`"
)]
pub trait OwnedRow: for<'a> DeserializeRow<'a, 'a> {}

impl<T: for<'a> DeserializeRow<'a, 'a>> OwnedRow for T {}

/// The result of a request: its first page, and the way to the others.
///
/// Rows are never dropped in silence: [`one`](Self::one) insists on exactly one row, [`all`](Self::all) and
/// [`stream`](Self::stream) go through every page; only [`page`](Self::page) stays on the first.
#[derive(Debug)]
pub struct ResultSet {
    page: Page,
    rest: Option<Box<Rest>>,
}

/// The way to the page that follows.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) session: Arc<Inner>,
    pub(super) bound: Arc<Bound>,
    pub(super) node: Arc<Node>,
    pub(super) state: PagingState,
}

impl ResultSet {
    #[inline]
    pub(super) fn new(
        session: &Arc<Inner>,
        page: Page,
        node: &Arc<Node>,
        bound: impl FnOnce() -> Option<Owned>,
    ) -> Self {
        let rest = page.paging_state().and_then(|state| {
            let bound = bound()?.into_shared();
            Some(Box::new(Rest { session: Arc::clone(session), bound, node: Arc::clone(node), state }))
        });
        Self { page, rest }
    }

    /// The one row of the result.
    ///
    /// # Errors
    /// [`RowsError::NoRow`], [`RowsError::TooManyRows`], or why a row cannot be read as `T`; why a further page cannot be had.
    pub async fn one<T: OwnedRow>(self) -> Result<T, Error> {
        if self.rest.is_none() {
            return Ok(self.page.exactly_one()?);
        }
        Box::pin(self.one_of_many()).await
    }

    async fn one_of_many<T: OwnedRow>(mut self) -> Result<T, Error> {
        let mut found = None;
        loop {
            let seen = self.page.raw_rows()?.len() + usize::from(found.is_some());
            if seen > 1 {
                return Err(RowsError::TooManyRows { seen, more: self.rest.is_some() }.into());
            }
            let row = self.page.rows::<T>()?.next();
            if let Some(row) = row {
                found = Some(row?);
            }
            match self.next_page().await? {
                Some(next) => self = next,
                None => return Ok(found.ok_or(RowsError::NoRow)?),
            }
        }
    }

    /// The first row of the result, if there is one.
    ///
    /// # Errors
    /// Why it cannot be read as `T`, or why a further page cannot be had.
    pub async fn first<T: OwnedRow>(mut self) -> Result<Option<T>, Error> {
        loop {
            let row = self.page.rows::<T>()?.next();
            if let Some(row) = row {
                return Ok(Some(row?));
            }
            match self.next_page().await? {
                Some(next) => self = next,
                None => return Ok(None),
            }
        }
    }

    /// All rows of the result.
    ///
    /// # Errors
    /// Why a row cannot be read as `T`, or why a further page cannot be had.
    pub async fn all<T: OwnedRow>(self) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        let mut stream = self.stream();
        while stream.read_page(&mut all).await? {}
        Ok(all)
    }

    /// The rows of every page, one after the other; while one page is read, the next is fetched.
    #[must_use]
    pub fn stream<T: OwnedRow>(self) -> RowStream<T> {
        RowStream::new(self)
    }

    /// This page alone, for those who page by hand with its [`paging_state`](Page::paging_state).
    #[must_use]
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// This page alone, as [`page`](Self::page).
    #[must_use]
    pub fn into_page(self) -> Page {
        self.page
    }

    /// The result from the next page on; `None` if this was the last.
    ///
    /// # Errors
    /// Why the page cannot be had.
    pub async fn next_page(self) -> Result<Option<Self>, Error> {
        match self.rest {
            None => Ok(None),
            Some(rest) => rest.fetch(self.page.is_empty()).await.map(Some),
        }
    }

    /// Whether a conditional write was applied.
    ///
    /// # Errors
    /// [`RowsError::NotConditional`] for any other statement.
    pub fn applied(&self) -> Result<bool, Error> {
        self.page.applied()
    }

    /// The columns of the rows; none if the statement gives no rows.
    #[must_use]
    pub fn columns(&self) -> &[ColumnSpec<'static>] {
        self.page.columns()
    }

    /// What the server warns of.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        self.page.warnings()
    }

    /// Bytes that the server's query handler sent along, if any.
    #[must_use]
    pub fn payload(&self) -> Option<&Payload> {
        self.page.payload()
    }

    /// Under which id the server traced the request, when it was asked to.
    #[must_use]
    pub fn tracing_id(&self) -> Option<Uuid> {
        self.page.tracing_id()
    }

    /// What the statement changed in the schema.
    #[must_use]
    pub fn schema_change(&self) -> Option<&SchemaChange> {
        self.page.schema_change()
    }

    /// Whether the nodes agreed on what the statement changed in the schema, as far as the session waited for it; `None`
    /// where it changed nothing.
    ///
    /// The session waits before it gives the result: 10 s at most unless settings say otherwise.
    #[must_use]
    pub fn schema_agreement(&self) -> Option<&SchemaAgreement> {
        self.page.schema_agreement()
    }

    pub(super) fn set_agreement(&mut self, agreement: SchemaAgreement) {
        self.page.set_agreement(agreement);
    }

    /// The node that answered.
    #[must_use]
    pub fn served_by(&self) -> ServedBy {
        self.page.served_by()
    }

    pub(super) fn into_parts(self) -> (Page, Option<Box<Rest>>) {
        (self.page, self.rest)
    }
}

impl Rest {
    /// Fetches the page, from the node that gave the last one if it is still there.
    pub(super) async fn fetch(self: Box<Self>, after_empty: bool) -> Result<ResultSet, Error> {
        let result = Running::page(&self).await?;
        if after_empty && result.page.is_empty() && result.rest.as_ref().is_some_and(|rest| rest.state == self.state) {
            return Err(RowsError::EndlessPages.into());
        }
        Ok(result)
    }
}

impl Page {
    fn exactly_one<T: OwnedRow>(&self) -> Result<T, RowsError> {
        let mut rows = self.rows::<T>()?;
        match (rows.next(), self.len()) {
            (Some(row), 1) => row,
            (None, _) => Err(RowsError::NoRow),
            (Some(_), seen) => Err(RowsError::TooManyRows { seen, more: false }),
        }
    }
}
