//! What the user wrote.

use std::{fmt, net::SocketAddr};

use messina_layers::{Address, AddressError};

use super::Endpoint;

/// The port of CQL, where a contact point names none.
pub const DEFAULT_PORT: u16 = 9042;

/// Where to look for the cluster first: a name stays a name and is expanded at every connect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContactPoint {
    endpoint: Endpoint,
}

impl ContactPoint {
    /// Parses `host`, `host:port`, an IP literal, or `[ipv6]:port`; the port is 9042 unless given.
    ///
    /// # Errors
    /// If it is none of these; the error quotes the text and says what is allowed.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        Ok(Self { endpoint: Address::parse(text, DEFAULT_PORT)?.into() })
    }

    /// A contact point of the application's own kind.
    #[must_use]
    pub fn from_endpoint(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    /// The endpoint it stands for.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// A socket address is used as it is.
impl From<SocketAddr> for ContactPoint {
    fn from(addr: SocketAddr) -> Self {
        Self { endpoint: addr.into() }
    }
}

impl From<Address> for ContactPoint {
    fn from(address: Address) -> Self {
        Self { endpoint: address.into() }
    }
}

impl fmt::Display for ContactPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)
    }
}
