//! Questions to an error that only the session can answer.

use super::RowsError;
use crate::error::Error;
use crate::protocol::response::ServerError;

impl Error {
    /// The last error that a server answered with, if one did.
    #[must_use]
    pub fn server_error(&self) -> Option<&ServerError> {
        self.find()
    }

    /// What is wrong with the rows, if that is what failed.
    #[must_use]
    pub fn rows_error(&self) -> Option<&RowsError> {
        self.find()
    }
}
