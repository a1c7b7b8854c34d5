//! The test kit, seen by a client written by hand: raw bytes in, raw bytes out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[allow(dead_code, reason = "parts of it are for tests to come")]
mod client;
mod cluster;
mod dns;
mod faults;
mod life;
mod pipes;
mod tcp;
