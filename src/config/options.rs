//! Every option: its name, its default, whether it may change at run time, and what it means.

/// One option of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionInfo {
    /// Its name, sections and all.
    pub name: &'static str,
    /// What is in force without it, in words or as it would be written.
    pub default: &'static str,
    /// Whether [`Session::reconfigure`](crate::Session::reconfigure) may change it, for connections, checks and plans
    /// made afterwards.
    pub runtime: bool,
    /// What it does.
    pub meaning: &'static str,
}

const fn runtime(name: &'static str, default: &'static str, meaning: &'static str) -> OptionInfo {
    OptionInfo { name, default, runtime: true, meaning }
}

const fn fixed(name: &'static str, default: &'static str, meaning: &'static str) -> OptionInfo {
    OptionInfo { name, default, runtime: false, meaning }
}

/// Every option that [`Draft::set`](super::Draft::set) and settings files know.
pub const OPTIONS: &[OptionInfo] = &[
    fixed(
        "basic.contact-points",
        "none, which is an error",
        "where to look for the cluster first: `host`, `host:port` or `[ipv6]:port`; names stay names",
    ),
    fixed("basic.session-name", "none", "the label `session` of every metric"),
    fixed("basic.application.name", "none", "told to every server in STARTUP"),
    fixed("basic.application.version", "none", "told to every server in STARTUP"),
    fixed("basic.application.client-id", "none", "a UUID, told to every server in STARTUP"),
    fixed("basic.session-keyspace", "none", "the keyspace of every connection"),
    fixed(
        "basic.load-balancing-policy.local-datacenter",
        "that of the first node",
        "the data centre that requests prefer",
    ),
    fixed("basic.load-balancing-policy.local-rack", "none", "the rack that requests prefer within that data centre"),
    runtime("basic.request.timeout", "10 s", "limits a whole request, retries included, and each page fetch"),
    runtime("basic.request.consistency", "LOCAL_QUORUM", "the consistency of statements that name none"),
    runtime("basic.request.serial-consistency", "LOCAL_SERIAL", "the serial consistency of statements that name none"),
    runtime("basic.request.page-size", "5000", "rows per page of statements that name no size"),
    runtime(
        "basic.request.default-idempotence",
        "false",
        "whether statements that do not say so may be executed twice",
    ),
    fixed(
        "advanced.control-connection.expected-cluster",
        "whichever answers first",
        "the cluster that must answer, by its name",
    ),
    fixed(
        "advanced.control-connection.timeout",
        "as `init-query-timeout`",
        "limits each read on the control connection",
    ),
    runtime(
        "advanced.control-connection.reconnection.fallback-to-original-contact-points",
        "true",
        "whether a reconnection plan ends with the contact points, each expanded anew",
    ),
    runtime(
        "advanced.control-connection.schema-agreement.interval",
        "200 ms",
        "the pause between two looks at the schema versions",
    ),
    runtime(
        "advanced.control-connection.schema-agreement.timeout",
        "10 s",
        "limits the wait for schema agreement; 0 s does not wait",
    ),
    runtime(
        "advanced.control-connection.schema-agreement.warn-on-failure",
        "true",
        "whether a missing agreement is warned of",
    ),
    fixed(
        "advanced.metadata.schema.enabled",
        "true",
        "whether the schema is read, for requests to go to the nodes that hold their data",
    ),
    runtime(
        "advanced.metadata.schema.refreshed-keyspaces",
        "!system, !system_*",
        "which keyspaces' schema is read: names, `*` for anything, `!` before what is left out; from the next read on",
    ),
    fixed(
        "advanced.metadata.topology-event-debouncer.window",
        "1 s",
        "how long events are gathered before nodes are read again",
    ),
    fixed(
        "advanced.metadata.topology-event-debouncer.max-events",
        "20",
        "after how many events nodes are read at once",
    ),
    runtime(
        "advanced.prepared-statements.prepare-on-all-nodes",
        "true",
        "whether a statement that was prepared on one node is prepared on the others before they need it",
    ),
    runtime(
        "advanced.prepared-statements.reprepare-on-up.enabled",
        "true",
        "whether a node that comes up is told of the statements that the session keeps",
    ),
    runtime(
        "advanced.prepared-statements.reprepare-on-up.max-statements",
        "0",
        "of how many, those used last; 0 is all",
    ),
    runtime(
        "advanced.prepared-statements.reprepare-on-up.max-parallelism",
        "100",
        "how many statements a node is told of at a time, and how many nodes of one statement",
    ),
    runtime("advanced.prepared-statements.reprepare-on-up.timeout", "as `init-query-timeout`", "limits each of these"),
    fixed("advanced.reconnect-on-init", "false", "whether a session that reaches no contact point goes on trying"),
    runtime(
        "advanced.connection.max-candidate-addresses",
        "5",
        "how many addresses of a name one connect tries at most",
    ),
    runtime(
        "advanced.connection.candidate-order",
        "shuffle",
        "`shuffle`, `first-then-shuffle`, `as-given` or `interleave-families`",
    ),
    runtime(
        "advanced.connection.attempt-delay",
        "250 ms",
        "when the next address is tried beside one that does not answer; 0 s is one after the other",
    ),
    runtime("advanced.connection.connect-budget", "none", "no further address is tried once this has passed"),
    runtime("advanced.connection.max-auth-failures", "none", "ends a connect after so many refused logins"),
    runtime("advanced.connection.resolve-timeout", "5 s", "limits a lookup"),
    runtime("advanced.connection.connect-timeout", "5 s", "limits the opening of a transport"),
    runtime("advanced.connection.tls-handshake-timeout", "as `connect-timeout`", "limits a TLS handshake"),
    runtime("advanced.connection.init-query-timeout", "5 s", "limits each step of a connect after TLS"),
    runtime(
        "advanced.connection.set-keyspace-timeout",
        "as `init-query-timeout`",
        "limits each `USE`: that of a connect, and those of `Session::use_keyspace`",
    ),
    runtime(
        "advanced.connection.max-requests-per-connection",
        "1024",
        "requests at a time on one connection, at most 32768",
    ),
    runtime(
        "advanced.connection.max-orphan-requests",
        "256",
        "how many of them may be given up before the connection is replaced",
    ),
    runtime(
        "advanced.connection.host-id-check",
        "reject",
        "what happens when another node answers than the one expected: `off`, `warn` or `reject`",
    ),
    runtime(
        "advanced.connection.pool.local.size",
        "1",
        "connections to a node of the local data centre, rounded up per shard",
    ),
    runtime("advanced.connection.pool.remote.size", "1", "connections to any other node; 0 leaves those nodes alone"),
    runtime(
        "advanced.connection.advanced-shard-awareness.enabled",
        "true",
        "whether shards are chosen by the local port",
    ),
    runtime("advanced.connection.advanced-shard-awareness.port-low", "10000", "the lowest such port"),
    runtime("advanced.connection.advanced-shard-awareness.port-high", "65535", "the highest such port"),
    runtime("advanced.connection.max-concurrent-connects-per-host", "none", "connects at a time to one node"),
    runtime("advanced.connection.max-concurrent-connects", "256", "connects at a time of the whole session"),
    runtime(
        "advanced.connection.identified-fallback",
        "off",
        "where else a node is looked for when its address fails: `off` or `verified`",
    ),
    fixed(
        "advanced.reconnection-policy.base-delay",
        "1 s",
        "the first delay before a node is tried again; it doubles with each failure",
    ),
    fixed("advanced.reconnection-policy.max-delay", "60 s", "the longest such delay"),
    runtime(
        "advanced.heartbeat.interval",
        "30 s",
        "how long nothing may be answered on a connection before it is asked whether it lives",
    ),
    runtime("advanced.heartbeat.timeout", "as `init-query-timeout`", "limits the answer to that"),
    runtime("advanced.socket.tcp-no-delay", "true", "whether small packets are sent at once"),
    runtime("advanced.socket.keep-alive", "none", "how long a connection is idle before the system probes it"),
    runtime("advanced.socket.linger-interval", "the system's", "how long a close waits for what is not sent yet"),
    runtime("advanced.socket.receive-buffer-size", "the system's", "bytes"),
    runtime("advanced.socket.send-buffer-size", "the system's", "bytes"),
    fixed("advanced.protocol.version", "negotiated", "the only version to speak: 3, 4 or 5"),
    fixed("advanced.protocol.compression", "none", "`lz4`, `snappy` or `none`"),
    runtime("advanced.protocol.max-frame-length", "256 MiB", "the longest answer that is accepted"),
    fixed("advanced.metrics.prefix", "none", "stands in front of every metric's name"),
    fixed("advanced.sni.proxy", "none", "the proxy in front of the cluster, `host:port`"),
    fixed("advanced.sni.node-domain", "none", "nodes are told apart by `<host id>.<this>`"),
    fixed("advanced.sni.verified-name", "the name that is sent", "the name that certificates must be valid for"),
    fixed("advanced.client-routes.connections", "none", "the routes to use, by connection id"),
    fixed("advanced.client-routes.table-name", "system.client_routes", "where routes are published"),
    fixed("advanced.client-routes.proxy-only", "false", "whether nodes without a route are left alone"),
    fixed("advanced.tls.ca-file", "none", "PEM file of the certificates to trust; turns TLS on"),
    fixed("advanced.tls.cert-file", "none", "PEM file of our own certificate chain"),
    fixed("advanced.tls.key-file", "none", "PEM file of its key"),
    fixed("advanced.tls.native-roots", "false", "whether the system's roots are trusted; turns TLS on"),
    fixed("advanced.tls.dangerous-trust-all", "false", "whether nothing is verified: for tests only"),
    fixed("advanced.tls.reload-interval", "10 s", "how often the files are looked at again; 0 s is never"),
    fixed("advanced.tls.accepted-names", "the endpoint's own", "names that a certificate may be valid for"),
    fixed(
        "advanced.resolve-contact-points",
        "none",
        "accepted for old files, and does nothing: names always stay names",
    ),
];

const fn names() -> [&'static str; OPTIONS.len()] {
    let mut names = [""; OPTIONS.len()];
    let mut place = 0;
    while place < OPTIONS.len() {
        names[place] = OPTIONS[place].name;
        place += 1;
    }
    names
}

/// The names of [`OPTIONS`], in their order.
pub const KEYS: &[&str] = &names();

/// Options that other drivers have and a session has not: how each begins, and what there is instead.
pub(super) const ELSEWHERE: &[(&str, &str)] = &[
    ("basic.config-reload-interval", "read the file again and call `Session::reconfigure`"),
    ("basic.load-balancing-policy.class", "call the builder's `balancing_policy` for one of your own, or leave it out"),
    (
        "basic.load-balancing-policy.",
        "set `basic.load-balancing-policy.local-datacenter` and `local-rack`, which are the only ones of these",
    ),
    ("basic.cloud.", "set `advanced.sni.proxy` and the TLS files"),
    ("basic.application.", "leave it out"),
    (
        "advanced.connection.warn-on-init-error",
        "filter the log: a failed address is told at debug, a failed connect is one warning",
    ),
    ("advanced.reconnection-policy.class", "set base-delay and max-delay; equal ones make the delay constant"),
    ("advanced.retry-policy.", "call the builder's `retry_policy`"),
    ("advanced.speculative-execution-policy.", "call the builder's `speculation`"),
    ("advanced.protocol.", "only version, compression and max-frame-length can be set"),
    ("advanced.socket.reuse-address", "leave it out: it means nothing for outgoing connections"),
    ("advanced.metadata.schema.", "only enabled and refreshed-keyspaces can be set"),
    ("advanced.metadata.token-map.", "leave it out: the token map is always kept"),
    ("advanced.prepared-statements.", "leave it out: a node that knows a statement answers quickly that it does"),
    ("advanced.address-translator.", "call the builder's `address_translator`"),
    ("advanced.ssl-engine-factory.", "set `advanced.tls.ca-file` and its neighbours"),
    ("advanced.auth-provider.", "call the builder's `credentials` or `authenticator`"),
    (
        "advanced.throttler.",
        "put a tower layer around the session; a saturated connection makes requests wait by itself",
    ),
    ("advanced.timestamp-generator.", "call the builder's `timestamps`"),
    ("advanced.coalescer.", "leave it out: writes are gathered without a timer"),
    ("advanced.session-leak.", "leave it out"),
    ("advanced.request.", "leave it out: warnings and traces are with each result"),
    (
        "advanced.metrics.",
        "set `advanced.metrics.prefix`; which series are kept, and for how long, is for the recorder to say",
    ),
    ("advanced.netty.", "leave it out: the application's tokio runtime is used"),
    ("profiles.", "make profiles in code and give them to statements"),
];
