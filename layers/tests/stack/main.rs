//! The layers over scripted leaves: no sockets, paused time.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

mod address;
mod backoff;
mod budget;
mod candidates;
mod classes;
mod drops;
mod fallback;
mod handshake;
mod identity;
mod orders;
mod overlap;
mod printing;
mod readiness;
mod resolve;
mod seams;
mod telemetry;
mod turn;
