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

    /// Reads a seed: `http://host:port` or `https://host:port` and nothing else; the port may be left out, and so may a final
    /// slash stand there.
    ///
    /// # Errors
    /// What is wrong, and what is allowed. A user, a path, a query or a fragment is refused, since it would have no effect.
    pub fn from_seed(text: &str) -> Result<Self, NodeError> {
        let node = text.parse()?;
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let extra = match &rest[authority.len()..] {
            _ if authority.contains('@') => Some("a user: credentials are given to the signer of requests"),
            "" | "/" => None,
            more if more.starts_with('#') => Some("a fragment"),
            more if more.starts_with('?') || more.starts_with("/?") => Some("a query"),
            _ => Some("a path"),
        };
        match extra {
            None => Ok(node),
            Some(extra) => Err(NodeError::new(text, Reason::Extra(extra))),
        }
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

/// Reads `http://host` or `https://host`, with a port or without; user, path, query and fragment are left out. See
/// [`from_seed`](Node::from_seed), which refuses them.
impl FromStr for Node {
    type Err = NodeError;

    fn from_str(text: &str) -> Result<Self, NodeError> {
        let fail = |reason| NodeError::new(text, reason);
        let (scheme, rest) = text.split_once("://").ok_or_else(|| fail(Reason::Scheme))?;
        let scheme = match scheme {
            _ if scheme.eq_ignore_ascii_case("http") => Scheme::Http,
            _ if scheme.eq_ignore_ascii_case("https") => Scheme::Https,
            _ => return Err(fail(Reason::Scheme)),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        if !host.starts_with('[') && host.matches(':').count() > 1 {
            return Err(fail(Reason::Bare));
        }
        let address = Address::parse(host, scheme.default_port()).map_err(|cause| fail(Reason::Host(cause)))?;
        Ok(Self::spelled(scheme, address, Some(without_password(text))))
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

/// `user:***@host` in place of what stands there: a password is never shown.
fn without_password(text: &str) -> String {
    let from = text.find("://").map_or(0, |at| at + 3);
    let to = text[from..].find(['/', '?', '#']).map_or(text.len(), |at| from + at);
    // A password that holds one of these is not valid there, but is none to be shown either.
    let to = text[to..].rfind('@').map_or(to, |at| to + at + 1);
    match (text[from..to].rfind('@'), text[from..to].find(':')) {
        (Some(at), Some(colon)) if colon < at => {
            format!("{}***{}", &text[..from + colon + 1], &text[from + at..])
        }
        _ => text.to_owned(),
    }
}

/// Text that names no node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeError {
    text: String,
    reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    Scheme,
    Host(AddressError),
    Bare,
    Extra(&'static str),
}

impl NodeError {
    fn new(text: &str, reason: Reason) -> Self {
        Self { text: without_password(text), reason }
    }

    /// The text that was refused; a password in it is left out.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, reason } = self;
        match reason {
            Reason::Scheme => write!(f, "{text:?} names no node: it begins with neither `http://` nor `https://`")?,
            Reason::Host(_) => write!(f, "{text:?} names no node: its host is no address")?,
            Reason::Bare => {
                write!(f, "{text:?} names no node: an IPv6 address stands in brackets, as `http://[::1]:8000`")?
            }
            Reason::Extra(what) => write!(f, "{text:?} cannot be a seed: it has {what}")?,
        }
        f.write_str("; write `http://host:port` or `https://host:port`")
    }
}

impl std::error::Error for NodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Reason::Host(cause) => Some(cause),
            _ => None,
        }
    }
}
