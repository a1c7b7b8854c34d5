//! Settings that stay what they were when the session was built.

use std::{fmt::Debug, sync::Arc};

use super::{Config, Draft};
use crate::error::ConfigError;

/// The options that are fixed, each with its value as text.
pub(super) type Fixed = Vec<(&'static str, String)>;

impl Draft {
    /// What must not change afterwards.
    pub(super) fn fixed(&self) -> Fixed {
        fn show(value: &dyn Debug) -> String {
            let text = format!("{value:?}");
            let inner = text.strip_prefix("Some(").and_then(|text| text.strip_suffix(')')).map(str::to_owned);
            inner.unwrap_or(if text == "None" { "none".to_owned() } else { text })
        }
        let contact_points: Vec<_> =
            self.contact_points.iter().cloned().chain(self.endpoints.iter().map(ToString::to_string)).collect();
        vec![
            ("basic.contact-points", contact_points.join(", ")),
            ("basic.session-name", show(&self.session_name)),
            ("basic.application.name", show(&self.application_name)),
            ("basic.application.version", show(&self.application_version)),
            ("basic.application.client-id", show(&self.client_id)),
            ("basic.session-keyspace", show(&self.keyspace)),
            ("basic.load-balancing-policy.local-datacenter", show(&self.local_datacenter)),
            ("basic.load-balancing-policy.local-rack", show(&self.local_rack)),
            ("advanced.control-connection.expected-cluster", show(&self.expected_cluster)),
            ("advanced.control-connection.timeout", show(&self.control_timeout)),
            ("advanced.metadata.schema.enabled", show(&self.schema)),
            ("advanced.metadata.topology-event-debouncer.window", show(&self.debounce_window)),
            ("advanced.metadata.topology-event-debouncer.max-events", show(&self.debounce_events)),
            ("advanced.reconnect-on-init", show(&self.reconnect_on_init)),
            ("advanced.reconnection-policy.base-delay", show(&self.pool.base_delay)),
            ("advanced.reconnection-policy.max-delay", show(&self.pool.max_delay)),
            ("advanced.protocol.version", show(&self.protocol_version)),
            ("advanced.protocol.compression", show(&self.compression)),
            ("advanced.metrics.prefix", show(&self.metrics_prefix)),
            ("advanced.sni.proxy", show(&self.sni_proxy)),
            ("advanced.sni.node-domain", show(&self.sni_node_domain)),
            ("advanced.sni.verified-name", show(&self.sni_verified_name)),
            ("advanced.client-routes.connections", show(&self.client_routes)),
            ("advanced.client-routes.table-name", show(&self.client_routes_table)),
            ("advanced.client-routes.proxy-only", show(&self.client_routes_proxy_only)),
            ("advanced.tls.ca-file", show(&self.tls_ca_file)),
            ("advanced.tls.cert-file", show(&self.tls_cert_file)),
            ("advanced.tls.key-file", show(&self.tls_key_file)),
            ("advanced.tls.native-roots", show(&self.tls_native_roots)),
            ("advanced.tls.dangerous-trust-all", show(&self.tls_trust_all)),
            ("advanced.tls.reload-interval", show(&self.tls_reload_interval)),
            ("advanced.tls.accepted-names", show(&self.tls_names)),
        ]
    }
}

impl Config {
    /// These settings in place of `before`, with the parts that `before` got from code: a file cannot name them.
    ///
    /// # Errors
    /// For the first option that is fixed and has another value than before.
    pub(crate) fn in_place_of(mut self, before: &Self) -> Result<Self, ConfigError> {
        for ((option, was), (_, now)) in before.fixed.iter().zip(&self.fixed) {
            if was != now {
                let allowed = format!("{was}, which it was when the session was built: this option is fixed");
                return Err(ConfigError::new(*option, now, allowed));
            }
        }
        self.authenticator.clone_from(&before.authenticator);
        self.tls.clone_from(&before.tls);
        self.reach.clone_from(&before.reach);
        self.metrics.clone_from(&before.metrics);
        self.contact_points.clone_from(&before.contact_points);
        self.retry_policy = Arc::clone(&before.retry_policy);
        self.balancing.clone_from(&before.balancing);
        self.timestamps = Arc::clone(&before.timestamps);
        self.speculation.clone_from(&before.speculation);
        self.connect.seed = before.connect.seed;
        self.said = before.said.clone();
        Ok(self)
    }
}
