//! Settings as they are given, before any check.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use messina_layers::{ConnectOptions, Name, Order, TcpConnector};
use scylla_cql_core::frame::types::{Consistency, SerialConsistency};

use super::{Authenticator, Config, HostIdCheck, TlsSettings, keys};
use crate::{
    connection::{Compression, Limits},
    endpoint::ContactPoint,
    error::ConfigError,
    protocol::ProtocolVersion,
};

/// Settings as they are given; [`Draft::check`] makes a [`Config`] of them.
///
/// Every field has the default that its comment names.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Draft {
    /// `basic.contact-points`: texts to be parsed; at least one is needed here or in `endpoints`.
    pub contact_points: Vec<String>,
    /// Contact points that are values already.
    pub endpoints: Vec<ContactPoint>,
    /// `advanced.connection.max-candidate-addresses`: 5.
    pub max_candidate_addresses: usize,
    /// `advanced.connection.candidate-order`: shuffle.
    pub candidate_order: Order,
    /// The seed of the shuffle, for tests: none.
    pub candidate_seed: Option<u64>,
    /// `advanced.connection.attempt-delay`: 250 ms; zero is strictly sequential.
    pub attempt_delay: Duration,
    /// `advanced.connection.connect-budget`: none.
    pub connect_budget: Option<Duration>,
    /// `advanced.connection.max-auth-failures`: none.
    pub max_auth_failures: Option<usize>,
    /// `advanced.connection.resolve-timeout`: 5 s.
    pub resolve_timeout: Duration,
    /// `advanced.connection.connect-timeout`: 5 s.
    pub connect_timeout: Duration,
    /// `advanced.connection.tls-handshake-timeout`: as the connect timeout.
    pub tls_timeout: Option<Duration>,
    /// `advanced.connection.init-query-timeout`: 5 s.
    pub init_timeout: Duration,
    /// `advanced.connection.max-requests-per-connection`: 1024.
    pub max_requests: usize,
    /// `advanced.connection.max-orphan-requests`: 256.
    pub max_orphans: usize,
    /// `advanced.connection.host-id-check`: reject.
    pub host_id_check: HostIdCheck,
    /// `advanced.socket.tcp-no-delay`: true.
    pub nodelay: bool,
    /// `advanced.socket.keep-alive`: none.
    pub keepalive: Option<Duration>,
    /// `advanced.protocol.version`: negotiated.
    pub protocol_version: Option<ProtocolVersion>,
    /// `advanced.protocol.compression`: none.
    pub compression: Option<Compression>,
    /// TLS settings made elsewhere: none.
    pub tls: Option<TlsSettings>,
    /// `advanced.tls.ca-file`: none.
    pub tls_ca_file: Option<PathBuf>,
    /// `advanced.tls.cert-file` and `advanced.tls.key-file`: none.
    pub tls_client_files: Option<(PathBuf, PathBuf)>,
    /// `advanced.tls.accepted-names`: the endpoint's own.
    pub tls_names: Vec<String>,
    /// How to log in: not at all.
    pub authenticator: Option<Arc<dyn Authenticator>>,
    /// `basic.session-keyspace`: none.
    pub keyspace: Option<String>,
    /// `basic.load-balancing-policy.local-datacenter`: none.
    pub local_datacenter: Option<String>,
    /// `basic.request.timeout`: 10 s.
    pub request_timeout: Duration,
    /// `basic.request.consistency`: LOCAL_QUORUM.
    pub consistency: Consistency,
    /// `basic.request.serial-consistency`: LOCAL_SERIAL.
    pub serial_consistency: SerialConsistency,
    /// `basic.request.page-size`: 5000.
    pub page_size: i32,
    /// `basic.request.default-idempotence`: false.
    pub default_idempotence: bool,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            contact_points: Vec::new(),
            endpoints: Vec::new(),
            max_candidate_addresses: messina_layers::shuffle::DEFAULT_CAP,
            candidate_order: Order::Shuffle,
            candidate_seed: None,
            attempt_delay: Duration::from_millis(250),
            connect_budget: None,
            max_auth_failures: None,
            resolve_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            tls_timeout: None,
            init_timeout: Duration::from_secs(5),
            max_requests: 1024,
            max_orphans: 256,
            host_id_check: HostIdCheck::Reject,
            nodelay: true,
            keepalive: None,
            protocol_version: None,
            compression: None,
            tls: None,
            tls_ca_file: None,
            tls_client_files: None,
            tls_names: Vec::new(),
            authenticator: None,
            keyspace: None,
            local_datacenter: None,
            request_timeout: Duration::from_secs(10),
            consistency: Consistency::LocalQuorum,
            serial_consistency: SerialConsistency::LocalSerial,
            page_size: 5000,
            default_idempotence: false,
        }
    }
}

impl Draft {
    /// Sets an option by the name it has in a settings file, from text. [`KEYS`](super::KEYS) lists them.
    ///
    /// # Errors
    /// For an unknown name, the nearest known one; for a bad value, what is allowed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        keys::set(self, key, value)
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value that is not allowed: its option, the value, and what is allowed.
    pub fn check(self) -> Result<Config, ConfigError> {
        let contact_points = self.parsed_contact_points()?;
        positive("advanced.connection.max-candidate-addresses", self.max_candidate_addresses)?;
        for (option, limit) in [
            ("advanced.connection.resolve-timeout", self.resolve_timeout),
            ("advanced.connection.connect-timeout", self.connect_timeout),
            ("advanced.connection.tls-handshake-timeout", self.tls_timeout.unwrap_or(self.connect_timeout)),
            ("advanced.connection.init-query-timeout", self.init_timeout),
            ("basic.request.timeout", self.request_timeout),
        ] {
            at_least_a_millisecond(option, limit)?;
        }
        if let Some(0) = self.max_auth_failures {
            return Err(ConfigError::new("advanced.connection.max-auth-failures", 0, "1 or more, or leave it out"));
        }
        if self.page_size < 1 {
            return Err(ConfigError::new("basic.request.page-size", self.page_size, "1 to 2147483647"));
        }
        let limits = Limits::default().with_requests(self.max_requests, self.max_orphans).map_err(|error| {
            ConfigError::new(
                "advanced.connection.max-requests-per-connection and max-orphan-requests",
                format_args!("{} and {}", self.max_requests, self.max_orphans),
                format!("1 to 32768 requests and fewer orphans than requests ({error})"),
            )
        })?;
        let keyspace = self.keyspace.clone().map(checked_keyspace).transpose()?;
        let tls = self.checked_tls()?;
        let mut connect = ConnectOptions::default();
        connect.order = self.candidate_order;
        connect.cap = self.max_candidate_addresses;
        connect.seed = self.candidate_seed;
        connect.attempt_delay = Some(self.attempt_delay).filter(|delay| !delay.is_zero());
        connect.budget = self.connect_budget;
        connect.max_auth_failures = self.max_auth_failures;
        connect.resolve_timeout = Some(self.resolve_timeout);
        let mut tcp = TcpConnector::new().with_connect_timeout(self.connect_timeout).with_nodelay(self.nodelay);
        if let Some(idle) = self.keepalive {
            tcp = tcp.with_keepalive(idle);
        }
        Ok(Config {
            contact_points,
            connect,
            tcp,
            connect_timeout: self.connect_timeout,
            tls_timeout: self.tls_timeout.unwrap_or(self.connect_timeout),
            init_timeout: self.init_timeout,
            tls,
            authenticator: self.authenticator,
            protocol_version: self.protocol_version,
            compression: self.compression,
            keyspace,
            host_id_check: self.host_id_check,
            limits,
            local_datacenter: self.local_datacenter,
            request_timeout: self.request_timeout,
            consistency: self.consistency,
            serial_consistency: self.serial_consistency,
            page_size: self.page_size,
            default_idempotence: self.default_idempotence,
        })
    }

    fn parsed_contact_points(&self) -> Result<Vec<ContactPoint>, ConfigError> {
        const OPTION: &str = "basic.contact-points";
        let mut all: Vec<ContactPoint> = Vec::new();
        for text in &self.contact_points {
            let parsed = ContactPoint::parse(text).map_err(|error| {
                ConfigError::new(OPTION, text, format!("`host`, `host:port` or `[ipv6]:port` ({error})"))
            })?;
            all.push(parsed);
        }
        all.extend(self.endpoints.iter().cloned());
        for contact_point in &all {
            if messina_layers::Dial::address(contact_point.endpoint()).port() == 0 {
                return Err(ConfigError::new(OPTION, contact_point, "a port from 1 to 65535"));
            }
        }
        let mut distinct: Vec<ContactPoint> = Vec::with_capacity(all.len());
        for contact_point in all {
            if !distinct.contains(&contact_point) {
                distinct.push(contact_point);
            }
        }
        if distinct.is_empty() {
            return Err(ConfigError::new(OPTION, "", "at least one contact point, such as `db.example.com:9042`"));
        }
        Ok(distinct)
    }

    fn checked_tls(&self) -> Result<Option<TlsSettings>, ConfigError> {
        let names = self.tls_names.iter().map(|text| {
            Name::new(text)
                .map_err(|error| ConfigError::new("advanced.tls.accepted-names", text, format!("DNS names ({error})")))
        });
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let settings = match &self.tls {
            Some(settings) => Some(settings.clone()),
            None => self.tls_from_files()?,
        };
        match settings {
            None if !names.is_empty() => Err(ConfigError::new(
                "advanced.tls.accepted-names",
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

    #[cfg(feature = "rustls")]
    fn tls_from_files(&self) -> Result<Option<TlsSettings>, ConfigError> {
        use messina_layers::TlsConfig;

        let read = |option: &str, path: &PathBuf| {
            std::fs::read(path).map_err(|error| {
                ConfigError::new(option, path.display(), format!("a readable file in PEM form ({error})"))
            })
        };
        let Some(ca) = &self.tls_ca_file else {
            return match &self.tls_client_files {
                None => Ok(None),
                Some((cert, _)) => Err(ConfigError::new(
                    "advanced.tls.cert-file",
                    cert.display(),
                    "a certificate only together with `advanced.tls.ca-file`",
                )),
            };
        };
        let roots = read("advanced.tls.ca-file", ca)?;
        let client = match &self.tls_client_files {
            None => None,
            Some((cert, key)) => Some((read("advanced.tls.cert-file", cert)?, read("advanced.tls.key-file", key)?)),
        };
        let pem = client.as_ref().map(|(cert, key)| (cert.as_slice(), key.as_slice()));
        let config = TlsConfig::from_pem(&roots, pem).map_err(|error| {
            let (option, path) = match (error.input(), &self.tls_client_files) {
                ("certificate file", Some((cert, _))) => ("advanced.tls.cert-file", cert),
                ("key file", Some((_, key))) => ("advanced.tls.key-file", key),
                _ => ("advanced.tls.ca-file", ca),
            };
            let cause = messina_layers::error::chain(&error).to_string();
            ConfigError::new(option, path.display(), format!("a file in PEM form that can be used ({cause})"))
        })?;
        Ok(Some(TlsSettings::new(config)))
    }

    #[cfg(not(feature = "rustls"))]
    fn tls_from_files(&self) -> Result<Option<TlsSettings>, ConfigError> {
        match &self.tls_ca_file {
            None => Ok(None),
            Some(path) => Err(ConfigError::new(
                "advanced.tls.ca-file",
                path.display(),
                "nothing, since this build has no feature `rustls`",
            )),
        }
    }
}

fn positive(option: &str, value: usize) -> Result<(), ConfigError> {
    if value == 0 { Err(ConfigError::new(option, value, "1 or more")) } else { Ok(()) }
}

fn at_least_a_millisecond(option: &str, value: Duration) -> Result<(), ConfigError> {
    if value < Duration::from_millis(1) {
        return Err(ConfigError::new(option, format_args!("{value:?}"), "1 ms or more; every wait has a limit"));
    }
    Ok(())
}

fn checked_keyspace(name: String) -> Result<Arc<str>, ConfigError> {
    // Without quotes as in `USE`; the limit is the server's (48 characters) with room for later ones.
    let bad = name.is_empty() || name.len() > 222 || name.chars().any(|c| c.is_control());
    if bad {
        return Err(ConfigError::new(
            "basic.session-keyspace",
            &name,
            "a keyspace's name, case-sensitive, without quotes",
        ));
    }
    Ok(name.into())
}

impl fmt::Display for HostIdCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Reject => "reject",
        })
    }
}
