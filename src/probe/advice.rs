//! Verdict and advice: what the failures mean, and which option to set.

use std::{collections::BTreeMap, io};

use messina_layers::{
    TimedOut,
    error::{AttemptError, printable},
};

use super::{ProbedAddress, ProbedContactPoint, Report, report::LookupFailed};
use crate::{
    config::Config,
    error::stage,
    establish::{LoginRefused, VersionRefused, WrongCluster, WrongHost},
    protocol::{
        FrameError,
        response::{ServerError, server_error::code},
    },
};

mod tls;

/// Fills in verdict and advice of every contact point.
pub(super) fn advise(report: &mut Report, config: &Config) {
    for point in &mut report.contact_points {
        point.verdict = verdict(point);
        point.advice = advice(point, config).join("; ");
    }
}

fn verdict(point: &ProbedContactPoint) -> String {
    let all = point.addresses.len();
    let working = point.addresses.iter().filter(|address| address.works()).count();
    match (&point.error, working) {
        (Some(LookupFailed::NoAddress), _) => "does not work: the name has no address".to_owned(),
        (Some(LookupFailed::Failed(_)), _) => "does not work: the lookup failed".to_owned(),
        (None, 0) if all == 1 => "does not work: its only address fails".to_owned(),
        (None, 0) => format!("does not work: all {all} addresses fail"),
        (None, 1) if all == 1 => "works".to_owned(),
        (None, working) if working == all => format!("works, at all {all} addresses"),
        (None, working) => format!("works, at {working} of {all} addresses"),
    }
}

fn advice(point: &ProbedContactPoint, config: &Config) -> Vec<String> {
    let mut advice = Vec::new();
    match &point.error {
        Some(LookupFailed::NoAddress) => advice.push("give the name an A or AAAA record".to_owned()),
        Some(LookupFailed::Failed(error)) if error.is::<TimedOut>() => {
            advice.push("check that the DNS server answers, or ask another one with `--dns IP:PORT`".to_owned());
        }
        Some(LookupFailed::Failed(_)) => advice.push(
            "check the spelling and the search domains; `--resolver system` (in code `SystemResolver`) asks mDNS and \
             whatever else the system knows, `--dns IP:PORT` a server of your choice"
                .to_owned(),
        ),
        None => {}
    }
    // The same word for the same failure, with the addresses it is said of.
    let mut said: Vec<(String, Vec<&ProbedAddress>)> = Vec::new();
    for address in &point.addresses {
        let Some(error) = &address.error else { continue };
        let Some(word) = word(error, address, point, config) else { continue };
        match said.iter_mut().find(|(known, _)| *known == word) {
            Some((_, addresses)) => addresses.push(address),
            None => said.push((word, vec![address])),
        }
    }
    for (word, addresses) in said {
        advice.push(match point.addresses.len() {
            1 => word,
            all => format!("{}: {word}", who(&addresses, all)),
        });
    }
    advice.extend(clusters(point));
    advice
}

/// A few addresses by name, many by number.
fn who(addresses: &[&ProbedAddress], all: usize) -> String {
    match addresses {
        few if few.len() <= 2 => few.iter().map(|address| address.addr.to_string()).collect::<Vec<_>>().join(" and "),
        many if many.len() == all => "every address".to_owned(),
        many => format!("{} and {} more", many[0].addr, many.len() - 1),
    }
}

/// Addresses that work lead into one cluster, or somebody has to say into which.
fn clusters(point: &ProbedContactPoint) -> Option<String> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for address in point.addresses.iter().filter(|address| address.works()) {
        let cluster = address.cluster.as_deref()?;
        found.entry(cluster).or_default().push(address.addr.to_string());
    }
    if found.len() < 2 {
        return None;
    }
    let found = found.iter().map(|(cluster, at)| format!("{:?} at {}", printable(cluster).to_string(), at.join(", ")));
    Some(format!(
        "the name leads into several clusters ({}): remove the stale records, or say which one is meant with \
         `--expect-cluster` (in code `expected_cluster`)",
        found.collect::<Vec<_>>().join(", ")
    ))
}

/// What this failure means and what to do about it.
fn word(error: &AttemptError, address: &ProbedAddress, point: &ProbedContactPoint, config: &Config) -> Option<String> {
    let tls = config.tls.is_some();
    if let Some(refused) = error.find::<VersionRefused>() {
        return Some(version(refused, config));
    }
    if let Some(word) = tls::word(error, address, config) {
        return Some(word);
    }
    if let Some(login) = error.find::<LoginRefused>() {
        return Some(self::login(login, point));
    }
    if let Some(wrong) = error.find::<WrongCluster>() {
        let actual = printable(&wrong.actual).to_string();
        return Some(format!(
            "another cluster answers ({actual:?}): a stale record, or `--expect-cluster` (in code `expected_cluster`) \
             names the wrong one"
        ));
    }
    if let Some(WrongHost::NoHostId) = error.find() {
        return Some(
            "the node tells no host id: it is still joining, or was never set up; a session passes it over".into(),
        );
    }
    if let Some(server) = error.find::<ServerError>() {
        return match server.code {
            code::BOOTSTRAPPING => Some("the node is still joining; a session passes it over".to_owned()),
            code::OVERLOADED => Some("the node has too much to do; a session passes it over".to_owned()),
            code::UNAUTHORIZED => Some("the user may not read `system.local`: grant it SELECT there".to_owned()),
            _ => None,
        };
    }
    if let Some(FrameError::NotAResponse { first_byte }) = error.find() {
        return Some(match first_byte {
            // The content types of an alert and of a handshake.
            0x15 | 0x16 => "speaks TLS: try `--tls` (in code `tls`), or another port".to_owned(),
            b'H' => "speaks HTTP, not CQL: check the port; for Alternator there is `--alternator`".to_owned(),
            _ => "speaks something else than CQL: check the port".to_owned(),
        });
    }
    match error.stage() {
        stage::TCP => tcp(error, point),
        stage::OPTIONS | stage::STARTUP if error.find::<TimedOut>().is_some() => Some(format!(
            "accepts and does not answer CQL: a frozen or overloaded node, or a port of something else{}",
            if tls { "" } else { "; one that waits for TLS would do that too: try `--tls`" }
        )),
        stage::OPTIONS => Some(format!(
            "what answers there does not speak CQL: check the port{}",
            if tls { "" } else { ", or try `--tls`" }
        )),
        _ if error.find::<TimedOut>().is_some() => {
            Some("the node stopped answering in the middle of it: frozen or overloaded".to_owned())
        }
        _ => None,
    }
}

fn tcp(error: &AttemptError, point: &ProbedContactPoint) -> Option<String> {
    let refuses = |address: &&ProbedAddress| address.error.as_ref().is_some_and(is_refused);
    let refusing = point.addresses.iter().filter(refuses).count();
    if is_refused(error) {
        let stale = if point.works() && refusing * 2 >= point.addresses.len() {
            "; half of the addresses or more refuse while others work: stale records?"
        } else {
            ""
        };
        return Some(format!(
            "nothing listens there: a stale record, a node that is down, one with its native transport off, or the \
             wrong port{stale}"
        ));
    }
    let dropped = "dials are not answered: a host that is gone (a stale record?), or a firewall that drops them";
    match error.find::<io::Error>().map(io::Error::kind) {
        _ if error.find::<TimedOut>().is_some() => Some(dropped.to_owned()),
        Some(io::ErrorKind::TimedOut) => Some(dropped.to_owned()),
        Some(io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable) => Some(
            "there is no route from here: another network, or an address family that this host does not have"
                .to_owned(),
        ),
        _ => None,
    }
}

fn is_refused(error: &AttemptError) -> bool {
    error.find::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn version(refused: &VersionRefused, config: &Config) -> String {
    let spoken = refused.server.as_deref().unwrap_or_default();
    let spoken = spoken.iter().map(ToString::to_string).collect::<Vec<_>>();
    match (&config.protocol_version, spoken.as_slice()) {
        (Some(asked), []) => format!(
            "does not speak {asked}, which is the only version allowed: leave `--protocol` (in code `protocol_version`) out"
        ),
        (Some(asked), spoken) => format!(
            "speaks {} and not {asked}, which is the only version allowed: leave `--protocol` (in code \
             `protocol_version`) out",
            spoken.join(" and ")
        ),
        (None, _) => "speaks none of v3, v4 and v5: older than Cassandra 2.1, or not CQL at all".to_owned(),
    }
}

fn login(refused: &LoginRefused, point: &ProbedContactPoint) -> String {
    match refused {
        LoginRefused::NoCredentials { .. } => {
            "asks for a login: give `--user NAME --password-env VARIABLE` (in code `credentials`)".to_owned()
        }
        LoginRefused::ByServer(_) if point.works() => {
            "refuses a login that other addresses accept: an address of another cluster, or users that are not yet \
             replicated (`system_auth`)"
                .to_owned()
        }
        LoginRefused::ByServer(_) => {
            "user name or password is wrong, or the address belongs to another cluster".to_owned()
        }
        LoginRefused::Authenticator(_) | LoginRefused::Endless(_) => {
            "the server's way of logging in is not the one that is configured".to_owned()
        }
    }
}
