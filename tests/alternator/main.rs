//! The core of the Alternator client: its decisions, without HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod affinity;
mod batch;
mod candidates;
mod discovery;
mod discovery_limits;
mod encoding;
mod end_to_end;
mod generator;
mod health;
mod http_support;
mod key_names;
mod live_io;
mod live_nodes;
mod localnodes;
mod node;
mod pace;
mod plan;
mod plan_cost;
mod plan_vectors;
mod probes;
mod scope;
#[cfg(feature = "aws-sdk")]
mod sdk;
mod secure;
mod signing;
mod support;
mod world;
