//! How connections to nodes are made and kept.

use std::{fmt, time::Duration};

use messina_layers::{Address, BoxError, ConnectOptions, Name, Resolved, Resolver};
use tower::{ServiceExt, util::BoxCloneSyncService};

/// The most bytes of the head of an answer.
const MAX_HEAD: usize = 64 << 10;

/// A resolver behind one type: every address of a name.
pub type AddressResolver = BoxCloneSyncService<Address, Vec<Resolved>, BoxError>;

/// How connections to nodes are made and kept.
///
/// By default: names through hickory (the system's resolver without the feature `hickory`), at most 5 addresses of a name,
/// another one beside it after 250 ms, 3 s for TCP, 5 s for TLS, and no TLS settings, so that `https` nodes fail until some are given.
/// Connections are kept for 50 s without use, which is less than servers and translating routers commonly keep them.
#[derive(Clone)]
pub struct HttpOptions {
    pub(super) connect: ConnectOptions,
    pub(super) resolver: AddressResolver,
    pub(super) connect_timeout: Duration,
    pub(super) tls_timeout: Duration,
    #[cfg(feature = "rustls")]
    pub(super) tls: Option<messina_layers::TlsConfig>,
    pub(super) accepted: Vec<Name>,
    pub(super) idle_timeout: Duration,
    pub(super) max_idle: usize,
    pub(super) most: Option<usize>,
    pub(super) max_head: usize,
}

impl Default for HttpOptions {
    fn default() -> Self {
        let mut connect = ConnectOptions::default();
        connect.attempt_delay = Some(Duration::from_millis(250));
        connect.resolve_timeout = Some(Duration::from_secs(3));
        // A node that cannot be connected to is told of when its state changes.
        connect.quiet = true;
        Self {
            connect,
            resolver: default_resolver(),
            connect_timeout: Duration::from_secs(3),
            tls_timeout: Duration::from_secs(5),
            #[cfg(feature = "rustls")]
            tls: None,
            accepted: Vec::new(),
            idle_timeout: Duration::from_secs(50),
            max_idle: usize::MAX,
            most: None,
            max_head: MAX_HEAD,
        }
    }
}

impl HttpOptions {
    /// Asks this resolver, for requests and for discovery.
    #[must_use]
    pub fn with_resolver<R>(mut self, resolver: R) -> Self
    where
        R: Resolver<Future: Send + 'static, Response: Send> + Clone + Send + Sync + 'static,
    {
        self.resolver = boxed(resolver);
        self
    }

    /// Order, cap, seed, attempt delay and lookup limit of a connect.
    #[must_use]
    pub const fn with_connect(mut self, connect: ConnectOptions) -> Self {
        self.connect = connect;
        self
    }

    /// The longest that TCP may take for one address (3 s).
    #[must_use]
    pub const fn with_connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// The longest that TLS may take for one address (5 s).
    #[must_use]
    pub const fn with_tls_timeout(mut self, limit: Duration) -> Self {
        self.tls_timeout = limit;
        self
    }

    /// Whom to trust, and which certificate to show, at `https` nodes.
    #[cfg(feature = "rustls")]
    #[must_use]
    pub fn with_tls(mut self, tls: messina_layers::TlsConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// A name that a node's certificate may be valid for besides the node's own; several may be given.
    ///
    /// Nodes are listed by address. Where their certificates hold no addresses, this names what they hold, and is safer
    /// than no check at all.
    #[must_use]
    pub fn with_accepted_name(mut self, name: Name) -> Self {
        self.accepted.push(name);
        self
    }

    /// How long a connection is kept without use (50 s).
    #[must_use]
    pub const fn with_idle_timeout(mut self, limit: Duration) -> Self {
        self.idle_timeout = limit;
        self
    }

    /// How many unused connections to one node are kept (all).
    #[must_use]
    pub const fn with_max_idle(mut self, connections: usize) -> Self {
        self.max_idle = connections;
        self
    }

    /// How many connections to one node may be in use at a time (any number); 0 counts as 1.
    ///
    /// A request for which none is free waits, and goes to another node after the time that a node may say nothing,
    /// which is not held against this one. A connection is in use until the body of its answer is read or dropped.
    /// Beside them there may be as many unused ones, and such as are being opened.
    #[must_use]
    pub fn with_max_connections(mut self, connections: usize) -> Self {
        self.most = Some(connections.clamp(1, tokio::sync::Semaphore::MAX_PERMITS));
        self
    }

    /// Whether certificates may be valid for other names than those of the nodes.
    pub(in crate::alternator) const fn accepts_names(&self) -> bool {
        !self.accepted.is_empty()
    }

    pub(in crate::alternator) fn resolver(&self) -> AddressResolver {
        self.resolver.clone()
    }

    #[cfg(feature = "rustls")]
    pub(in crate::alternator) const fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    #[cfg(not(feature = "rustls"))]
    pub(in crate::alternator) const fn has_tls(&self) -> bool {
        false
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("HttpOptions");
        debug.field("connect", &self.connect).field("connect_timeout", &self.connect_timeout);
        debug.field("tls", &self.has_tls()).field("tls_timeout", &self.tls_timeout).field("accepted", &self.accepted);
        debug
            .field("idle_timeout", &self.idle_timeout)
            .field("max_idle", &self.max_idle)
            .field("max_connections", &self.most);
        debug.field("max_head", &self.max_head).finish_non_exhaustive()
    }
}

fn boxed<R>(resolver: R) -> AddressResolver
where
    R: Resolver<Future: Send + 'static, Response: Send> + Clone + Send + Sync + 'static,
{
    let list = |answer: R::Response| answer.into_iter().map(Into::into).collect();
    BoxCloneSyncService::new(resolver.map_response(list).map_err(Into::into))
}

#[cfg(feature = "hickory")]
fn default_resolver() -> AddressResolver {
    boxed(messina_layers::HickoryResolver::new())
}

#[cfg(not(feature = "hickory"))]
fn default_resolver() -> AddressResolver {
    boxed(messina_layers::SystemResolver::new())
}
