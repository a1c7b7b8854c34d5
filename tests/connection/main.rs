//! The live connection: multiplexing, bounds, proofs of delivery, framing, and the time before acceptance.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod closing;
mod coalescing;
mod compression;
mod damage;
mod delivery;
mod events;
mod flips;
mod heartbeat;
mod multiplexing;
mod opening;
mod orphans;
mod readiness;
mod segments;
mod support;
