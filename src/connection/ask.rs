//! Asking for rows outside of any request of the application's: node list, schema, agreement.

use messina_layers::error::BoxError;
use scylla_cql_core::frame::types::Consistency;
use tower::ServiceExt;

use super::Connection;
use crate::protocol::{
    request::{Query, QueryParams},
    response::{self, Response, ResultResponse, Rows, ServerError},
};

/// Which rows of an answer are asked for; all of them by default.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paging<'a> {
    /// Rows at a time.
    pub(crate) size: Option<i32>,
    /// Where the page before ended.
    pub(crate) state: Option<&'a [u8]>,
}

impl Connection {
    /// Asks for rows at consistency ONE as soon as there is room; an error answer of the server comes as a value.
    ///
    /// Has no limit of its own. Others may ask on the same connection, which may allow no more than one request at a time.
    pub(crate) async fn ask_rows(&self, text: &str, paging: Paging<'_>) -> Result<Result<Rows, ServerError>, BoxError> {
        let params = QueryParams {
            consistency: Consistency::One,
            page_size: paging.size,
            paging_state: paging.state,
            ..QueryParams::default()
        };
        let envelope = self.clone().oneshot(Query::new(text, params)).await?;
        match response::parse(envelope, self.dialect(), None)?.response {
            Response::Result(ResultResponse::Rows(rows)) => Ok(Ok(rows)),
            Response::Error(error) => Ok(Err(error)),
            _ => Err(format!("the server did not answer rows to {text:?}").into()),
        }
    }
}
