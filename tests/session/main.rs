//! Statements through a session, against a cluster in this process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod rows;
mod support;
