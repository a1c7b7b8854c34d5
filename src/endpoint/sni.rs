//! Nodes behind a proxy that picks them by the server name of the TLS hello.

use std::fmt;

use messina_layers::{Address, AddressError, Name};
use uuid::Uuid;

use super::Endpoint;

/// The port of a proxy, where none is given.
pub const DEFAULT_SNI_PORT: u16 = 443;

/// A node behind an SNI proxy: where the proxy is, and by which server name it knows the node.
///
/// A proxy's name stays a name: it is expanded at every connect, all of its addresses are candidates, and none is
/// kept for the next connect. An IP literal stays what it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SniEndpoint {
    proxy: Address,
    server_name: Name,
    verified: Verified,
}

/// What a certificate must be valid for behind a proxy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Verified {
    /// The server name that is sent.
    ServerName,
    /// The proxy's own name, or its address where it has none.
    Proxy,
    /// Always this.
    Fixed(Name),
}

impl SniEndpoint {
    /// The server that `proxy` knows by `server_name`, whose certificate must be valid for that name.
    #[must_use]
    pub fn new(proxy: Address, server_name: Name) -> Self {
        Self { proxy, server_name, verified: Verified::ServerName }
    }

    /// Where the proxy is.
    #[must_use]
    pub fn proxy(&self) -> &Address {
        &self.proxy
    }

    /// The name sent in the TLS hello.
    #[must_use]
    pub fn server_name(&self) -> &Name {
        &self.server_name
    }

    /// The name that the certificate must be valid for; `None` is the address that is dialled.
    pub(super) fn verified(&self) -> Option<Name> {
        match &self.verified {
            Verified::ServerName => Some(self.server_name.clone()),
            Verified::Proxy => self.proxy.name().cloned(),
            Verified::Fixed(name) => Some(name.clone()),
        }
    }
}

impl fmt::Display for SniEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} via {}", self.server_name, self.proxy)
    }
}

/// An SNI proxy in front of a cluster, or of one of its data centres.
///
/// A node's server name is its host id before the node domain: `6f2e0c61-..-1b7d.cluster.example.com`. The node domain
/// alone leads to any node, and is used for that only: as the contact point, never for a node whose host id is known.
///
/// ```
/// use messina::endpoint::SniProxy;
///
/// let proxy = SniProxy::parse("proxy.example.com:9142", "cluster.example.com")?;
/// assert_eq!(proxy.bootstrap()[0].to_string(), "cluster.example.com via proxy.example.com:9142");
/// # Ok::<(), messina::layers::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SniProxy {
    proxy: Address,
    domain: Option<Name>,
    bootstrap: Vec<Name>,
    verified: Verified,
    datacenter: Option<String>,
}

impl SniProxy {
    /// A proxy for nodes with names in `node_domain`.
    ///
    /// # Errors
    /// If the domain is so long that a host id before it makes no name any more.
    pub fn new(proxy: Address, node_domain: Name) -> Result<Self, AddressError> {
        // Every host id is equally long.
        server_name(Uuid::nil(), Some(&node_domain))?;
        let bootstrap = vec![node_domain.clone()];
        Ok(Self { proxy, domain: Some(node_domain), bootstrap, verified: Verified::ServerName, datacenter: None })
    }

    /// The same from text; the proxy's port is 443 unless given.
    ///
    /// # Errors
    /// If the proxy is no address or the domain no name.
    pub fn parse(proxy: &str, node_domain: &str) -> Result<Self, AddressError> {
        Self::new(Address::parse(proxy, DEFAULT_SNI_PORT)?, Name::new(node_domain)?)
    }

    /// A proxy that knows a node by its host id alone; `contact_points` are the names of the nodes to begin with.
    ///
    /// Server names without a domain are nothing that a certificate is made out for, so the proxy's own name is verified.
    #[must_use]
    pub fn with_bare_host_ids(proxy: Address, contact_points: Vec<Name>) -> Self {
        Self { proxy, domain: None, bootstrap: contact_points, verified: Verified::Proxy, datacenter: None }
    }

    /// Serves the nodes of this data centre only.
    #[must_use]
    pub fn for_datacenter(mut self, name: impl Into<String>) -> Self {
        self.datacenter = Some(name.into());
        self
    }

    /// Verifies certificates for this name, in place of the server name that is sent.
    #[must_use]
    pub fn verifying(mut self, name: Name) -> Self {
        self.verified = Verified::Fixed(name);
        self
    }

    /// Verifies certificates for the proxy's own name, or its address where it has none: for a proxy that ends TLS.
    #[must_use]
    pub fn verifying_the_proxy(mut self) -> Self {
        self.verified = Verified::Proxy;
        self
    }

    /// Where it is.
    #[must_use]
    pub fn proxy(&self) -> &Address {
        &self.proxy
    }

    /// The data centre whose nodes it serves; `None` is all.
    #[must_use]
    pub fn datacenter(&self) -> Option<&str> {
        self.datacenter.as_deref()
    }

    /// Endpoints that lead to some node, as long as no host id is known.
    #[must_use]
    pub fn bootstrap(&self) -> Vec<Endpoint> {
        self.bootstrap.iter().map(|name| self.endpoint(name.clone())).collect()
    }

    /// The endpoint of a node.
    #[must_use]
    pub fn node(&self, host_id: Uuid) -> Endpoint {
        match server_name(host_id, self.domain.as_ref()) {
            Ok(name) => self.endpoint(name),
            Err(error) => unreachable!("the domain was checked with a host id before it: {error}"),
        }
    }

    fn endpoint(&self, server_name: Name) -> Endpoint {
        Endpoint::Sni(SniEndpoint { proxy: self.proxy.clone(), server_name, verified: self.verified.clone() })
    }
}

fn server_name(host_id: Uuid, domain: Option<&Name>) -> Result<Name, AddressError> {
    match domain {
        Some(domain) => Name::new(&format!("{host_id}.{domain}")),
        None => Name::new(&host_id.to_string()),
    }
}
