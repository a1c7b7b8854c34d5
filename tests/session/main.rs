//! Statements through a session, against a cluster in this process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bad_input;
mod balancing;
mod balancing_over_time;
mod batch;
mod canned;
mod ddl;
mod deadlines;
mod keyspace;
mod killed;
mod layers;
mod limits;
mod options;
mod paging;
mod policies;
mod prepared;
mod preparing;
mod routing;
mod rows;
mod service;
mod support;
mod tablets;
mod timestamps;
mod tokens;
mod trace;
mod tries;
mod types;
