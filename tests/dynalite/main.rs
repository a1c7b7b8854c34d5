//! Real requests: npm's `dynalite` behind HTTP nodes that check signatures and fail on demand.
//!
//! It is fetched with npm and run by Node; where one of them is missing every test is reported as ignored with the
//! reason, or as failed when `MESSINA_REQUIRE_DYNALITE=1`. One server serves all tests, each with a table of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod harness;
mod raw;
#[cfg(feature = "aws-sdk")]
mod sdk;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

/// A test: its name, and what it does with the server.
pub(crate) type Case = (&'static str, fn(std::net::SocketAddr) -> std::pin::Pin<Box<dyn Future<Output = ()>>>);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    #[cfg_attr(not(feature = "aws-sdk"), expect(unused_mut, reason = "the SDK adds more"))]
    let mut cases = raw::cases();
    #[cfg(feature = "aws-sdk")]
    cases.extend(sdk::cases());
    let server = if arguments.list { Err("only listed".to_owned()) } else { harness::start() };
    let required = std::env::var_os("MESSINA_REQUIRE_DYNALITE").is_some_and(|value| value == "1");
    let trial = |(name, case): Case| match &server {
        Ok(server) => {
            let addr = server.addr();
            Trial::test(name, move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(case(addr));
                Ok(())
            })
        }
        Err(reason) if required => {
            let reason = reason.clone();
            Trial::test(name, move || Err(Failed::from(reason)))
        }
        Err(reason) => Trial::test(format!("{name} (needs Node and npm: {reason})"), || Ok(())).with_ignored_flag(true),
    };
    let trials = cases.into_iter().map(trial).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(server);
    conclusion.exit_code()
}
