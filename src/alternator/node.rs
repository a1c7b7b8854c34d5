//! One node of the cluster as an HTTP endpoint, with the one spelling by which it is compared.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    net::SocketAddr,
    str::FromStr,
    sync::Arc,
};

use messina_layers::{Address, AddressError};

/// How a node is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// The scheme as an URL writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that an URL leaves out: 80 or 443.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A node: scheme, host and port. Cheap to clone.
///
/// Two nodes are equal, and ordered, by their canonical endpoint: `scheme://host`, lower case, the port only if
/// it is not the scheme's own, an IPv6 address in brackets. The text a node was made of is kept for display.
///
/// ```
/// use messina::alternator::node::Node;
///
/// let node: Node = "HTTP://Db.Example.com:80/path".parse()?;
/// assert_eq!(node.canonical(), "http://db.example.com");
/// assert_eq!(node, "http://db.example.com".parse()?);
/// # Ok::<(), messina::alternator::node::NodeError>(())
/// ```
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    scheme: Scheme,
    address: Address,
    canonical: String,
    spelling: Option<String>,
}

impl Node {
    /// The node at an address.
    #[must_use]
    pub fn new(scheme: Scheme, address: Address) -> Self {
        Self::spelled(scheme, address, None)
    }

    fn spelled(scheme: Scheme, address: Address, spelling: Option<String>) -> Self {
        let host = match &address {
            Address::Name(name, _) => name.as_str().to_ascii_lowercase(),
            Address::Socket(SocketAddr::V6(_)) => format!("[{}]", address.host()),
            Address::Socket(SocketAddr::V4(_)) => address.host(),
        };
        let canonical = if address.port() == scheme.default_port() {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{host}:{}", address.port())
        };
        let spelling = spelling.filter(|text| *text != canonical);
        Self(Arc::new(Inner { scheme, address, canonical, spelling }))
    }

    /// How the node is spoken to.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.0.scheme
    }

    /// The name or socket address to dial.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.0.address
    }

    /// The spelling by which nodes are compared.
    #[must_use]
    pub fn canonical(&self) -> &str {
        &self.0.canonical
    }
}

/// Reads `http://host` or `https://host`, with a port or without; user, path, query and fragment are left out.
impl FromStr for Node {
    type Err = NodeError;

    fn from_str(text: &str) -> Result<Self, NodeError> {
        let fail = |cause| NodeError { text: text.to_owned(), cause };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| fail(None))?;
        let scheme = match scheme {
            _ if scheme.eq_ignore_ascii_case("http") => Scheme::Http,
            _ if scheme.eq_ignore_ascii_case("https") => Scheme::Https,
            _ => return Err(fail(None)),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let address = Address::parse(host, scheme.default_port()).map_err(|cause| fail(Some(cause)))?;
        Ok(Self::spelled(scheme, address, Some(text.to_owned())))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Byte by byte, as the clients of other languages do: `10.0.0.10:8000` stands before `10.0.0.1:8000`.
impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        self.canonical().cmp(other.canonical())
    }
}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical().hash(state);
    }
}

/// The text that the node was made of.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.spelling.as_deref().unwrap_or(&self.0.canonical))
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.canonical())
    }
}

/// Text that names no node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeError {
    text: String,
    cause: Option<AddressError>,
}

impl NodeError {
    /// The text that was refused.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, cause } = self;
        match cause {
            None => write!(f, "{text:?} is no node; write `http://host:port` or `https://host:port`"),
            Some(_) => write!(f, "the host of {text:?} is no address"),
        }
    }
}

impl std::error::Error for NodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}
