//! The protocol as bytes: golden vectors, round trips, and hostile input.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod envelope;
mod golden;
mod requests;
mod segment;
mod support;
mod values;
mod version;
