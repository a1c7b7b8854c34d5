//! How nodes are reached.

use std::sync::Arc;

use messina_layers::{Address, AddressError};

use super::SessionBuilder;
use crate::{
    endpoint::{AddressTranslator, Advertised, RouteConnection, SniProxy, Translation},
    error::ConfigError,
};

/// How nodes are reached, where that is not at the addresses that they advertise. One of these ways at most.
impl SessionBuilder {
    /// Dials nodes where this closure says, in place of the addresses that they advertise. It answers from memory;
    /// contact points are not translated. A node for which it panics is skipped until the next look at the nodes.
    pub fn address_translator(self, translate: impl Fn(&Advertised<'_>) -> Address + Send + Sync + 'static) -> Self {
        self.translator(Translation(translate))
    }

    /// Dials nodes where a translator says, such as a [`TableTranslator`](crate::endpoint::TableTranslator) or a
    /// [`SubnetTranslator`](crate::endpoint::SubnetTranslator).
    pub fn translator(mut self, translator: impl AddressTranslator + 'static) -> Self {
        self.draft.address_translator = Some(Arc::new(translator));
        self
    }

    /// Reaches nodes through a proxy that finds them by the server name of the TLS hello; needs TLS. Several proxies
    /// serve one data centre each ([`SniProxy::for_datacenter`]). Without contact points, the proxies are those.
    pub fn sni_proxy(mut self, proxy: SniProxy) -> Self {
        self.draft.sni_proxies.push(proxy);
        self
    }

    /// Takes what a cloud's bundle says: its proxies, TLS, and, where they are not set already, credentials, keyspace and
    /// local data centre.
    #[cfg(feature = "cloud")]
    pub fn cloud(mut self, settings: crate::config::cloud::CloudSettings) -> Self {
        self.draft.sni_proxies.extend(settings.proxies);
        self.draft.tls = Some(settings.tls);
        self.draft.authenticator = self.draft.authenticator.or(settings.authenticator);
        self.draft.keyspace = self.draft.keyspace.or(settings.keyspace);
        self.draft.local_datacenter = self.draft.local_datacenter.or(settings.local_datacenter);
        self
    }

    /// Follows the client routes of a connection, by its id: ScyllaDB's private link. Several may be added; a node is
    /// reached by the first that has a route to it, and stays with that as long as the route exists.
    pub fn client_routes(mut self, connection_id: impl Into<Arc<str>>) -> Self {
        self.draft.client_routes.push(RouteConnection::new(connection_id));
        self
    }

    /// The same, dialling `host` (a name or an IP literal, no port) in place of the addresses in the table. Without
    /// contact points, such hosts are those, at port 9042.
    pub fn client_routes_via(mut self, connection_id: impl Into<Arc<str>>, host: &str) -> Self {
        match RouteConnection::via(connection_id, host) {
            Ok(connection) => self.draft.client_routes.push(connection),
            Err(error) => {
                self.error.get_or_insert_with(|| bad_host(host, &error));
            }
        }
        self
    }

    /// Reads client routes from another table than `system.client_routes`.
    pub fn client_routes_table(mut self, table: impl Into<String>) -> Self {
        self.draft.client_routes_table = table.into();
        self
    }

    /// Never dials a node without a client route at its own address; off by default.
    pub fn client_routes_proxy_only(mut self) -> Self {
        self.draft.client_routes_proxy_only = true;
        self
    }
}

fn bad_host(host: &str, error: &AddressError) -> ConfigError {
    ConfigError::new("advanced.client-routes.connections", host, format!("a host without a port ({error})"))
}
