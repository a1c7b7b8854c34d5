//! The pools of a session: how many connections, to which shard, kept full, watched, drained.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod balance;
mod draining;
mod hints;
mod identity;
mod ports;
mod refill;
mod resize;
mod shards;
mod sizes;
mod standing;
mod storm;
mod support;
mod ways;
