//! The check of settings of TLS.

use messina_layers::Name;

use super::TlsSettings;
use crate::{config::Draft, error::ConfigError};

const NAMES: &str = "advanced.tls.accepted-names";
const CA_FILE: &str = "advanced.tls.ca-file";
const CERT_FILE: &str = "advanced.tls.cert-file";
const KEY_FILE: &str = "advanced.tls.key-file";
const NATIVE_ROOTS: &str = "advanced.tls.native-roots";
const TRUST_ALL: &str = "advanced.tls.dangerous-trust-all";

impl Draft {
    pub(in crate::config) fn checked_tls(&self) -> Result<Option<TlsSettings>, ConfigError> {
        let names = self
            .tls_names
            .iter()
            .map(|text| Name::new(text).map_err(|error| ConfigError::new(NAMES, text, format!("DNS names ({error})"))));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let settings = match (&self.tls, self.tls_option()) {
            (Some(_), Some((option, value))) => {
                let allowed = "a file only without the builder's `tls(..)`, whose settings hold the roots and the \
                               certificate already; leave out one of the two";
                return Err(ConfigError::new(option, value, allowed));
            }
            (Some(settings), None) => Some(settings.clone()),
            (None, None) => None,
            (None, Some((option, value))) => Some(self.tls_from_options(option, &value)?),
        };
        match settings {
            None if !names.is_empty() => Err(ConfigError::new(
                NAMES,
                self.tls_names.join(", "),
                "names only where TLS is on; set `advanced.tls.ca-file` or the builder's `tls`",
            )),
            Some(mut settings) if !names.is_empty() => {
                settings.accept = names;
                Ok(Some(settings))
            }
            settings => Ok(settings),
        }
    }

    /// The first option that turns TLS on, if any, with its value.
    fn tls_option(&self) -> Option<(&'static str, String)> {
        let files = [(CA_FILE, &self.tls_ca_file), (CERT_FILE, &self.tls_cert_file), (KEY_FILE, &self.tls_key_file)];
        let switches = [(NATIVE_ROOTS, self.tls_native_roots), (TRUST_ALL, self.tls_trust_all)];
        let file = files.into_iter().find_map(|(option, path)| Some((option, path.as_ref()?.display().to_string())));
        let switch = || switches.into_iter().find_map(|(option, on)| on.then(|| (option, "true".to_owned())));
        file.or_else(switch)
    }

    #[cfg(feature = "rustls")]
    fn tls_from_options(&self, _option: &'static str, _value: &str) -> Result<TlsSettings, ConfigError> {
        use messina_layers::{TlsConfig, TlsFiles};

        let client = match (&self.tls_cert_file, &self.tls_key_file) {
            (Some(cert), Some(key)) => Some((cert.clone(), key.clone())),
            (None, None) => None,
            (Some(cert), None) => {
                let allowed = "a certificate only together with its key, `advanced.tls.key-file`";
                return Err(ConfigError::new(CERT_FILE, cert.display(), allowed));
            }
            (None, Some(key)) => {
                let allowed = "a key only together with its certificate, `advanced.tls.cert-file`";
                return Err(ConfigError::new(KEY_FILE, key.display(), allowed));
            }
        };
        match (&self.tls_ca_file, self.tls_native_roots, self.tls_trust_all) {
            (None, false, false) => {
                let cert = client.map(|(cert, _)| cert).unwrap_or_default();
                let allowed = "a certificate only together with `advanced.tls.ca-file` or `advanced.tls.native-roots`";
                return Err(ConfigError::new(CERT_FILE, cert.display(), allowed));
            }
            (Some(_), _, true) | (None, true, true) => {
                let allowed = "false where there are roots to trust; leave out one of the two";
                return Err(ConfigError::new(TRUST_ALL, true, allowed));
            }
            _ => {}
        }
        let mut base = TlsConfig::builder();
        if self.tls_native_roots {
            base = native_roots(base)?;
        }
        if self.tls_trust_all {
            base = base.dangerous_trust_all();
        }
        let files = TlsFiles::load(base, self.tls_ca_file.clone(), client, self.tls_reload_interval);
        let files = files.map_err(|error| {
            let option = match error.input() {
                "certificate file" => CERT_FILE,
                "key file" => KEY_FILE,
                _ => CA_FILE,
            };
            let source = std::error::Error::source(&error);
            let cause = source.map(|cause| messina_layers::error::chain(cause).to_string()).unwrap_or_default();
            ConfigError::new(
                option,
                error.path().display(),
                format!("a readable file in PEM form that can be used ({cause})"),
            )
        })?;
        Ok(TlsSettings::from_files(files))
    }

    #[cfg(not(feature = "rustls"))]
    fn tls_from_options(&self, option: &'static str, value: &str) -> Result<TlsSettings, ConfigError> {
        Err(ConfigError::new(option, value, "nothing, since this build has no feature `rustls`"))
    }
}

#[cfg(feature = "native-roots")]
fn native_roots(base: messina_layers::TlsConfigBuilder) -> Result<messina_layers::TlsConfigBuilder, ConfigError> {
    base.native_roots().map_err(|error| {
        let cause = messina_layers::error::chain(&error).to_string();
        ConfigError::new(NATIVE_ROOTS, true, format!("true only where the system has roots ({cause})"))
    })
}

#[cfg(all(feature = "rustls", not(feature = "native-roots")))]
fn native_roots(_base: messina_layers::TlsConfigBuilder) -> Result<messina_layers::TlsConfigBuilder, ConfigError> {
    Err(ConfigError::new(NATIVE_ROOTS, true, "false, since this build has no feature `native-roots`"))
}
