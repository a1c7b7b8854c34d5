//! What to do, in words.

use std::net::SocketAddr;

use super::{ProbeReport, SeedReport};
use crate::alternator::ask::AskError;

/// What to do about a certificate that is refused.
#[cfg(feature = "rustls")]
pub(super) fn certificate(error: &AskError, addr: SocketAddr, own_name: bool) -> Option<String> {
    let AskError::NoAnswer(cause) = error else { return None };
    let cause: messina_layers::BoxError = Box::new(std::sync::Arc::clone(cause));
    let failed = messina_layers::ConnectError::from_box(cause, || addr.into());
    let refused = failed.surfaced()?.error.find::<messina_layers::rustls::Error>()?;
    let messina_layers::rustls::Error::InvalidCertificate(why) = refused else { return None };
    Some(crate::error::certificate::certificate(why, addr, own_name, ["with_accepted_name", "TlsConfig::builder"]))
}

#[cfg(not(feature = "rustls"))]
pub(super) fn certificate(_error: &AskError, _addr: SocketAddr, _own_name: bool) -> Option<String> {
    None
}

impl ProbeReport {
    pub(super) fn advice(&self, seed: &SeedReport) -> String {
        if let Some(error) = &seed.error {
            return format!("the name cannot be looked up ({error}); is it spelled right, and who knows it?");
        }
        let hosts: Vec<_> = self.hosts.iter().filter(|host| host.node == seed.seed).collect();
        let working = hosts.iter().filter(|host| host.works()).count();
        if hosts.is_empty() {
            return "the name has no address".to_owned();
        }
        if let (0, Some(advice)) = (working, hosts.iter().find_map(|host| host.advice.clone())) {
            return format!("no address works; {advice}");
        }
        if working == 0 {
            return "no address works; is this the port of Alternator (8000, or 8043 with TLS), and is it enabled?"
                .to_owned();
        }
        let lost = self.hosts.iter().filter(|host| !host.seed && !host.works()).count();
        let ignored = hosts.iter().any(|host| host.filters == Some("ignored"));
        let empty = hosts.iter().all(|host| host.lists.as_ref().is_none_or(Vec::is_empty));
        let more = match () {
            () if empty => "; but nobody lists a node, so it can be used as a last resort only",
            () if lost > 0 => "; but nodes are listed that do not answer here: are their addresses reachable?",
            () if ignored => {
                "; the filters of data centres and racks are not known there, so a scope needs a newer server"
            }
            () => "",
        };
        format!("{working} of {} addresses work{more}", hosts.len())
    }
}
