//! Another version on the same address: a retry policy that changes the version in the target.
//!
//! A version that is configured or latched is the only one tried. Otherwise a refusal of v4 leads to the highest
//! version that the error text names, or to v5 and then v3 where it names none, each on a new connection. So does a
//! refusal of another version that the server had listed, and then v4 is still to be tried.

use std::future::{Ready, ready};

use messina_layers::{Candidate, error::AttemptError};
use tower::retry::{Policy, RetryLayer};

use super::{Open, VersionRefused};
use crate::protocol::ProtocolVersion;

pub(super) fn negotiate_layer() -> RetryLayer<Ladder> {
    RetryLayer::new(Ladder { tried: Vec::new() })
}

/// The versions tried at one address; each attempt starts with none, since the policy is cloned for it.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    tried: Vec<ProtocolVersion>,
}

impl<R> Policy<Candidate<Open>, R, AttemptError> for Ladder {
    type Future = Ready<()>;

    fn retry(&mut self, candidate: &mut Candidate<Open>, result: &mut Result<R, AttemptError>) -> Option<Ready<()>> {
        let Err(error) = result else { return None };
        let refused = error.find::<VersionRefused>()?;
        self.tried.push(refused.asked);
        let next = match (&refused.server, candidate.target().latched()) {
            (_, Some(_)) => None,
            (Some(spoken), None) => spoken.iter().copied().filter(|version| !self.tried.contains(version)).max(),
            (None, None) => ProtocolVersion::ALL.into_iter().rev().find(|version| !self.tried.contains(version)),
        };
        match next {
            Some(version) => {
                tracing::debug!(peer.addr = %candidate.addr(), %version, "trying another protocol version");
                candidate.target_mut().ask(version);
                Some(ready(()))
            }
            None => {
                // The error of this address tells the whole history of this address.
                let refused = VersionRefused { tried: self.tried.clone(), ..refused.clone() };
                let told = AttemptError::new(error.stage(), refused).with_scope(error.scope()).forcing_down();
                *result = Err(told);
                None
            }
        }
    }

    fn clone_request(&mut self, candidate: &Candidate<Open>) -> Option<Candidate<Open>> {
        Some(candidate.clone())
    }
}
