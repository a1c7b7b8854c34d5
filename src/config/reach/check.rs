//! The check of how nodes are reached.

use messina_layers::{Address, Name};

use super::{ClientRoutes, Reach};
use crate::{
    config::Draft,
    endpoint::{ContactPoint, DEFAULT_PORT, DEFAULT_SNI_PORT, SniProxy},
    error::ConfigError,
};

const CONNECTIONS: &str = "advanced.client-routes.connections";
const TABLE: &str = "advanced.client-routes.table-name";
const PROXY_ONLY: &str = "advanced.client-routes.proxy-only";
const SNI_PROXY: &str = "advanced.sni.proxy";
const SNI_DOMAIN: &str = "advanced.sni.node-domain";
const SNI_VERIFIED: &str = "advanced.sni.verified-name";

impl Draft {
    pub(in crate::config) fn checked_reach(&self, tls: bool) -> Result<Reach, ConfigError> {
        let proxies = self.sni_proxies()?;
        let routes = self.checked_routes()?;
        match (&self.address_translator, &proxies[..], routes) {
            (None, [], None) => Ok(Reach::Direct),
            (Some(translator), [], None) => Ok(Reach::Translated(translator.clone())),
            (None, [], Some(routes)) => Ok(Reach::ClientRoutes(routes)),
            (None, [first, ..], None) if !tls => Err(ConfigError::new(
                SNI_PROXY,
                first.proxy(),
                "a proxy only where TLS is on, since it finds nodes by the server name of the TLS hello",
            )),
            (None, [_, ..], None) => Ok(Reach::Sni(proxies)),
            (Some(_), _, Some(_)) => Err(ConfigError::new(
                CONNECTIONS,
                self.shown_connections(),
                "client routes only without an address translator: a node has either a route or a translated address",
            )),
            (_, [_, ..], Some(_)) => Err(ConfigError::new(
                CONNECTIONS,
                self.shown_connections(),
                "client routes only without an SNI proxy; leave out one of the two",
            )),
            (Some(_), [first, ..], None) => Err(ConfigError::new(
                SNI_PROXY,
                first.proxy(),
                "a proxy only without an address translator: behind it nodes are found by name, not by address",
            )),
        }
    }

    /// Contact points that follow from how nodes are reached, where none are given.
    pub(in crate::config) fn implied_contact_points(&self, reach: &Reach) -> Vec<ContactPoint> {
        if !self.contact_points.is_empty() || !self.endpoints.is_empty() {
            return Vec::new();
        }
        match reach {
            Reach::Sni(proxies) => {
                proxies.iter().flat_map(SniProxy::bootstrap).map(ContactPoint::from_endpoint).collect()
            }
            Reach::ClientRoutes(routes) => {
                let hosts = routes.connections.iter().filter_map(|connection| connection.host());
                hosts.map(|host| host.with_port(DEFAULT_PORT).into()).collect()
            }
            Reach::Direct | Reach::Translated(_) => Vec::new(),
        }
    }

    fn sni_proxies(&self) -> Result<Vec<SniProxy>, ConfigError> {
        let mut proxies = self.sni_proxies.clone();
        let (proxy, domain) = match (&self.sni_proxy, &self.sni_node_domain, &self.sni_verified_name) {
            (None, None, None) => return Ok(proxies),
            (Some(proxy), Some(domain), _) => (proxy, domain),
            (Some(proxy), None, _) => {
                let allowed = "a proxy only together with the domain of its nodes, `advanced.sni.node-domain`";
                return Err(ConfigError::new(SNI_PROXY, proxy, allowed));
            }
            (None, Some(domain), _) => {
                let allowed = "a domain only together with the proxy, `advanced.sni.proxy`";
                return Err(ConfigError::new(SNI_DOMAIN, domain, allowed));
            }
            (None, None, Some(name)) => {
                let allowed = "a name only together with the proxy, `advanced.sni.proxy`";
                return Err(ConfigError::new(SNI_VERIFIED, name, allowed));
            }
        };
        let address = Address::parse(proxy, DEFAULT_SNI_PORT)
            .map_err(|error| ConfigError::new(SNI_PROXY, proxy, format!("`host` or `host:port` ({error})")))?;
        let short =
            |error| ConfigError::new(SNI_DOMAIN, domain, format!("a DNS name before which a host id fits ({error})"));
        let mut parsed = SniProxy::new(address, Name::new(domain).map_err(short)?).map_err(short)?;
        if let Some(text) = &self.sni_verified_name {
            let name = Name::new(text)
                .map_err(|error| ConfigError::new(SNI_VERIFIED, text, format!("a DNS name ({error})")))?;
            parsed = parsed.verifying(name);
        }
        proxies.push(parsed);
        Ok(proxies)
    }

    fn checked_routes(&self) -> Result<Option<ClientRoutes>, ConfigError> {
        let table = self.client_routes_table.as_str();
        if self.client_routes.is_empty() {
            let only = "only together with `advanced.client-routes.connections`";
            if table != super::CLIENT_ROUTES_TABLE {
                return Err(ConfigError::new(TABLE, table, format!("a table {only}")));
            }
            if self.client_routes_proxy_only {
                return Err(ConfigError::new(PROXY_ONLY, true, format!("true {only}")));
            }
            return Ok(None);
        }
        let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !table.split_once('.').is_some_and(|(keyspace, table)| word(keyspace) && word(table)) {
            let allowed = "`keyspace.table`, of letters, digits and underscores";
            return Err(ConfigError::new(TABLE, table, allowed));
        }
        for (index, connection) in self.client_routes.iter().enumerate() {
            if connection.id().trim().is_empty() {
                return Err(ConfigError::new(CONNECTIONS, self.shown_connections(), "ids that are not blank"));
            }
            if self.client_routes[..index].iter().any(|before| before.id() == connection.id()) {
                let allowed = format!("each id once; {:?} is there twice", connection.id());
                return Err(ConfigError::new(CONNECTIONS, self.shown_connections(), allowed));
            }
        }
        Ok(Some(ClientRoutes {
            connections: self.client_routes.clone(),
            table: table.to_owned(),
            proxy_only: self.client_routes_proxy_only,
        }))
    }

    fn shown_connections(&self) -> String {
        self.client_routes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}
