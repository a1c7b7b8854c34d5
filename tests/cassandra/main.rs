//! Tests against real Cassandra nodes.
//!
//! The harness fetches Cassandra with Maven and runs it with Java 17; where one of them is missing every test is
//! reported as ignored with the reason, or as failed when `MESSINA_REQUIRE_CASSANDRA=1`. Tests name the clusters
//! they need; equal ones are started once, at the first use, and end with the run.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod centres;
mod chaos;
mod connection;
mod dead_first;
mod derived;
mod harness;
mod keyspaces;
mod moves;
mod numbers;
mod other_crates;
mod outages;
mod paging;
mod refusals;
mod replicas;
mod requests;
mod rotation;
mod schema;
mod support;
mod times;
mod types;
mod versions;
mod wire;

use std::process::ExitCode;

use libtest_mimic::Arguments;

use support::case::{Shared, by_clusters};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    support::trace::install();
    let registry = Shared::default();
    let cases = [
        wire::cases(),
        connection::cases(),
        dead_first::cases(),
        versions::cases(),
        types::cases(),
        derived::cases(),
        paging::cases(),
        refusals::cases(),
        harness::cases(),
        centres::cases(),
        chaos::cases(),
        moves::cases(),
        rotation::cases(),
        numbers::cases(),
        times::cases(),
        schema::cases(),
        keyspaces::cases(),
        requests::cases(),
        outages::cases(),
        other_crates::cases(),
        replicas::cases(),
    ];
    let cases = by_clusters(cases.into_iter().flatten().collect());
    let trials = cases.into_iter().map(|case| case.trial(&registry)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    registry.end();
    conclusion.exit_code()
}
