//! The live connection: multiplexing, bounds, proofs of delivery, framing, and the time before acceptance.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod damage;
mod multiplexing;
mod opening;
mod segments;
mod support;
