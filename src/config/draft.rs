//! Settings as they are given, before any check.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use messina_layers::Order;
use scylla_cql_core::frame::types::{Consistency, SerialConsistency};
use uuid::Uuid;

use super::{Authenticator, CLIENT_ROUTES_TABLE, HostIdCheck, PoolOptions, PrepareOptions, TlsSettings, keys};
use crate::{
    connection::Compression,
    endpoint::{AddressTranslator, ContactPoint, RouteConnection, SniProxy},
    error::ConfigError,
    policy::{BalancingPolicy, DefaultRetry, MonotonicTimestamps, RetryPolicy, SpeculativePolicy, TimestampGenerator},
    protocol::ProtocolVersion,
};

/// Settings as they are given; [`Draft::check`] makes a [`Config`](super::Config) of them.
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
    /// `advanced.connection.set-keyspace-timeout`: as `init_timeout`.
    pub keyspace_timeout: Option<Duration>,
    /// `advanced.heartbeat.interval`: 30 s.
    pub heartbeat_interval: Duration,
    /// `advanced.heartbeat.timeout`: as the init timeout.
    pub heartbeat_timeout: Option<Duration>,
    /// `advanced.connection.max-requests-per-connection`: 1024.
    pub max_requests: usize,
    /// `advanced.connection.max-orphan-requests`: 256.
    pub max_orphans: usize,
    /// Connections of a node; the options are named there.
    pub pool: PoolOptions,
    /// `advanced.connection.host-id-check`: reject.
    pub host_id_check: HostIdCheck,
    /// `advanced.socket.tcp-no-delay`: true.
    pub nodelay: bool,
    /// `advanced.socket.keep-alive`: none.
    pub keepalive: Option<Duration>,
    /// `advanced.socket.linger-interval`: the system's.
    pub linger: Option<Duration>,
    /// `advanced.socket.receive-buffer-size`: the system's.
    pub receive_buffer: Option<u32>,
    /// `advanced.socket.send-buffer-size`: the system's.
    pub send_buffer: Option<u32>,
    /// `advanced.protocol.max-frame-length`: 256 MiB.
    pub max_frame_length: Option<u32>,
    /// `advanced.protocol.version`: negotiated.
    pub protocol_version: Option<ProtocolVersion>,
    /// `advanced.protocol.compression`: none.
    pub compression: Option<Compression>,
    /// TLS settings made elsewhere: none.
    pub tls: Option<TlsSettings>,
    /// `advanced.tls.ca-file`: none.
    pub tls_ca_file: Option<PathBuf>,
    /// `advanced.tls.cert-file`: none.
    pub tls_cert_file: Option<PathBuf>,
    /// `advanced.tls.key-file`: none.
    pub tls_key_file: Option<PathBuf>,
    /// `advanced.tls.native-roots`: false.
    pub tls_native_roots: bool,
    /// `advanced.tls.dangerous-trust-all`: false.
    pub tls_trust_all: bool,
    /// `advanced.tls.reload-interval`: 10 s; zero never reads the files again.
    pub tls_reload_interval: Duration,
    /// `advanced.tls.accepted-names`: the endpoint's own.
    pub tls_names: Vec<String>,
    /// How to log in: not at all.
    pub authenticator: Option<Arc<dyn Authenticator>>,
    /// Says where nodes are dialled, in place of the addresses that they advertise: nothing does.
    pub address_translator: Option<Arc<dyn AddressTranslator>>,
    /// SNI proxies that are values already.
    pub sni_proxies: Vec<SniProxy>,
    /// `advanced.sni.proxy`: none.
    pub sni_proxy: Option<String>,
    /// `advanced.sni.node-domain`: none.
    pub sni_node_domain: Option<String>,
    /// `advanced.sni.verified-name`: the server name that is sent.
    pub sni_verified_name: Option<String>,
    /// `advanced.client-routes.connections`: none.
    pub client_routes: Vec<RouteConnection>,
    /// `advanced.client-routes.table-name`: `system.client_routes`.
    pub client_routes_table: String,
    /// `advanced.client-routes.proxy-only`: false.
    pub client_routes_proxy_only: bool,
    /// `advanced.control-connection.expected-cluster`: whichever answers first.
    pub expected_cluster: Option<String>,
    /// `basic.session-name`: none; a label of every metric where it is set.
    pub session_name: Option<String>,
    /// `basic.application.name`: none; told to every server.
    pub application_name: Option<String>,
    /// `basic.application.version`: none; told to every server.
    pub application_version: Option<String>,
    /// `basic.application.client-id`: none; told to every server.
    pub client_id: Option<Uuid>,
    /// `advanced.control-connection.timeout`: as the init timeout.
    pub control_timeout: Option<Duration>,
    /// `advanced.control-connection.reconnection.fallback-to-original-contact-points`: true.
    pub fallback_to_contact_points: bool,
    /// `advanced.control-connection.schema-agreement.interval`: 200 ms.
    pub agreement_interval: Duration,
    /// `advanced.control-connection.schema-agreement.timeout`: 10 s; zero does not wait, and never agrees.
    pub agreement_timeout: Duration,
    /// `advanced.control-connection.schema-agreement.warn-on-failure`: true.
    pub agreement_warning: bool,
    /// `advanced.metadata.schema.enabled`: true.
    pub schema: bool,
    /// `advanced.metadata.schema.refreshed-keyspaces`: all but `system` and `system_*`.
    pub schema_keyspaces: Vec<String>,
    /// `advanced.metadata.topology-event-debouncer.window`: 1 s.
    pub debounce_window: Duration,
    /// `advanced.metadata.topology-event-debouncer.max-events`: 20.
    pub debounce_events: usize,
    /// `advanced.reconnect-on-init`: false.
    pub reconnect_on_init: bool,
    /// `advanced.prepared-statements`: on all nodes, and on nodes that come up, with at most 100 at a time.
    pub prepare: PrepareOptions,
    /// `advanced.prepared-statements.reprepare-on-up.timeout`: as `init_timeout`.
    pub prepare_timeout: Option<Duration>,
    /// `basic.session-keyspace`: none.
    pub keyspace: Option<String>,
    /// `advanced.metrics.prefix`: none; stands in front of every metric's name.
    pub metrics_prefix: Option<String>,
    /// `basic.load-balancing-policy.local-datacenter`: none.
    pub local_datacenter: Option<String>,
    /// `basic.load-balancing-policy.local-rack`: none.
    pub local_rack: Option<String>,
    /// `basic.request.timeout`: 10 s.
    pub request_timeout: Duration,
    /// What follows a try that failed: [`DefaultRetry`].
    pub retry_policy: Arc<dyn RetryPolicy>,
    /// Chooses the nodes of requests in place of the session.
    pub balancing: Option<Arc<dyn BalancingPolicy>>,
    /// Makes write timestamps: [`MonotonicTimestamps`].
    pub timestamps: Arc<dyn TimestampGenerator>,
    /// When an idempotent request is also sent to another node: never.
    pub speculation: Option<Arc<dyn SpeculativePolicy>>,
    /// `basic.request.consistency`: LOCAL_QUORUM.
    pub consistency: Consistency,
    /// `basic.request.serial-consistency`: LOCAL_SERIAL.
    pub serial_consistency: SerialConsistency,
    /// `basic.request.page-size`: 5000.
    pub page_size: i32,
    /// `basic.request.default-idempotence`: false.
    pub default_idempotence: bool,
    /// What was refused when it was read.
    pub(super) refused: Option<ConfigError>,
    /// Whether it was said that an option does nothing.
    pub(super) inert: Inert,
}

/// Remembers that something was said; not a setting, so it shows nothing.
#[derive(Clone, Copy, Default)]
pub(super) struct Inert(bool);

impl Inert {
    /// Whether this is the first time.
    pub(super) fn first(&mut self) -> bool {
        !std::mem::replace(&mut self.0, true)
    }
}

impl fmt::Debug for Inert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inert")
    }
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
            keyspace_timeout: None,
            heartbeat_interval: Duration::from_secs(30),
            heartbeat_timeout: None,
            max_requests: 1024,
            max_orphans: 256,
            pool: PoolOptions::default(),
            host_id_check: HostIdCheck::Reject,
            nodelay: true,
            keepalive: None,
            linger: None,
            receive_buffer: None,
            send_buffer: None,
            max_frame_length: None,
            protocol_version: None,
            compression: None,
            tls: None,
            tls_ca_file: None,
            tls_cert_file: None,
            tls_key_file: None,
            tls_native_roots: false,
            tls_trust_all: false,
            tls_reload_interval: Duration::from_secs(10),
            tls_names: Vec::new(),
            authenticator: None,
            address_translator: None,
            sni_proxies: Vec::new(),
            sni_proxy: None,
            sni_node_domain: None,
            sni_verified_name: None,
            client_routes: Vec::new(),
            client_routes_table: CLIENT_ROUTES_TABLE.to_owned(),
            client_routes_proxy_only: false,
            expected_cluster: None,
            control_timeout: None,
            fallback_to_contact_points: true,
            agreement_interval: Duration::from_millis(200),
            agreement_timeout: Duration::from_secs(10),
            agreement_warning: true,
            schema: true,
            schema_keyspaces: vec!["!system".to_owned(), "!system_*".to_owned()],
            debounce_window: Duration::from_secs(1),
            debounce_events: 20,
            reconnect_on_init: false,
            session_name: None,
            prepare: PrepareOptions::default(),
            prepare_timeout: None,
            application_name: None,
            application_version: None,
            client_id: None,
            keyspace: None,
            metrics_prefix: None,
            local_datacenter: None,
            local_rack: None,
            request_timeout: Duration::from_secs(10),
            retry_policy: Arc::new(DefaultRetry),
            balancing: None,
            timestamps: Arc::new(MonotonicTimestamps::new()),
            speculation: None,
            consistency: Consistency::LocalQuorum,
            serial_consistency: SerialConsistency::LocalSerial,
            page_size: 5000,
            default_idempotence: false,
            refused: None,
            inert: Inert::default(),
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
