//! The control connection.
