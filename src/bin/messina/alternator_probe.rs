//! `messina probe --alternator`: what nodes of Alternator answer.

use std::process::ExitCode;

use crate::probe::{ProbeArgs, usage};

pub(crate) async fn run(_args: ProbeArgs) -> ExitCode {
    usage("`--alternator` is not in this build")
}
