//! What a session counts, as Prometheus scrapes it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[allow(dead_code, reason = "an example has a main of its own")]
#[path = "../../examples/prometheus.rs"]
mod example;
mod log;
mod names;
mod nodes;
mod requests;
mod scene;
mod scraped;
mod spans;
