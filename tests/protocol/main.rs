//! The protocol as bytes: golden vectors, round trips, and hostile input.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod envelope;
mod segment;
mod support;
mod version;
