//! What it means that a certificate is refused, and which option to set.

use std::net::SocketAddr;

use messina_layers::{error::printable, rustls::CertificateError};

/// Advice for the command line; `in_code` names the settings that accept a name and an authority.
pub(crate) fn certificate(why: &CertificateError, addr: SocketAddr, own_name: bool, in_code: [&str; 2]) -> String {
    let [accept, ca] = in_code;
    match why {
        CertificateError::NotValidForName => {
            format!(
                "its certificate is valid for other names: say for which with `--tls-name NAME` (in code `{accept}`)"
            )
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<String> = presented.iter().map(|name| bare(name)).collect();
            let Some(first) = names.iter().find(|name| !name.contains(['*', ':'])).or(names.first()) else {
                return "its certificate names no server at all: it needs a subject alternative name".to_owned();
            };
            let instead = if own_name { "" } else { ", and not for those that are accepted" };
            format!(
                "its certificate is valid for {}, not for {}{instead}: connect by that name, or accept it with \
                 `--tls-name {first}` (in code `{accept}`)",
                names.join(" and "),
                printable(&expected.to_str()),
            )
        }
        // The latter is an authority of the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
            "its certificate is signed by an authority that is not trusted: give that one with `--tls-ca FILE` (in code \
             `{ca}`)"
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate at {addr} has expired: renew it, or check this host's clock")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the certificate at {addr} is not valid yet: check both clocks")
        }
        _ => "its certificate cannot be used".to_owned(),
    }
}

/// `DnsName("db.test")` as `db.test`.
fn bare(name: &str) -> String {
    let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
    printable(inside.trim_matches('"')).to_string()
}
