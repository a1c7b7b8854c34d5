//! Contact points and endpoints: who is meant, and where to dial.
//!
//! A [`ContactPoint`] is what the user wrote; an [`Endpoint`] is the identity of a server as the driver knows
//! it. Comparing, hashing and printing either never looks anything up.

mod contact_point;
mod routes;
mod sni;
mod translate;

use std::{
    fmt,
    hash::{Hash, Hasher},
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use messina_layers::{Address, Dial, Name, error::BoxError};

pub(crate) use self::translate::Translation;
pub use self::{
    contact_point::{ContactPoint, DEFAULT_PORT},
    routes::{
        Covered, Merged, NoRoute, RouteConnection, RouteEndpoint, RouteKey, RouteRead, RouteRow, RouteTable, Routes,
        UnusableRoute,
    },
    sni::{DEFAULT_SNI_PORT, SniEndpoint, SniProxy},
    translate::{AddressTranslator, Advertised, SubnetError, SubnetTranslator, TableTranslator},
};

/// A server as the driver knows it: compared by value, not by what its name leads to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Endpoint {
    /// Dialled at its own address.
    Direct(Address),
    /// Behind a proxy that picks nodes by server name.
    Sni(SniEndpoint),
    /// Reached by its client route of the moment.
    ClientRoute(RouteEndpoint),
    /// Brought by the application.
    Custom(Arc<dyn CustomEndpoint>),
}

/// An endpoint of the application's own, for networks that the driver does not know.
///
/// Two are the same if their [`id`](Self::id)s are. Return the address as it is configured: a name is resolved
/// by the connect stack, so an IP address may be missing.
pub trait CustomEndpoint: fmt::Debug + Send + Sync {
    /// What tells this endpoint from others; shown in logs and metrics.
    fn id(&self) -> &str;

    /// Where to dial. Called at every connect; no lookup, no I/O.
    fn address(&self) -> Address;

    /// The name whose certificate the server must show; `None` means the address's own name.
    fn tls_name(&self) -> Option<Name> {
        None
    }

    /// The name sent in the TLS hello; `None` means the one that is verified.
    fn server_name(&self) -> Option<Name> {
        None
    }
}

impl Endpoint {
    /// The name whose certificate the server must show, where there is one.
    #[must_use]
    pub fn tls_name(&self) -> Option<Name> {
        match self {
            Self::Direct(address) => address.name().cloned(),
            Self::Sni(sni) => sni.verified(),
            Self::ClientRoute(route) => route.address().name().cloned(),
            Self::Custom(custom) => custom.tls_name().or_else(|| custom.address().name().cloned()),
        }
    }

    /// The name sent in the TLS hello, where there is one: it need not be the one that is verified.
    #[must_use]
    pub fn server_name(&self) -> Option<Name> {
        match self {
            Self::Sni(sni) => Some(sni.server_name().clone()),
            Self::Custom(custom) => custom.server_name().or_else(|| self.tls_name()),
            Self::Direct(_) | Self::ClientRoute(_) => self.tls_name(),
        }
    }

    /// The host that is dialled, as text: a name as it was written, or a literal. Nothing is looked up.
    #[must_use]
    pub fn host(&self) -> String {
        self.address().host()
    }

    /// The IP address that is dialled, where it is known before a lookup; a name has none.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.address().ip()
    }

    /// Whether the address that answered is kept for the next connect. Proxied and routed nodes are expanded afresh on
    /// every one: proxies share the load, and a dead record or an old route costs nothing.
    #[must_use]
    pub fn keeps_pin(&self) -> bool {
        matches!(self, Self::Direct(_))
    }

    /// What may change from connect to connect is looked up now, and holds for this one.
    pub(crate) fn settle(&mut self) -> Result<(), BoxError> {
        match self {
            Self::ClientRoute(route) => route.settle(),
            Self::Direct(_) | Self::Sni(_) | Self::Custom(_) => Ok(()),
        }
    }

    /// Undoes [`settle`](Self::settle).
    pub(crate) fn unsettle(&mut self) {
        if let Self::ClientRoute(route) = self {
            route.unsettle();
        }
    }
}

impl Dial for Endpoint {
    fn address(&self) -> Address {
        match self {
            Self::Direct(address) => address.clone(),
            Self::Sni(sni) => sni.proxy().clone(),
            Self::ClientRoute(route) => route.address(),
            Self::Custom(custom) => custom.address(),
        }
    }
}

// connect D13: by value alone, so that a name and the address it leads to are two endpoints; nodes are told apart by
// host id.
impl PartialEq for Endpoint {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Direct(a), Self::Direct(b)) => a == b,
            (Self::Sni(a), Self::Sni(b)) => a == b,
            (Self::ClientRoute(a), Self::ClientRoute(b)) => a == b,
            (Self::Custom(a), Self::Custom(b)) => a.id() == b.id(),
            _ => false,
        }
    }
}

impl Eq for Endpoint {}

impl Hash for Endpoint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Direct(address) => address.hash(state),
            Self::Sni(sni) => sni.hash(state),
            Self::ClientRoute(route) => route.hash(state),
            Self::Custom(custom) => custom.id().hash(state),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct(address) => address.fmt(f),
            Self::Sni(sni) => sni.fmt(f),
            Self::ClientRoute(route) => route.fmt(f),
            Self::Custom(custom) => f.write_str(custom.id()),
        }
    }
}

impl From<Address> for Endpoint {
    fn from(address: Address) -> Self {
        Self::Direct(address)
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(addr: SocketAddr) -> Self {
        Self::Direct(addr.into())
    }
}
