//! The core of the Alternator client: its decisions, without HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../telemetry/log.rs"]
#[expect(dead_code, reason = "spans are looked at in `telemetry` only")]
mod log;
mod affinity;
mod batch;
mod burst;
mod candidates;
mod copies;
mod discovery;
mod discovery_limits;
mod encoding;
mod end_to_end;
mod generator;
mod heads;
mod health;
mod http_support;
mod key_names;
mod live_nodes;
mod live_scopes;
mod localnodes;
mod lookups;
mod members;
mod metrics;
mod node;
mod pace;
mod plan;
mod plan_cost;
mod plan_vectors;
mod polls;
mod probes;
mod scope;
#[cfg(feature = "aws-sdk")]
mod sdk;
mod secure;
mod signing;
mod support;
mod warnings;
mod world;
