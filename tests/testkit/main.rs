//! The test kit, seen by a client written by hand: raw bytes in, raw bytes out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod client;
mod cluster;
mod dns;
mod faults;
mod life;
mod login;
mod other_driver;
mod pipes;
mod segments;
mod session;
mod stage;
mod statements;
mod system;
mod tcp;
mod tls;
