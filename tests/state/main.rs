//! What a session says of itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
