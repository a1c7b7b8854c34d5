//! The `messina` command.

/// Prints a line; whoever reads may go away or have no room, and the rest goes on without.
macro_rules! say {
    ($to:expr, $($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!($to, $($line)*);
    }};
}

mod attempts;
mod demo;
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
}

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Demo => demo::run().await,
    }
}
