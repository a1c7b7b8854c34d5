//! Connecting a session, against a cluster and a DNS server in this process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod auth;
mod cancel;
mod classes;
mod clusters;
mod extensions;
mod first_connect;
mod golden;
mod host_id;
mod identity;
mod keeping;
mod loopback;
mod messages;
mod nodes;
mod overlap;
mod pins;
mod reactions;
mod register;
mod resolving;
mod rounds;
mod seams;
mod support;
mod tls;
mod versions;
