//! Every fault at every stage and place, on every way a session connects: nothing stays open, and it recovers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod cases;
mod certificates;
mod control;
mod first;
mod given;
mod lookups;
mod loopback;
mod pinned;
mod pools;
mod same_id;
mod scenarios;
mod scene;
#[path = "../establish/support.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the tests of connecting, which use more of it")]
mod support;
mod threads;
mod under_load;
mod warnings;
mod world;
