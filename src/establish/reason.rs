//! Why connects fail, in words that stay the same while the reason does.

use std::collections::BTreeSet;

use messina_layers::{ConnectError, FailedAttempt, GivenUp, error::chain};

use super::FailedBefore;

/// The causes without addresses, times and order, which differ from connect to connect.
pub(crate) fn reason(error: &ConnectError) -> String {
    // What was cut off or left out did not fail by itself.
    let failed_itself = |failed: &&FailedAttempt| {
        failed.error.find::<GivenUp>().is_none() && failed.error.find::<FailedBefore>().is_none()
    };
    let told = |failed: &FailedAttempt| format!("{}: {}", failed.error.stage(), chain(failed.error.cause()));
    match error {
        ConnectError::Resolve { source, .. } => format!("the lookup failed: {}", chain(&**source)),
        ConnectError::NoAddress { .. } => "the lookup found no address".into(),
        _ => error
            .failed()
            .iter()
            .filter(failed_itself)
            .map(told)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
            .join("; "),
    }
}
