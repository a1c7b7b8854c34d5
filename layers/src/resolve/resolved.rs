//! What a resolver answers.

use std::net::SocketAddr;

use crate::address::HostAddr;

/// An address as a resolver answers it; without a port, the one wanted by the target is dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resolved {
    host: HostAddr,
    port: Option<u16>,
}

impl Resolved {
    /// The socket address to dial for a target that wants `port`.
    #[must_use]
    pub fn socket(self, port: u16) -> SocketAddr {
        self.host.with_port(self.port.unwrap_or(port))
    }
}

impl From<HostAddr> for Resolved {
    fn from(host: HostAddr) -> Self {
        Self { host, port: None }
    }
}

impl From<std::net::IpAddr> for Resolved {
    fn from(ip: std::net::IpAddr) -> Self {
        HostAddr::from(ip).into()
    }
}

impl From<std::net::Ipv4Addr> for Resolved {
    fn from(ip: std::net::Ipv4Addr) -> Self {
        std::net::IpAddr::from(ip).into()
    }
}

impl From<std::net::Ipv6Addr> for Resolved {
    fn from(ip: std::net::Ipv6Addr) -> Self {
        std::net::IpAddr::from(ip).into()
    }
}

/// A port of 0 stands for the one wanted, as in hyper's convention.
impl From<SocketAddr> for Resolved {
    fn from(addr: SocketAddr) -> Self {
        Self { host: addr.into(), port: Some(addr.port()).filter(|port| *port != 0) }
    }
}
