//! Parsed settings; an invalid value cannot be built.
//!
//! A [`Draft`] takes values as they come; [`Draft::check`] gives a [`Config`] or says which option has which
//! value and what is allowed. Options have the names of the settings file; see [`Draft::set`].

mod auth;
mod check;
#[cfg(feature = "cloud")]
pub mod cloud;
mod draft;
mod fixed;
#[cfg(feature = "serde")]
mod from_serde;
mod keys;
mod keyspaces;
mod reach;
mod said;
mod live;
mod options;
mod pool;
mod tls;

use std::{sync::Arc, time::Duration};

use messina_layers::{ConnectOptions, TcpConnector};
use scylla_cql_core::frame::types::{Consistency, SerialConsistency};

pub use self::{
    auth::{AuthContext, AuthError, Authenticator, AuthenticatorSession, PlainText},
    draft::Draft,
    keyspaces::KeyspaceRules,
    options::{KEYS, OPTIONS, OptionInfo},
    pool::{IdentifiedFallback, PoolOptions},
    reach::{CLIENT_ROUTES_TABLE, ClientRoutes, Reach},
    tls::TlsSettings,
};
pub(crate) use self::{check::checked_keyspace, live::LiveConfig, said::Said};
use crate::{
    connection::{Compression, Limits},
    endpoint::ContactPoint,
    metrics::Naming,
    policy::{BalancingPolicy, RetryPolicy, SpeculativePolicy, TimestampGenerator},
    protocol::ProtocolVersion,
};

/// What to do when the server tells another host id than the expected one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostIdCheck {
    /// Nothing.
    Off,
    /// Use the connection and say so in the log.
    Warn,
    /// Close the connection and try the next address.
    #[default]
    Reject,
}

/// Where statements are prepared before they are executed; a node that does not know one is told when it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrepareOptions {
    /// What was prepared on one node is prepared on all others, beside requests.
    pub on_all_nodes: bool,
    /// A node that comes up is told of the statements that the session keeps.
    pub on_up: bool,
    /// Of so many at most, those used last; 0 is all that are kept.
    pub max_statements: usize,
    /// So many at a time.
    pub max_parallelism: usize,
}

impl Default for PrepareOptions {
    fn default() -> Self {
        Self { on_all_nodes: true, on_up: true, max_statements: 0, max_parallelism: 100 }
    }
}

/// How schema agreement is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agreement {
    /// The time between two looks.
    pub interval: Duration,
    /// How long to wait; zero does not wait, and counts as no agreement.
    pub timeout: Duration,
    /// Whether to warn when there is none.
    pub warn_on_failure: bool,
}

/// How topology events are gathered before the nodes are read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Debounce {
    /// How long after the first event at most.
    pub window: Duration,
    /// After how many events at once.
    pub max_events: usize,
}

/// Settings that passed every check; cheap to clone behind its `Arc`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Where to look for the cluster first; never empty.
    pub contact_points: Vec<ContactPoint>,
    /// The upper half of the connect stack.
    pub connect: ConnectOptions,
    /// The TCP leaf.
    pub tcp: TcpConnector,
    /// Limits the opening of a transport, whoever opens it.
    pub connect_timeout: Duration,
    /// Limits a TLS handshake.
    pub tls_timeout: Duration,
    /// Limits each step of a connect after TLS.
    pub init_timeout: Duration,
    /// Limits each `USE`.
    pub keyspace_timeout: Duration,
    /// How long nothing may be answered on a connection before a heartbeat is sent.
    pub heartbeat_interval: Duration,
    /// Limits the answer to a heartbeat.
    pub heartbeat_timeout: Duration,
    /// How nodes are reached.
    pub reach: Reach,
    /// TLS, where wanted.
    pub tls: Option<TlsSettings>,
    /// How to log in, where wanted.
    pub authenticator: Option<Arc<dyn Authenticator>>,
    /// The only version to speak, or `None` to negotiate.
    pub protocol_version: Option<ProtocolVersion>,
    /// The compression to ask for.
    pub compression: Option<Compression>,
    /// The cluster that must answer, from the first connection on; `None` takes the first one that does.
    pub expected_cluster: Option<Arc<str>>,
    /// Limits each read on the control connection: who answers, the node list, schema versions.
    pub control_timeout: Duration,
    /// Whether a reconnection plan ends with the contact points, each expanded anew.
    pub fallback_to_contact_points: bool,
    /// How schema agreement is waited for.
    pub agreement: Agreement,
    /// How topology events are gathered.
    pub debounce: Debounce,
    /// Whether a session that reaches no contact point goes on trying instead of failing.
    pub reconnect_on_init: bool,
    /// The keyspace of every connection.
    pub keyspace: Option<Arc<str>>,
    /// What to do about a wrong host id.
    pub host_id_check: HostIdCheck,
    /// The bounds of one connection.
    pub limits: Limits,
    /// What the session's metrics are called.
    pub metrics: Naming,
    /// Connections of a node.
    pub pool: PoolOptions,
    /// The data centre that requests prefer.
    pub local_datacenter: Option<String>,
    /// The rack that requests prefer within that data centre, by its name.
    pub local_rack: Option<String>,
    /// Limits a whole request, every page fetch alike.
    pub request_timeout: Duration,
    /// Whether the schema is read and followed; without it requests are not routed by token.
    pub schema: bool,
    /// Of which keyspaces it is read.
    pub schema_keyspaces: KeyspaceRules,
    /// Where statements are prepared before they are executed.
    pub prepare: PrepareOptions,
    /// Limits each preparing of a statement that no request waits for.
    pub prepare_timeout: Duration,
    /// What servers are told of the application in STARTUP.
    pub(crate) application: [(&'static str, Option<String>); 3],
    /// What follows a try that failed.
    pub retry_policy: Arc<dyn RetryPolicy>,
    /// Chooses the nodes of requests in place of the session.
    pub balancing: Option<Arc<dyn BalancingPolicy>>,
    /// Makes write timestamps.
    pub timestamps: Arc<dyn TimestampGenerator>,
    /// When an idempotent request is also sent to another node.
    pub speculation: Option<Arc<dyn SpeculativePolicy>>,
    /// The consistency of requests that name none.
    pub consistency: Consistency,
    /// The serial consistency of requests that name none.
    pub serial_consistency: SerialConsistency,
    /// Rows per page of requests that name no size.
    pub page_size: i32,
    /// Whether requests that do not say so may be executed twice.
    pub default_idempotence: bool,
    fixed: fixed::Fixed,
    /// What the session has warned of.
    pub(crate) said: Said,
}
