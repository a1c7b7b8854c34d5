//! The check of settings: what comes out can be used, or the first thing that is wrong is told.

use std::{sync::Arc, time::Duration};

use messina_layers::{ConnectOptions, TcpConnector};

use super::{Agreement, Config, Debounce, Draft, KeyspaceRules, Reach, Said};
use crate::{connection::Limits, endpoint::ContactPoint, error::ConfigError, metrics::Naming};

const CONTACT_POINTS: &str = "basic.contact-points";
const KEEPALIVE: &str = "advanced.socket.keep-alive";
/// The longest that Linux allows, in seconds.
const MAX_KEEPALIVE: u64 = 32767;
/// The longest name of a keyspace that any server takes.
const MAX_KEYSPACE: usize = 222;
const EXPECTED_CLUSTER: &str = "advanced.control-connection.expected-cluster";
const LOCAL_DATACENTER: &str = "basic.load-balancing-policy.local-datacenter";
const LOCAL_RACK: &str = "basic.load-balancing-policy.local-rack";

impl Draft {
    /// Checks every value.
    ///
    /// # Errors
    /// The first value that is not allowed: its option, the value, and what is allowed.
    pub fn check(self) -> Result<Config, ConfigError> {
        if let Some(error) = self.refused {
            return Err(error);
        }
        let tls = self.checked_tls()?;
        let reach = self.checked_reach(tls.is_some())?;
        let contact_points = self.parsed_contact_points(&reach)?;
        positive("advanced.connection.max-candidate-addresses", self.max_candidate_addresses)?;
        for (option, limit) in [
            ("advanced.connection.resolve-timeout", self.resolve_timeout),
            ("advanced.connection.connect-timeout", self.connect_timeout),
            ("advanced.connection.tls-handshake-timeout", self.tls_timeout.unwrap_or(self.connect_timeout)),
            ("advanced.connection.init-query-timeout", self.init_timeout),
            ("advanced.connection.set-keyspace-timeout", self.keyspace_timeout.unwrap_or(self.init_timeout)),
            ("advanced.heartbeat.interval", self.heartbeat_interval),
            ("advanced.prepared-statements.reprepare-on-up.timeout", self.prepare_timeout.unwrap_or(self.init_timeout)),
            ("advanced.heartbeat.timeout", self.heartbeat_timeout.unwrap_or(self.init_timeout)),
            ("advanced.control-connection.timeout", self.control_timeout.unwrap_or(self.init_timeout)),
            ("advanced.control-connection.schema-agreement.interval", self.agreement_interval),
            ("basic.request.timeout", self.request_timeout),
        ] {
            at_least_a_millisecond(option, limit)?;
        }
        positive("advanced.metadata.topology-event-debouncer.max-events", self.debounce_events)?;
        positive("advanced.prepared-statements.reprepare-on-up.max-parallelism", self.prepare.max_parallelism)?;
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
        let limits = match self.max_frame_length {
            None => limits,
            Some(bytes) => limits.with_body(bytes).map_err(|error| {
                ConfigError::new("advanced.protocol.max-frame-length", bytes, format!("1 B to 256 MiB ({error})"))
            })?,
        };
        self.pool.check()?;
        if let Some(idle) = self.keepalive.filter(|idle| !(1..=MAX_KEEPALIVE).contains(&idle.as_secs())) {
            return Err(ConfigError::new(KEEPALIVE, format_args!("{idle:?}"), "1 s to 32767 s, or leave it out"));
        }
        if let Some(blank) = self.local_datacenter.as_deref().filter(|name| name.trim().is_empty()) {
            return Err(ConfigError::new(LOCAL_DATACENTER, blank, "a data centre's name, or leave it out"));
        }
        if let Some(blank) = self.local_rack.as_deref().filter(|name| name.trim().is_empty()) {
            return Err(ConfigError::new(LOCAL_RACK, blank, "a rack's name, or leave it out"));
        }
        if let Some(blank) = self.expected_cluster.as_deref().filter(|name| name.trim().is_empty()) {
            return Err(ConfigError::new(EXPECTED_CLUSTER, blank, "a cluster's name, or leave it out"));
        }
        let keyspace = self.keyspace.clone().map(checked_keyspace).transpose()?;
        let metrics = self.checked_naming()?;
        let mut connect = ConnectOptions::default();
        connect.order = self.candidate_order;
        connect.cap = self.max_candidate_addresses;
        connect.seed = self.candidate_seed;
        connect.attempt_delay = Some(self.attempt_delay).filter(|delay| !delay.is_zero());
        connect.budget = self.connect_budget;
        connect.max_auth_failures = self.max_auth_failures;
        connect.resolve_timeout = Some(self.resolve_timeout);
        // Pools and the control connection warn, and know what they warned of before.
        connect.quiet = true;
        let mut tcp = TcpConnector::new().with_connect_timeout(self.connect_timeout).with_nodelay(self.nodelay);
        if let Some(idle) = self.keepalive {
            tcp = tcp.with_keepalive(idle);
        }
        if let Some(linger) = self.linger {
            tcp = tcp.with_linger(linger);
        }
        if let Some(bytes) = self.receive_buffer {
            tcp = tcp.with_receive_buffer(bytes);
        }
        if let Some(bytes) = self.send_buffer {
            tcp = tcp.with_send_buffer(bytes);
        }
        let fixed = self.fixed();
        Ok(Config {
            contact_points,
            connect,
            tcp,
            connect_timeout: self.connect_timeout,
            tls_timeout: self.tls_timeout.unwrap_or(self.connect_timeout),
            init_timeout: self.init_timeout,
            keyspace_timeout: self.keyspace_timeout.unwrap_or(self.init_timeout),
            heartbeat_interval: self.heartbeat_interval,
            heartbeat_timeout: self.heartbeat_timeout.unwrap_or(self.init_timeout),
            reach,
            tls,
            authenticator: self.authenticator,
            protocol_version: self.protocol_version,
            compression: self.compression,
            expected_cluster: self.expected_cluster.clone().map(Into::into),
            control_timeout: self.control_timeout.unwrap_or(self.init_timeout),
            fallback_to_contact_points: self.fallback_to_contact_points,
            agreement: Agreement {
                interval: self.agreement_interval,
                timeout: self.agreement_timeout,
                warn_on_failure: self.agreement_warning,
            },
            application: [
                ("APPLICATION_NAME", self.application_name.clone()),
                ("APPLICATION_VERSION", self.application_version.clone()),
                ("CLIENT_ID", self.client_id.map(|id| id.to_string())),
            ],
            schema: self.schema,
            schema_keyspaces: KeyspaceRules::new(&self.schema_keyspaces)?,
            debounce: Debounce { window: self.debounce_window, max_events: self.debounce_events },
            reconnect_on_init: self.reconnect_on_init,
            keyspace,
            host_id_check: self.host_id_check,
            limits,
            metrics,
            pool: self.pool,
            local_datacenter: self.local_datacenter,
            local_rack: self.local_rack,
            request_timeout: self.request_timeout,
            prepare: self.prepare,
            prepare_timeout: self.prepare_timeout.unwrap_or(self.init_timeout),
            retry_policy: self.retry_policy,
            balancing: self.balancing,
            timestamps: self.timestamps,
            speculation: self.speculation,
            consistency: self.consistency,
            serial_consistency: self.serial_consistency,
            page_size: self.page_size,
            default_idempotence: self.default_idempotence,
            fixed,
            said: Said::default(),
        })
    }

    fn parsed_contact_points(&self, reach: &Reach) -> Result<Vec<ContactPoint>, ConfigError> {
        let mut all: Vec<ContactPoint> = Vec::new();
        for text in &self.contact_points {
            let parsed = ContactPoint::parse(text).map_err(|error| {
                ConfigError::new(CONTACT_POINTS, text, format!("`host`, `host:port` or `[ipv6]:port` ({error})"))
            })?;
            all.push(parsed);
        }
        all.extend(self.endpoints.iter().cloned());
        all.extend(self.implied_contact_points(reach));
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
        for (option, text) in [
            ("basic.application.name", &self.application_name),
            ("basic.application.version", &self.application_version),
        ] {
            let usable = |text: &&str| !text.trim().is_empty() && text.len() <= usize::from(u16::MAX);
            if let Some(bad) = text.as_deref().filter(|text| !usable(text)) {
                let start: String = bad.chars().take(40).collect();
                return Err(ConfigError::new(option, start, "a text of at most 65535 bytes, or leave it out"));
            }
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

pub(crate) fn checked_keyspace(name: String) -> Result<Arc<str>, ConfigError> {
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
