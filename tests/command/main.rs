//! The command `messina`, run as a user runs it: the binary, its exit code, what it prints.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod advice;
mod alternator;
mod demo;
mod json;
mod probe;
mod query;
mod support;
#[cfg(unix)]
mod terminal;
mod usage;
