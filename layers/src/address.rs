//! Where to dial: a name or a socket address, parsed once.
//!
//! An [`Address`] is a [`Name`] with a port or a socket address; there is no third state, so nothing
//! later has to ask whether some text was a name. Comparing, hashing and printing never look anything up.
//!
//! ```
//! use messina_layers::Address;
//!
//! let name = Address::parse("db.example.com", 9042)?;
//! assert_eq!(name.to_string(), "db.example.com:9042");
//! assert!(matches!(Address::parse("[2001:db8::1]:9043", 9042)?, Address::Socket(_)));
//! assert!(matches!(Address::parse("2001:db8::1", 9042)?, Address::Socket(_)));
//! # Ok::<(), messina_layers::AddressError>(())
//! ```

mod error;
mod parse;

use std::{
    fmt,
    hash::{Hash, Hasher},
    net::{IpAddr, SocketAddr, SocketAddrV6},
    str::FromStr,
    sync::Arc,
};

pub use self::error::AddressError;
use self::{
    error::Reason,
    parse::{check_port, digits, host_of, split_port},
};

/// What a target is dialled by: a name to resolve, or a socket address to use as it is.
// connect 22, 23: whether it is a name is its variant, never guessed. connect 103: equality has nothing to look up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A name, resolved anew at every connect, and the port wanted there.
    Name(Name, u16),
    /// A socket address; a literal is always this, never a name.
    Socket(SocketAddr),
}

impl Address {
    /// Parses `host`, `host:port`, an IP literal, or a bracketed literal with a port.
    ///
    /// `default_port` stands in where the text gives none. An IPv6 literal with a port needs brackets;
    /// a zone is a number (`fe80::1%7`), because looking an interface up by name can fail.
    ///
    /// # Errors
    /// An [`AddressError`] that quotes the text, says what is wrong and what is allowed.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, AddressError> {
        Self::parse_with(text, Some(default_port))
    }

    /// Makes an address from a host (name or literal, no port) and a port.
    ///
    /// # Errors
    /// As [`Address::parse`]; a port of 0 is refused.
    pub fn new(host: &str, port: u16) -> Result<Self, AddressError> {
        let fail = |reason| AddressError::new(host, reason);
        let port = check_port(port).map_err(fail)?;
        host_of(host, port).map_err(fail)
    }

    fn parse_with(text: &str, default_port: Option<u16>) -> Result<Self, AddressError> {
        let fail = |reason| AddressError::new(text, reason);
        let (host, port) = split_port(text).map_err(fail)?;
        let port = match (port, default_port) {
            (Some(port), _) => check_port(digits(port).ok_or_else(|| fail(Reason::Port))?).map_err(fail)?,
            (None, Some(port)) => check_port(port).map_err(fail)?,
            (None, None) => return Err(fail(Reason::NoPort)),
        };
        host_of(host, port).map_err(fail)
    }

    /// The port wanted.
    #[must_use]
    pub fn port(&self) -> u16 {
        match self {
            Self::Name(_, port) => *port,
            Self::Socket(addr) => addr.port(),
        }
    }

    /// The name, where there is one.
    #[must_use]
    pub fn name(&self) -> Option<&Name> {
        match self {
            Self::Name(name, _) => Some(name),
            Self::Socket(_) => None,
        }
    }

    /// The IP address, where it is already known; a name has none.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Name(..) => None,
            Self::Socket(addr) => Some(addr.ip()),
        }
    }

    /// The host as text: the name as written, or the literal without brackets.
    #[must_use]
    pub fn host(&self) -> String {
        match self {
            Self::Name(name, _) => name.as_str().to_owned(),
            Self::Socket(addr) => HostAddr::from(*addr).to_string(),
        }
    }

    /// The same host with another port.
    #[must_use]
    pub fn with_port(&self, port: u16) -> Self {
        match self {
            Self::Name(name, _) => Self::Name(name.clone(), port),
            Self::Socket(addr) => Self::Socket(HostAddr::from(*addr).with_port(port)),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name, port) => write!(f, "{name}:{port}"),
            Self::Socket(addr) => addr.fmt(f),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(addr: SocketAddr) -> Self {
        Self::Socket(addr)
    }
}

/// Needs a port in the text; see [`Address::parse`] for a default one.
impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Self::parse_with(text, None)
    }
}

/// A DNS name, as written; compared and hashed without regard to case.
#[derive(Clone)]
pub struct Name(Arc<str>);

impl Name {
    /// Checks a name: 1 to 253 bytes of labels of 1 to 63 letters, digits, `-` or `_`; a final dot is allowed.
    ///
    /// # Errors
    /// An [`AddressError`] if it is not a name; an IP literal is not a name.
    pub fn new(text: &str) -> Result<Self, AddressError> {
        match host_of(text, 1) {
            Ok(Address::Name(name, _)) => Ok(name),
            Ok(Address::Socket(_)) => Err(AddressError::new(text, Reason::Literal)),
            Err(reason) => Err(AddressError::new(text, reason)),
        }
    }

    /// The name as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in self.0.bytes() {
            state.write_u8(byte.to_ascii_lowercase());
        }
        state.write_u8(0xff);
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({:?})", &*self.0)
    }
}

impl FromStr for Name {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Self::new(text)
    }
}

/// An IP address with its zone, without a port: what a pin holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostAddr {
    ip: IpAddr,
    zone: u32,
}

impl HostAddr {
    /// An address with a zone (the scope id of a link-local IPv6 address; 0 is none).
    #[must_use]
    pub const fn new(ip: IpAddr, zone: u32) -> Self {
        match ip {
            IpAddr::V4(_) => Self { ip, zone: 0 },
            IpAddr::V6(_) => Self { ip, zone },
        }
    }

    /// The IP address.
    #[must_use]
    pub const fn ip(&self) -> IpAddr {
        self.ip
    }

    /// The zone, 0 where there is none.
    #[must_use]
    pub const fn zone(&self) -> u32 {
        self.zone
    }

    /// This host at a port.
    #[must_use]
    pub const fn with_port(&self, port: u16) -> SocketAddr {
        match self.ip {
            IpAddr::V4(ip) => SocketAddr::V4(std::net::SocketAddrV4::new(ip, port)),
            IpAddr::V6(ip) => SocketAddr::V6(SocketAddrV6::new(ip, port, 0, self.zone)),
        }
    }
}

impl fmt::Display for HostAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.zone {
            0 => self.ip.fmt(f),
            zone => write!(f, "{}%{zone}", self.ip),
        }
    }
}

impl From<IpAddr> for HostAddr {
    fn from(ip: IpAddr) -> Self {
        Self { ip, zone: 0 }
    }
}

/// Drops the port and IPv6 flow information.
impl From<SocketAddr> for HostAddr {
    fn from(addr: SocketAddr) -> Self {
        match addr {
            SocketAddr::V4(addr) => IpAddr::V4(*addr.ip()).into(),
            SocketAddr::V6(addr) => Self { ip: IpAddr::V6(*addr.ip()), zone: addr.scope_id() },
        }
    }
}
