//! The cluster as values: nodes, token ring, replicas; and the rows they are read from.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod cost;
mod nodes;
mod replicas;
mod rows;
#[path = "../../benches/canned/server.rs"]
mod server;
mod support;
mod tablets;
