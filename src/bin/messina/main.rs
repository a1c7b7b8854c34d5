//! The `messina` command.

/// Prints a line on stdout or stderr.
macro_rules! say {
    (stdout, $($line:tt)*) => { crate::output::print(format_args!($($line)*)) };
    (stderr, $($line:tt)*) => { crate::output::complain(format_args!($($line)*)) };
}

mod alternator_probe;
mod attempts;
mod demo;
mod output;
mod probe;
mod secret;
mod stage_set;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A client stack for ScyllaDB and Apache Cassandra whose connecting is an ordinary tower service.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Shows a session surviving dead addresses, dying nodes and a name that moves, on a cluster in this process.
    Demo,
    /// Tries every address of every contact point through every step, and says what to do.
    ///
    /// Exit code 0: every contact point has at least one address that works; 1: one has none, or the query failed;
    /// 2: the command cannot be carried out as it was given. Nothing stays open.
    Probe(Box<probe::ProbeArgs>),
}

#[tokio::main]
async fn main() -> ExitCode {
    let code = match Cli::parse().command {
        Command::Demo => demo::run().await,
        Command::Probe(args) => probe::run(*args).await,
    };
    if output::lost() { ExitCode::FAILURE } else { code }
}
