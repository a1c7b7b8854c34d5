//! What a failure of TLS means.

#[cfg(not(feature = "rustls"))]
pub(super) fn word(
    _error: &messina_layers::AttemptError,
    _address: &super::ProbedAddress,
    _config: &super::Config,
) -> Option<String> {
    None
}

#[cfg(feature = "rustls")]
pub(super) use with_rustls::word;

#[cfg(feature = "rustls")]
mod with_rustls {
    use std::io;

    use messina_layers::{
        TimedOut,
        error::{AttemptError, printable},
        rustls::{AlertDescription, CertificateError, Error},
    };

    use super::super::{Config, ProbedAddress};
    use crate::error::stage;

    pub(in super::super) fn word(error: &AttemptError, address: &ProbedAddress, config: &Config) -> Option<String> {
        let settings = config.tls.as_ref()?;
        let no_tls =
            || "does not speak TLS there: leave `--tls` out, or use the port that does (often 9142)".to_owned();
        let Some(tls) = error.find::<Error>() else {
            let closed = error.find::<io::Error>().is_some() || error.find::<TimedOut>().is_some();
            return (error.stage() == stage::TLS && closed).then(no_tls);
        };
        match tls {
            Error::InvalidMessage(_) | Error::InappropriateMessage { .. } => Some(no_tls()),
            Error::InvalidCertificate(why) => Some(certificate(why, address, settings.accept.is_empty())),
            // In TLS 1.3 the server looks at our certificate after the handshake is over for us.
            Error::AlertReceived(
                AlertDescription::CertificateRequired
                | AlertDescription::BadCertificate
                | AlertDescription::UnknownCA
                | AlertDescription::CertificateUnknown
                | AlertDescription::AccessDenied
                | AlertDescription::HandshakeFailure,
            ) => Some(
                "wants a certificate of ours that it trusts: give `--tls-cert FILE --tls-key FILE` (in code \
                 `tls_client_files`)"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    fn certificate(why: &CertificateError, address: &ProbedAddress, own_name: bool) -> String {
        match why {
            CertificateError::NotValidForName => {
                "its certificate is valid for other names: say for which with `--tls-name NAME` (in code \
                 `tls_accepted_name`)"
                    .to_owned()
            }
            CertificateError::NotValidForNameContext { expected, presented } => {
                let names: Vec<String> = presented.iter().map(|name| bare(name)).collect();
                let Some(first) = names.iter().find(|name| !name.contains(['*', ':'])).or(names.first()) else {
                    return "its certificate names no server at all: it needs a subject alternative name".to_owned();
                };
                let instead = if own_name { "" } else { ", and not for those that are accepted" };
                format!(
                    "its certificate is valid for {}, not for {}{instead}: connect by that name, or accept it with \
                     `--tls-name {first}` (in code `tls_accepted_name`)",
                    names.join(" and "),
                    printable(&expected.to_str()),
                )
            }
            // The latter is an authority of the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "its certificate is signed by an authority that is not trusted: give that one with `--tls-ca FILE` \
                 (in code `tls_ca_file`)"
                    .to_owned()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("the certificate at {} has expired: renew it, or check this host's clock", address.addr)
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("the certificate at {} is not valid yet: check both clocks", address.addr)
            }
            _ => "its certificate cannot be used".to_owned(),
        }
    }

    /// `DnsName("db.test")` as `db.test`.
    fn bare(name: &str) -> String {
        let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
        printable(inside.trim_matches('"')).to_string()
    }
}
