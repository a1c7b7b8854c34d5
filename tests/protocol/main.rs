//! The protocol as bytes: golden vectors, round trips, and hostile input.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod envelope;
mod errors;
mod golden;
mod hostile;
mod requests;
mod responses;
mod results;
mod segment;
mod support;
mod types;
mod values;
mod version;
