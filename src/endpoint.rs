//! Contact points and endpoints: who is meant, and where to dial.
//!
//! A [`ContactPoint`] is what the user wrote; an [`Endpoint`] is the identity of a server as the driver knows
//! it. Comparing, hashing and printing either never looks anything up.

mod contact_point;

use std::{
    fmt,
    hash::{Hash, Hasher},
    net::SocketAddr,
    sync::Arc,
};

use messina_layers::{Address, Dial, Name};

pub use self::contact_point::{ContactPoint, DEFAULT_PORT};

/// A server as the driver knows it: compared by value, not by what its name leads to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Endpoint {
    /// Dialled at its own address.
    Direct(Address),
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
}

impl Endpoint {
    /// The name whose certificate the server must show, where there is one.
    #[must_use]
    pub fn tls_name(&self) -> Option<Name> {
        match self {
            Self::Direct(address) => address.name().cloned(),
            Self::Custom(custom) => custom.tls_name().or_else(|| custom.address().name().cloned()),
        }
    }
}

impl Dial for Endpoint {
    fn address(&self) -> Address {
        match self {
            Self::Direct(address) => address.clone(),
            Self::Custom(custom) => custom.address(),
        }
    }
}

impl PartialEq for Endpoint {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Direct(a), Self::Direct(b)) => a == b,
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
            Self::Custom(custom) => custom.id().hash(state),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct(address) => address.fmt(f),
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
