//! Tests against real Cassandra nodes.
//!
//! The harness fetches Cassandra with Maven and runs it with Java 17; where one of them is missing every test is
//! reported as ignored with the reason, or as failed when `MESSINA_REQUIRE_CASSANDRA=1`. Tests name the clusters
//! they need; equal ones are started once, at the first use, and end with the run.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bad_addresses;
mod harness;
mod support;
mod wire;

use std::process::ExitCode;

use libtest_mimic::Arguments;

use support::case::Shared;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let registry = Shared::default();
    // Tests of one cluster stand together, so that few clusters run at once.
    let cases = [wire::cases(), bad_addresses::cases(), harness::cases()];
    let trials = cases.into_iter().flatten().map(|case| case.trial(&registry)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    registry.end();
    conclusion.exit_code()
}
