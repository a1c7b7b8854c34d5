//! The check of settings: what comes out can be used, or the first thing that is wrong is told.

use std::{path::Path, sync::Arc, time::Duration};

use messina_layers::{ConnectOptions, Name, TcpConnector};

use super::{Config, Draft, TlsSettings};
use crate::{connection::Limits, endpoint::ContactPoint, error::ConfigError, metrics::Naming};

const CONTACT_POINTS: &str = "basic.contact-points";
const KEEPALIVE: &str = "advanced.socket.keep-alive";
/// The longest that Linux allows, in seconds.
const MAX_KEEPALIVE: u64 = 32767;
/// The longest name of a keyspace that any server takes.
const MAX_KEYSPACE: usize = 222;
const EXPECTED_CLUSTER: &str = "advanced.control-connection.expected-cluster";
const LOCAL_DATACENTER: &str = "basic.load-balancing-policy.local-datacenter";

impl Draft {
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
            ("advanced.heartbeat.interval", self.heartbeat_interval),
            ("advanced.heartbeat.timeout", self.heartbeat_timeout.unwrap_or(self.init_timeout)),
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
        self.pool.check()?;
        if let Some(idle) = self.keepalive.filter(|idle| !(1..=MAX_KEEPALIVE).contains(&idle.as_secs())) {
            return Err(ConfigError::new(KEEPALIVE, format_args!("{idle:?}"), "1 s to 32767 s, or leave it out"));
        }
        if let Some(blank) = self.local_datacenter.as_deref().filter(|name| name.trim().is_empty()) {
            return Err(ConfigError::new(LOCAL_DATACENTER, blank, "a data centre's name, or leave it out"));
        }
        if let Some(blank) = self.expected_cluster.as_deref().filter(|name| name.trim().is_empty()) {
            return Err(ConfigError::new(EXPECTED_CLUSTER, blank, "a cluster's name, or leave it out"));
        }
        let keyspace = self.keyspace.clone().map(checked_keyspace).transpose()?;
        let metrics = self.checked_naming()?;
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
            heartbeat_interval: self.heartbeat_interval,
            heartbeat_timeout: self.heartbeat_timeout.unwrap_or(self.init_timeout),
            tls,
            authenticator: self.authenticator,
            protocol_version: self.protocol_version,
            compression: self.compression,
            expected_cluster: self.expected_cluster.clone().map(Into::into),
            keyspace,
            host_id_check: self.host_id_check,
            limits,
            metrics,
            pool: self.pool,
            local_datacenter: self.local_datacenter,
            request_timeout: self.request_timeout,
            retry_policy: self.retry_policy,
            speculation: self.speculation,
            consistency: self.consistency,
            serial_consistency: self.serial_consistency,
            page_size: self.page_size,
            default_idempotence: self.default_idempotence,
        })
    }

    fn parsed_contact_points(&self) -> Result<Vec<ContactPoint>, ConfigError> {
        let mut all: Vec<ContactPoint> = Vec::new();
        for text in &self.contact_points {
            let parsed = ContactPoint::parse(text).map_err(|error| {
                ConfigError::new(CONTACT_POINTS, text, format!("`host`, `host:port` or `[ipv6]:port` ({error})"))
            })?;
            all.push(parsed);
        }
        all.extend(self.endpoints.iter().cloned());
        for contact_point in &all {
            if messina_layers::Dial::address(contact_point.endpoint()).port() == 0 {
                return Err(ConfigError::new(CONTACT_POINTS, contact_point, "a port from 1 to 65535"));
            }
        }
        let mut distinct: Vec<ContactPoint> = Vec::with_capacity(all.len());
        for contact_point in all {
            if !distinct.contains(&contact_point) {
                distinct.push(contact_point);
            }
        }
        if distinct.is_empty() {
            return Err(ConfigError::new(
                CONTACT_POINTS,
                "",
                "at least one contact point, such as `db.example.com:9042`",
            ));
        }
        Ok(distinct)
    }

    fn checked_naming(&self) -> Result<Naming, ConfigError> {
        if let Some(blank) = self.session_name.as_deref().filter(|name| name.trim().is_empty()) {
            return Err(ConfigError::new("basic.session-name", blank, "a name, or leave it out"));
        }
        let word = |prefix: &&str| {
            let letters = prefix.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            letters && prefix.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        };
        if let Some(bad) = self.metrics_prefix.as_deref().filter(|prefix| !word(prefix)) {
            let allowed = "letters a-z or A-Z, digits and underscores, beginning with a letter; or leave it out";
            return Err(ConfigError::new("advanced.metrics.prefix", bad, allowed));
        }
        let mut naming = Naming::default();
        (naming.prefix, naming.session) = (self.metrics_prefix.clone(), self.session_name.clone());
        Ok(naming)
    }

    fn checked_tls(&self) -> Result<Option<TlsSettings>, ConfigError> {
        let names = self.tls_names.iter().map(|text| {
            Name::new(text)
                .map_err(|error| ConfigError::new("advanced.tls.accepted-names", text, format!("DNS names ({error})")))
        });
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let settings = match (&self.tls, self.tls_file()) {
            (Some(_), Some((option, path))) => {
                let allowed = "a file only without the builder's `tls(..)`, whose settings hold the roots and the \
                               certificate already; leave out one of the two";
                return Err(ConfigError::new(option, path.display(), allowed));
            }
            (Some(settings), None) => Some(settings.clone()),
            (None, _) => self.tls_from_files()?,
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

    /// The first file that is given, if any, with its option.
    fn tls_file(&self) -> Option<(&'static str, &Path)> {
        let files = [
            ("advanced.tls.ca-file", &self.tls_ca_file),
            ("advanced.tls.cert-file", &self.tls_cert_file),
            ("advanced.tls.key-file", &self.tls_key_file),
        ];
        files.into_iter().find_map(|(option, path)| Some((option, path.as_deref()?)))
    }

    #[cfg(feature = "rustls")]
    fn tls_from_files(&self) -> Result<Option<TlsSettings>, ConfigError> {
        use messina_layers::TlsConfig;

        let read = |option: &str, path: &std::path::PathBuf| {
            std::fs::read(path).map_err(|error| {
                ConfigError::new(option, path.display(), format!("a readable file in PEM form ({error})"))
            })
        };
        let client = match (&self.tls_cert_file, &self.tls_key_file) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            (Some(cert), None) => {
                let allowed = "a certificate only together with its key, `advanced.tls.key-file`";
                return Err(ConfigError::new("advanced.tls.cert-file", cert.display(), allowed));
            }
            (None, Some(key)) => {
                let allowed = "a key only together with its certificate, `advanced.tls.cert-file`";
                return Err(ConfigError::new("advanced.tls.key-file", key.display(), allowed));
            }
        };
        let Some(ca) = &self.tls_ca_file else {
            return match client {
                None => Ok(None),
                Some((cert, _)) => Err(ConfigError::new(
                    "advanced.tls.cert-file",
                    cert.display(),
                    "a certificate only together with `advanced.tls.ca-file`",
                )),
            };
        };
        let roots = read("advanced.tls.ca-file", ca)?;
        let files = client;
        let client = match files {
            None => None,
            Some((cert, key)) => Some((read("advanced.tls.cert-file", cert)?, read("advanced.tls.key-file", key)?)),
        };
        let pem = client.as_ref().map(|(cert, key)| (cert.as_slice(), key.as_slice()));
        let config = TlsConfig::from_pem(&roots, pem).map_err(|error| {
            let (option, path) = match (error.input(), files) {
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
        match self.tls_file() {
            None => Ok(None),
            Some((option, path)) => {
                Err(ConfigError::new(option, path.display(), "nothing, since this build has no feature `rustls`"))
            }
        }
    }
}

fn positive(option: &str, value: usize) -> Result<(), ConfigError> {
    if value == 0 { Err(ConfigError::new(option, value, "1 or more")) } else { Ok(()) }
}

pub(super) fn at_least_a_millisecond(option: &str, value: Duration) -> Result<(), ConfigError> {
    if value < Duration::from_millis(1) {
        return Err(ConfigError::new(option, format_args!("{value:?}"), "1 ms or more; every wait has a limit"));
    }
    Ok(())
}

fn checked_keyspace(name: String) -> Result<Arc<str>, ConfigError> {
    // What servers allow; older ones stop at 48 characters.
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !letters || !(1..=MAX_KEYSPACE).contains(&name.len()) {
        return Err(ConfigError::new(
            "basic.session-keyspace",
            &name,
            "1 to 222 letters a-z or A-Z, digits and underscores: a keyspace's name, case-sensitive, without quotes",
        ));
    }
    Ok(name.into())
}
