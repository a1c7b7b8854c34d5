//! What a session says of itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod json;
mod plan;
mod probe;
mod state;
mod support;
