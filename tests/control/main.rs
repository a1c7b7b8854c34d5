//! The control connection: who it leads to, what it hears, and how it is found again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod adoption;
mod agreement;
mod composed;
mod early;
mod events;
mod forced;
mod moved;
mod monitor;
mod panics;
mod removal;
mod support;
mod waiting;
