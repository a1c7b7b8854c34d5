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
        error::AttemptError,
        rustls::{AlertDescription, Error},
    };

    use super::super::{Config, ProbedAddress};
    use crate::error::{certificate::certificate, stage};

    /// What the settings of a session are called that accept a name and an authority.
    const IN_CODE: [&str; 2] = ["tls_accepted_name", "tls_ca_file"];

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
            Error::InvalidCertificate(why) => Some(certificate(why, address.addr, settings.accept.is_empty(), IN_CODE)),
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
}
