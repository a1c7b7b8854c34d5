//! The rows of every page.

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures_core::Stream;
use tokio::task::JoinHandle;

use super::page::{Page, first_row, row_length};
use super::result_set::{OwnedRow, Rest, ResultSet};
use super::rows_error::RowsError;
use crate::error::{Error, Kind};
use crate::protocol::response::ResultMetadata;

/// The rows of every page as `T`; while one page is read, the next is fetched.
///
/// It ends after the last row, and after an error. The fetch of the next page is a task of its own, ended when the
/// stream is dropped; each fetch has the time that the request had.
///
/// ```no_run
/// # async fn example(session: messina::Session) -> Result<(), messina::Error> {
/// let mut users = session.execute("SELECT id, name FROM ks.users", ()).await?.stream::<(i32, String)>();
/// while let Some((id, name)) = users.try_next().await? {
///     println!("{id} {name}");
/// }
/// # Ok(())
/// # }
/// ```
pub struct RowStream<T> {
    page: Option<Reading>,
    next: Option<Fetch>,
    failed: Option<Error>,
    /// The columns that `T` was compared with.
    checked: Option<Arc<ResultMetadata>>,
    row: PhantomData<fn() -> T>,
}

/// A page that is read.
struct Reading {
    metadata: Arc<ResultMetadata>,
    /// From the next row on.
    data: Bytes,
    left: usize,
    row: usize,
}

/// The next page on its way.
struct Fetch(JoinHandle<Result<ResultSet, Error>>);

impl Fetch {
    /// To be called within a tokio runtime, as a request has just run there.
    fn start(rest: Option<Box<Rest>>, after_empty: bool) -> Option<Self> {
        Some(Self(tokio::spawn(rest?.fetch(after_empty))))
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T: OwnedRow> RowStream<T> {
    pub(super) fn new(result: ResultSet) -> Self {
        let mut stream = Self { page: None, next: None, failed: None, checked: None, row: PhantomData };
        if let Err(error) = stream.turn_to(result) {
            stream.failed = Some(error.into());
        }
        stream
    }

    /// The next row; `None` after the last one.
    ///
    /// Cancel safe: no row is lost when the future is dropped.
    ///
    /// # Errors
    /// Why the row cannot be read as `T`, or why its page cannot be had. The stream ends there.
    pub async fn try_next(&mut self) -> Result<Option<T>, Error> {
        poll_fn(|cx| self.poll_row(cx)).await.transpose()
    }

    /// Reads the page that is next as a whole; false after the last one.
    pub(super) async fn read_page(&mut self, into: &mut Vec<T>) -> Result<bool, Error> {
        match self.try_next().await? {
            None => return Ok(false),
            Some(row) => into.push(row),
        }
        while let Some(row) = self.row_of_page() {
            into.push(row?);
        }
        Ok(true)
    }

    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Error>>> {
        loop {
            if let Some(error) = self.failed.take() {
                return Poll::Ready(Some(Err(error)));
            }
            if let Some(row) = self.row_of_page() {
                return Poll::Ready(Some(row));
            }
            let Some(fetch) = &mut self.next else { return Poll::Ready(None) };
            let fetched = ready!(Pin::new(&mut fetch.0).poll(cx));
            self.next = None;
            let turned = match fetched {
                Ok(Ok(result)) => self.turn_to(result).map_err(Error::from),
                Ok(Err(error)) => Err(error),
                // Of a policy of the application's; it is its own to see.
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(error) => Err(Error::new(Kind::Closed, "the task that fetches the next page was ended")
                    .with_source(Arc::new(error) as Arc<_>)),
            };
            if let Err(error) = turned {
                return Poll::Ready(Some(Err(self.end(error))));
            }
        }
    }

    /// The next row of the page that is read.
    fn row_of_page(&mut self) -> Option<Result<T, Error>> {
        let page = self.page.as_mut()?;
        page.left = page.left.checked_sub(1)?;
        match page.next_row() {
            Ok(row) => Some(Ok(row)),
            Err(error) => Some(Err(self.end(error.into()))),
        }
    }

    /// Begins with a page, and with the fetch of the one after it.
    fn turn_to(&mut self, result: ResultSet) -> Result<(), RowsError> {
        let (page, rest) = result.into_parts();
        let reading = Reading::new(page)?;
        let same = self.checked.as_ref().is_some_and(|checked| Arc::ptr_eq(checked, &reading.metadata));
        if !same {
            let columns = reading.metadata.columns();
            T::type_check(columns).map_err(|error| RowsError::of_type(error, columns))?;
            self.checked = Some(Arc::clone(&reading.metadata));
        }
        self.next = Fetch::start(rest, reading.left == 0);
        self.page = Some(reading);
        Ok(())
    }

    fn end(&mut self, error: Error) -> Error {
        self.page = None;
        self.next = None;
        error
    }
}

impl Reading {
    fn new(page: Page) -> Result<Self, RowsError> {
        let rows = page.into_rows()?;
        let metadata = Arc::clone(rows.metadata());
        Ok(Self { metadata, left: rows.len(), row: 0, data: rows.data().clone() })
    }

    fn next_row<T: OwnedRow>(&mut self) -> Result<T, RowsError> {
        let columns = self.metadata.columns();
        let failed = |source| RowsError::Row { row: self.row, source };
        let length = row_length(columns.len(), &self.data).map_err(failed)?;
        let row = first_row(columns, &self.data).map_err(failed)?;
        self.data.advance(length);
        self.row += 1;
        Ok(row)
    }
}

impl<T: OwnedRow> Stream for RowStream<T> {
    type Item = Result<T, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_row(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.page.as_ref().map_or(0, |page| page.left), None)
    }
}

impl<T> fmt::Debug for RowStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream")
            .field("left_of_page", &self.page.as_ref().map_or(0, |page| page.left))
            .field("more_pages", &self.next.is_some())
            .finish_non_exhaustive()
    }
}
