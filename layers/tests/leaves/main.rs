//! The leaves: TCP on loopback, TLS, and the resolvers, each against a real peer in the test.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

#[cfg(feature = "hickory")]
mod dns;
mod fixed;
#[cfg(feature = "hyper")]
mod hyper;
mod local_ports;
mod system;
mod tcp;
#[cfg(feature = "rustls")]
mod tls_config;
#[cfg(feature = "rustls")]
mod tls_faults;
#[cfg(feature = "rustls")]
mod tls_files;
#[cfg(feature = "rustls")]
mod tls_names;
#[cfg(feature = "rustls")]
mod tls_sessions;
mod tls_off;
