//! The names, in one list.

use metrics::Unit;

/// One metric: everything there is to know of it before it is counted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Metric {
    /// Its name, without a prefix.
    pub name: &'static str,
    /// What it is.
    pub kind: MetricKind,
    /// In what it is counted.
    pub unit: Unit,
    /// The labels that tell its series apart, beside that of the session.
    pub labels: &'static [&'static str],
    /// What it means.
    pub help: &'static str,
}

/// How a metric moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Single values are recorded.
    Histogram,
}

macro_rules! metrics {
    ($(#[$about:meta])* $list:ident: $( $kind:ident $constant:ident = $name:literal, $unit:ident, [$($label:literal),*], $help:literal; )*) => {
        $(
            #[doc = $help]
            #[doc = ""]
            #[doc = concat!("A ", stringify!($kind), ", in ", stringify!($unit), "; labels: ", stringify!($($label),*), ".")]
            pub const $constant: &str = $name;
        )*

        $(#[$about])*
        pub const $list: &[Metric] = &[
            $( Metric {
                name: $name,
                kind: MetricKind::$kind,
                unit: Unit::$unit,
                labels: &[$($label),*],
                help: $help,
            } ),*
        ];
    };
}

metrics! {
    /// Every metric of a session, in the order of its documentation.
    ALL:

    Counter REQUESTS = "messina_requests_total", Count, [],
        "Requests that were begun; each counts once, however many tries it takes.";
    Histogram REQUEST_DURATION = "messina_request_duration_seconds", Seconds, [],
        "How long requests took from their beginning to their answer or error, retries included.";
    Counter REQUEST_ERRORS = "messina_request_errors_total", Count, ["kind"],
        "Requests that ended with an error, by its kind.";
    Counter CLIENT_TIMEOUTS = "messina_client_timeouts_total", Count, [],
        "Requests that ended because their time ran out; they are among the errors too.";
    Counter BYTES_SENT = "messina_bytes_sent_total", Bytes, [],
        "Bytes written to the connections of nodes, after compression and before TLS.";
    Counter BYTES_RECEIVED = "messina_bytes_received_total", Bytes, [],
        "Bytes read from the connections of nodes, before decompression and after TLS.";
    Gauge CONNECTED_NODES = "messina_connected_nodes", Count, [],
        "Nodes with at least one open connection.";
    Gauge PREPARED_STATEMENTS = "messina_prepared_statements", Count, [],
        "Statements that the session keeps prepared.";

    Gauge NODE_INFO = "messina_node_info", Count, ["host_id", "endpoint", "datacenter", "rack"],
        "1 for what the node is called now, 0 for what it was called before. The only series with an address.";
    Gauge NODE_OPEN_CONNECTIONS = "messina_node_open_connections", Count, ["host_id"],
        "Open connections of the node's pool, those that are being drained included.";
    Gauge NODE_IN_FLIGHT = "messina_node_in_flight", Count, ["host_id"],
        "Requests on the node's connections whose answer is due, those that were given up included.";
    Gauge NODE_ORPHANS = "messina_node_orphans", Count, ["host_id"],
        "Requests on the node's connections that were given up while their answer is still due.";
    Counter NODE_BYTES_SENT = "messina_node_bytes_sent_total", Bytes, ["host_id"],
        "Bytes written to the node's connections, after compression and before TLS.";
    Counter NODE_BYTES_RECEIVED = "messina_node_bytes_received_total", Bytes, ["host_id"],
        "Bytes read from the node's connections, before decompression and after TLS.";
    Counter NODE_REQUEST_ERRORS = "messina_node_request_errors_total", Count, ["host_id", "class"],
        "Tries at the node that failed: `unsent`, `aborted`, `write-timeout`, `read-timeout`, `unavailable` or `other`.";
    Counter NODE_RETRIES = "messina_node_retries_total", Count, ["host_id", "class"],
        "Tries at the node after whose failure the request was tried again, by the same classes.";
    Counter NODE_IGNORES = "messina_node_ignores_total", Count, ["host_id", "class"],
        "Tries at the node whose failure the retry policy ignored, by the same classes.";
    Counter NODE_SPECULATIVE_EXECUTIONS = "messina_node_speculative_executions_total", Count, ["host_id"],
        "Tries that were started because the node did not answer in time.";
    Counter NODE_CONNECTION_ERRORS = "messina_node_connection_errors_total", Count, ["host_id", "class"],
        "Connects of the node's pool that failed: `auth` if the login was refused, else `init`.";

    Counter IDENTITY_REJECTIONS = "messina_connect_identity_rejections_total", Count, ["reason"],
        "Addresses turned down for who answered there: `host` (another node), `cluster` (another cluster), `unknown` (who answered could not be read).";
    Counter REGISTER_FAILURES = "messina_connect_register_failures_total", Count, [],
        "Control connections that could not register for events.";

    Gauge CONTROL_CONNECTED_SINCE = "messina_control_connected_since_timestamp_seconds", Seconds, [],
        "When the control connection was accepted, in Unix time, 0 while there is none; its age is the time since.";
    Counter CONTROL_SWITCHES = "messina_control_switches_total", Count, [],
        "Control connections that took the place of an earlier one.";
    Counter CONTROL_FALLBACK_ROUNDS = "messina_control_fallback_rounds_total", Count, [],
        "Rounds for a control connection that came as far as the original contact points.";
    Counter CONTROL_EXHAUSTED_ROUNDS = "messina_control_exhausted_rounds_total", Count, [],
        "Rounds for a control connection that found none.";
    Gauge CONTROL_RECONNECT_DELAY = "messina_control_reconnect_delay_seconds", Seconds, [],
        "The pause before the next round for a control connection, 0 while there is one.";
}

metrics! {
    /// Every metric of an Alternator client, in the order of its documentation. Its nodes are known by their addresses
    /// only, so none of these tells them apart.
    ALTERNATOR:

    Counter ALTERNATOR_REQUESTS = "messina_alternator_requests_total", Count, [],
        "Requests that were begun; each counts once, however many attempts it takes.";
    Histogram ALTERNATOR_REQUEST_DURATION = "messina_alternator_request_duration_seconds", Seconds, [],
        "How long requests took from their beginning to the head of their answer or their error.";
    Counter ALTERNATOR_REQUEST_ERRORS = "messina_alternator_request_errors_total", Count, ["kind"],
        "Requests that ended without an answer: `no-route`, `closed`, `invalid`, `unsigned`, `exhausted`, `broken` or `timeout`.";
    Counter ALTERNATOR_ATTEMPTS = "messina_alternator_attempts_total", Count, ["outcome"],
        "Attempts that ended: `answered`, `refused`, `silent`, `broken`, or `dropped` because another one was answered or the request was given up.";
    Counter ALTERNATOR_FAILOVERS = "messina_alternator_failovers_total", Count, ["reason"],
        "Further nodes that a request was sent to, by what the node before did: `refused`, `silent`, `broken`, `status` (it answered 503, or another error of a server), or `hedge` (it was slow).";
    Counter ALTERNATOR_TRANSITIONS = "messina_alternator_node_transitions_total", Count, ["from", "to"],
        "Nodes that changed their state: `active`, `quarantined` or `down`.";
    Counter ALTERNATOR_REFRESHES = "messina_alternator_list_refreshes_total", Count, ["outcome"],
        "Polls that ended: `nodes`, `empty` (everybody says that there are none), `silence` (nobody answered) or `unclear` (no answer was of use).";
    Gauge ALTERNATOR_NODES = "messina_alternator_nodes", Count, [],
        "Nodes that requests may go to.";
}
