//! The core of the Alternator client: its decisions, without HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod affinity;
mod batch;
mod generator;
mod health;
mod key_names;
mod localnodes;
mod node;
mod plan;
mod plan_cost;
mod plan_vectors;
mod probes;
mod support;
