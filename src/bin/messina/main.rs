//! The `messina` command.

/// Prints a line; whoever reads may go away or have no room, and the rest goes on without.
macro_rules! say {
    ($to:expr, $($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!($to, $($line)*);
    }};
}

mod alternator_probe;
mod attempts;
mod demo;
mod probe;
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
    match Cli::parse().command {
        Command::Demo => demo::run().await,
        Command::Probe(args) => probe::run(*args).await,
    }
}
