//! Orders, limits and defaults.

use std::{sync::Arc, time::Duration};

use messina_layers::Order;
use scylla_cql_core::frame::types::{Consistency, SerialConsistency};

use super::SessionBuilder;
use crate::config::HostIdCheck;
use crate::policy::{BalancingPolicy, RetryPolicy, SpeculativePolicy, TimestampGenerator};

/// How the addresses of a name are tried.
impl SessionBuilder {
    /// Tries at most so many addresses per connect, counted after duplicates are gone; 5 by default.
    pub fn max_candidate_addresses(mut self, cap: usize) -> Self {
        self.draft.max_candidate_addresses = cap;
        self
    }

    /// Tries addresses in this order; shuffled afresh by default.
    pub fn candidate_order(mut self, order: Order) -> Self {
        self.draft.candidate_order = order;
        self
    }

    /// Makes the shuffle repeatable, for tests.
    pub fn candidate_seed(mut self, seed: u64) -> Self {
        self.draft.candidate_seed = Some(seed);
        self
    }

    /// Starts the next address beside one that has not answered within `delay`; 250 ms by default.
    pub fn attempt_delay(mut self, delay: Duration) -> Self {
        self.draft.attempt_delay = delay;
        self
    }

    /// Tries one address after the other, never two at a time.
    pub fn sequential(self) -> Self {
        self.attempt_delay(Duration::ZERO)
    }

    /// Starts no further address once this has passed; an attempt that runs is never cut. None by default.
    pub fn connect_budget(mut self, budget: Duration) -> Self {
        self.draft.connect_budget = Some(budget);
        self
    }

    /// Ends a connect after so many refused logins, lest an account be locked. No limit by default.
    pub fn max_auth_failures(mut self, limit: usize) -> Self {
        self.draft.max_auth_failures = Some(limit);
        self
    }
}

/// Limits and defaults.
impl SessionBuilder {
    /// Limits a lookup; 5 s by default.
    pub fn resolve_timeout(mut self, limit: Duration) -> Self {
        self.draft.resolve_timeout = limit;
        self
    }

    /// Limits the opening of a transport; 5 s by default.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.draft.connect_timeout = limit;
        self
    }

    /// Limits a TLS handshake; the connect timeout by default.
    pub fn tls_timeout(mut self, limit: Duration) -> Self {
        self.draft.tls_timeout = Some(limit);
        self
    }

    /// Limits each step after TLS; 5 s by default.
    pub fn init_timeout(mut self, limit: Duration) -> Self {
        self.draft.init_timeout = limit;
        self
    }

    /// Limits each `USE`, that of a connect and those of [`Session::use_keyspace`](crate::Session::use_keyspace); as
    /// [`init_timeout`](Self::init_timeout) by default.
    pub fn keyspace_timeout(mut self, limit: Duration) -> Self {
        self.draft.keyspace_timeout = Some(limit);
        self
    }

    /// Sends a heartbeat on a connection where nothing was answered for `interval`, and replaces the connection if that
    /// is not answered within `timeout` either; 30 s and the init timeout by default.
    pub fn heartbeat(mut self, interval: Duration, timeout: Duration) -> Self {
        self.draft.heartbeat_interval = interval;
        self.draft.heartbeat_timeout = Some(timeout);
        self
    }

    /// Limits each read on the control connection; the init timeout by default.
    pub fn control_timeout(mut self, limit: Duration) -> Self {
        self.draft.control_timeout = Some(limit);
        self
    }

    /// Whether the contact points, expanded anew, are tried when no known node can be reached; true by default.
    ///
    /// It is the way back to a cluster whose addresses have all changed. Addresses that failed earlier in the same
    /// round are not dialled again, so unchanged names cost little.
    pub fn fallback_to_contact_points(mut self, fallback: bool) -> Self {
        self.draft.fallback_to_contact_points = fallback;
        self
    }

    /// Goes on trying while no contact point can be reached, instead of failing; false by default.
    ///
    /// Rounds repeat about every second. Dropping the future of [`build`](Self::build) stops it.
    pub fn wait_until_connected(mut self, wait: bool) -> Self {
        self.draft.reconnect_on_init = wait;
        self
    }

    /// Waits for schema agreement this long, with a look at every `interval`; 10 s and 200 ms by default. A `timeout`
    /// of zero does not wait, and counts as no agreement.
    pub fn schema_agreement(mut self, interval: Duration, timeout: Duration) -> Self {
        (self.draft.agreement_interval, self.draft.agreement_timeout) = (interval, timeout);
        self
    }

    /// Reads the nodes again this long after a topology event, or at once after so many; 1 s and 20 by default.
    pub fn debounce_topology_events(mut self, window: Duration, max_events: usize) -> Self {
        (self.draft.debounce_window, self.draft.debounce_events) = (window, max_events);
        self
    }

    /// Whether the schema is read and followed, for [`Session::schema`](crate::Session::schema) and for sending requests to
    /// the nodes that hold their data; true by default. It is read beside the requests, which never wait for it.
    pub fn schema_metadata(mut self, enabled: bool) -> Self {
        self.draft.schema = enabled;
        self
    }

    /// Reads the schema of these keyspaces only: names, or patterns in which `*` stands for anything; `!` before one leaves
    /// out what it matches, and where nothing else is said everything else is read. All but `!system` and `!system_*` by
    /// default. See [`KeyspaceRules`](crate::config::KeyspaceRules). Requests to tables of other keyspaces go to any node.
    pub fn schema_keyspaces<R: Into<String>>(mut self, rules: impl IntoIterator<Item = R>) -> Self {
        self.draft.schema_keyspaces = rules.into_iter().map(Into::into).collect();
        self
    }

    /// Where statements are prepared before they are executed: on all nodes and on those that come up, by default.
    pub fn prepare_ahead(mut self, on_all_nodes: bool, on_up: bool) -> Self {
        (self.draft.prepare.on_all_nodes, self.draft.prepare.on_up) = (on_all_nodes, on_up);
        self
    }

    /// What to do when a server tells another host id than the expected one; reject by default.
    pub fn host_id_check(mut self, check: HostIdCheck) -> Self {
        self.draft.host_id_check = check;
        self
    }

    /// Lets the system probe idle connections after `idle`.
    pub fn keepalive(mut self, idle: Duration) -> Self {
        self.draft.keepalive = Some(idle);
        self
    }

    /// Allows so many requests at a time on one connection, of which `orphans` may be given up; 1024 and 256.
    pub fn requests_per_connection(mut self, requests: usize, orphans: usize) -> Self {
        (self.draft.max_requests, self.draft.max_orphans) = (requests, orphans);
        self
    }

    /// Limits a request; 10 s by default.
    pub fn request_timeout(mut self, limit: Duration) -> Self {
        self.draft.request_timeout = limit;
        self
    }

    /// Decides what follows a try that failed; [`DefaultRetry`](crate::policy::DefaultRetry) unless set.
    pub fn retry_policy(mut self, policy: impl RetryPolicy) -> Self {
        self.draft.retry_policy = Arc::new(policy);
        self
    }

    /// Chooses the node of each try in place of the session.
    pub fn balancing_policy(mut self, policy: impl BalancingPolicy) -> Self {
        self.draft.balancing = Some(Arc::new(policy));
        self
    }

    /// Makes the write timestamps of statements that name none; the clock of this machine by default, never twice the same.
    pub fn timestamps(mut self, generator: impl TimestampGenerator) -> Self {
        self.draft.timestamps = Arc::new(generator);
        self
    }

    /// Sends idempotent requests to one more node when no answer has come in time; never by default.
    pub fn speculation(mut self, policy: impl SpeculativePolicy) -> Self {
        self.draft.speculation = Some(Arc::new(policy));
        self
    }

    /// The consistency of statements that name none; LOCAL_QUORUM by default.
    pub fn consistency(mut self, consistency: Consistency) -> Self {
        self.draft.consistency = consistency;
        self
    }

    /// The serial consistency of statements that name none; LOCAL_SERIAL by default.
    pub fn serial_consistency(mut self, consistency: SerialConsistency) -> Self {
        self.draft.serial_consistency = consistency;
        self
    }

    /// Rows per page of statements that name no size; 5000 by default.
    pub fn page_size(mut self, rows: i32) -> Self {
        self.draft.page_size = rows;
        self
    }

    /// Whether statements that do not say so may be executed twice; false by default.
    pub fn default_idempotence(mut self, idempotent: bool) -> Self {
        self.draft.default_idempotence = idempotent;
        self
    }
}
