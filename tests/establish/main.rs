//! Connecting a session, against a cluster and a DNS server in this process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod first_connect;
mod golden;
mod identity;
mod matrix;
mod register;
mod support;
mod versions;
