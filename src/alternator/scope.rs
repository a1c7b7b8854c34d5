//! Which part of the cluster requests may go to.

use std::{fmt, sync::Arc};

/// The whole cluster, a data centre, or a rack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Cluster,
    DataCenter(Arc<str>),
    Rack(Arc<str>, Arc<str>),
}

impl Scope {
    /// All nodes.
    #[must_use]
    pub const fn cluster() -> Self {
        Self(Kind::Cluster)
    }

    /// The nodes of a data centre.
    ///
    /// # Errors
    /// If the name is empty: that would silently mean another scope.
    pub fn data_center(name: &str) -> Result<Self, ScopeError> {
        Ok(Self(Kind::DataCenter(named(name, "data centre")?)))
    }

    /// The nodes of a rack of a data centre.
    ///
    /// # Errors
    /// If one of the names is empty.
    pub fn rack(data_center: &str, rack: &str) -> Result<Self, ScopeError> {
        Ok(Self(Kind::Rack(named(data_center, "data centre")?, named(rack, "rack")?)))
    }

    /// Whether this is the whole cluster.
    #[must_use]
    pub const fn is_cluster(&self) -> bool {
        matches!(self.0, Kind::Cluster)
    }

    /// The path and query to ask a node for.
    ///
    /// ```
    /// use messina::alternator::scope::Scope;
    ///
    /// assert_eq!(Scope::rack("dc 1", "1/blue")?.path(), "/localnodes?dc=dc%201&rack=1%2Fblue");
    /// # Ok::<(), messina::alternator::scope::ScopeError>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> String {
        match &self.0 {
            Kind::Cluster => "/localnodes".to_owned(),
            Kind::DataCenter(dc) => format!("/localnodes?dc={}", Encoded(dc)),
            Kind::Rack(dc, rack) => format!("/localnodes?dc={}&rack={}", Encoded(dc), Encoded(rack)),
        }
    }

    /// The scope in which key affinity is decided: a rack's data centre, since each rack would choose another node.
    #[must_use]
    pub fn for_affinity(&self) -> Self {
        match &self.0 {
            Kind::Rack(dc, _) => Self(Kind::DataCenter(Arc::clone(dc))),
            _ => self.clone(),
        }
    }
}

fn named(name: &str, what: &'static str) -> Result<Arc<str>, ScopeError> {
    if name.is_empty() { Err(ScopeError::Empty(what)) } else { Ok(name.into()) }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Cluster => f.write_str("the cluster"),
            Kind::DataCenter(dc) => write!(f, "data centre {dc:?}"),
            Kind::Rack(dc, rack) => write!(f, "rack {rack:?} of data centre {dc:?}"),
        }
    }
}

/// Text in which everything but letters, digits and `-._~` is written as `%XX`.
struct Encoded<'a>(&'a str);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    write!(f, "{}", char::from(byte))?
                }
                _ => write!(f, "%{byte:02X}")?,
            }
        }
        Ok(())
    }
}

/// The most scopes of a chain.
const MAX_SCOPES: usize = 64;

/// Scopes in the order in which they are tried, in every cycle from the first on.
///
/// A chain without the cluster is strict: no request leaves its scopes, whatever happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeChain(Vec<Scope>);

impl Default for ScopeChain {
    /// The whole cluster.
    fn default() -> Self {
        Self::only(Scope::cluster())
    }
}

impl ScopeChain {
    /// One scope and no other.
    #[must_use]
    pub fn only(scope: Scope) -> Self {
        Self(vec![scope])
    }

    /// Falls back to `scope` where those before it have no node.
    ///
    /// # Errors
    /// If the chain has that scope already, has the cluster before it, or would have more than 64.
    pub fn then(mut self, scope: Scope) -> Result<Self, ScopeError> {
        if self.0.contains(&scope) {
            return Err(ScopeError::Twice(scope));
        }
        if self.allows_cluster() {
            return Err(ScopeError::AfterCluster(scope));
        }
        if self.0.len() == MAX_SCOPES {
            return Err(ScopeError::TooMany);
        }
        self.0.push(scope);
        Ok(self)
    }

    /// The scopes in their order.
    #[must_use]
    pub fn scopes(&self) -> &[Scope] {
        &self.0
    }

    /// Whether requests may, in the end, go to any node. If not, the chain is strict.
    #[must_use]
    pub fn allows_cluster(&self) -> bool {
        self.0.iter().any(Scope::is_cluster)
    }

    /// The chain in which key affinity is decided, see [`Scope::for_affinity`].
    #[must_use]
    pub fn for_affinity(&self) -> Self {
        let mut wide: Vec<Scope> = Vec::new();
        for scope in self.0.iter().map(Scope::for_affinity) {
            if !wide.contains(&scope) {
                wide.push(scope);
            }
        }
        Self(wide)
    }
}

/// A scope or a chain that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopeError {
    /// An empty name, and of what.
    Empty(&'static str),
    /// The chain has this scope already.
    Twice(Scope),
    /// This scope comes after the cluster, so it could never be reached.
    AfterCluster(Scope),
    /// More than 64 scopes.
    TooMany,
}

impl fmt::Display for ScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(what) => write!(f, "the name of the {what} is empty"),
            Self::Twice(scope) => write!(f, "{scope} is twice in the chain of scopes"),
            Self::AfterCluster(scope) => write!(f, "{scope} comes after the cluster, where it would never be tried"),
            Self::TooMany => write!(f, "a chain of scopes has at most {MAX_SCOPES}"),
        }
    }
}

impl std::error::Error for ScopeError {}

/// What to ask for a rack that nobody has, see [`Filters::of`].
pub(super) const fn impossible_rack() -> &'static str {
    "/localnodes?rack=messina-no-such-rack"
}

/// Whether a node knows the filters `dc` and `rack`: older ones answer as if they were not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filters {
    /// It filters.
    Known,
    /// It answers the same to a rack that cannot be: its answer to a data centre or rack says nothing.
    Ignored,
    /// It lists no node at all, so nothing can be said.
    Unclear,
}

impl Filters {
    /// Decides by how many nodes it lists, asked plainly and asked for a rack that cannot be.
    #[must_use]
    pub const fn of(plain: usize, impossible_rack: usize) -> Self {
        match plain {
            0 => Self::Unclear,
            _ if plain == impossible_rack => Self::Ignored,
            _ => Self::Known,
        }
    }
}
