//! Ways to reach nodes: proxies, client routes, translated addresses, endpoints of the application's own, and TLS to
//! each of them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[cfg(feature = "cloud")]
mod bundles;
mod custom;
mod merging;
mod proxies;
mod routed;
mod routes;
mod routes_events;
mod settings;
mod support;
mod tls_files;
mod translated;
mod values;
