//! The protocol as bytes: golden vectors, round trips, and hostile input.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod version;
mod requests;
mod values;
mod envelope;
mod compression;
mod segment;
mod responses;
mod results;
mod types;
mod errors;
mod cassandra;
mod cassandra_types;
mod fuzzed;
mod hostile;
mod golden;
mod support;
