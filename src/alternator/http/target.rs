//! Where a connection leads: a node, and which of its addresses.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use http::{Uri, uri::Authority};
use messina_layers::{Accept, Address, Dial, HostAddr, LocalBind, Name, ServerIdentity, TlsIdentity};

use crate::alternator::{
    discovery::Candidate,
    node::{Node, NodeError, Scheme},
};

/// A node to connect to: what a connect stack for Alternator is called with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    node: Node,
    dial: Option<SocketAddr>,
    accept: Vec<Name>,
}

impl Target {
    /// The node that an URI names.
    ///
    /// # Errors
    /// If it names none: no scheme, or a host that is no address.
    pub fn from_uri(uri: &Uri) -> Result<Self, TargetError> {
        let text = |uri: &Uri| format!("{}://{}", uri.scheme_str().unwrap_or_default(), host_and_port(uri));
        let node = text(uri).parse().map_err(TargetError)?;
        let dial = uri.authority().and_then(dialled);
        Ok(Self { node, dial, accept: Vec::new() })
    }

    /// Names that a certificate may be valid for instead of the node's own.
    #[must_use]
    pub(super) fn accepting(mut self, names: &[Name]) -> Self {
        self.accept = names.to_vec();
        self
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }
}

impl Dial for Target {
    fn address(&self) -> Address {
        self.dial.map_or_else(|| self.node.address().clone(), Address::Socket)
    }
}

impl ServerIdentity for Target {
    fn tls(&self) -> Option<TlsIdentity> {
        if self.node.scheme() == Scheme::Http {
            return None;
        }
        let own = self.node.address().name().cloned();
        let sni = own.clone();
        let accept = match own {
            _ if !self.accept.is_empty() => Accept::Names(self.accept.iter().cloned().chain(own).collect()),
            Some(name) => Accept::Names(vec![name]),
            None => Accept::Dialled,
        };
        Some(TlsIdentity { sni, accept, ..TlsIdentity::default() })
    }
}

impl LocalBind for Target {}

fn host_and_port(uri: &Uri) -> &str {
    let authority = uri.authority().map(Authority::as_str).unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// The URI of a candidate's root. The address to dial stands where an URL has the user, so that an HTTP client keeps
/// connections to each address of a name apart.
pub(in crate::alternator) fn authority_of(candidate: &Candidate) -> String {
    let host = host_of(&candidate.node);
    let zoned = match candidate.node.address() {
        Address::Socket(addr @ SocketAddr::V6(v6)) if v6.scope_id() != 0 => Some(*addr),
        _ => None,
    };
    // An URI has no place for a zone either.
    match candidate.dial.or(zoned) {
        Some(SocketAddr::V4(addr)) => format!("v4-{:08x}-{}@{host}", u32::from(*addr.ip()), addr.port()),
        Some(SocketAddr::V6(addr)) => {
            format!("v6-{:032x}-{}-{}@{host}", u128::from(*addr.ip()), addr.port(), addr.scope_id())
        }
        None => host,
    }
}

/// `host:port` as `Host` and an URI have it; no zone.
pub(in crate::alternator) fn host_of(node: &Node) -> String {
    let port = node.address().port();
    match node.address() {
        Address::Name(name, _) => format!("{}:{port}", name.as_str()),
        Address::Socket(addr) => format!("{}", SocketAddr::new(addr.ip(), port)),
    }
}

fn dialled(authority: &Authority) -> Option<SocketAddr> {
    let (user, _) = authority.as_str().rsplit_once('@')?;
    let mut parts = user.split('-');
    let (kind, ip, port) = (parts.next()?, parts.next()?, parts.next()?.parse().ok()?);
    match kind {
        "v4" => Some(SocketAddr::new(IpAddr::V4(u32::from_str_radix(ip, 16).ok()?.into()), port)),
        "v6" => {
            let ip = IpAddr::V6(u128::from_str_radix(ip, 16).ok()?.into());
            let zone = parts.next()?.parse().ok()?;
            Some(HostAddr::new(ip, zone).with_port(port))
        }
        _ => None,
    }
}

/// An URI that names no node.
#[derive(Clone, Debug)]
pub struct TargetError(NodeError);

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the URI of the request names no node")
    }
}

impl std::error::Error for TargetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}
