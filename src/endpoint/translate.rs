//! Translating the addresses that nodes advertise into those that clients can dial.

use std::{
    collections::HashMap,
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use messina_layers::{Address, AddressError};
use thiserror::Error;
use uuid::Uuid;

/// A node as its row in the system tables advertises it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advertised<'a> {
    /// The address for clients.
    pub address: SocketAddr,
    /// The host id.
    pub host_id: Uuid,
    /// The data centre, if the row tells.
    pub datacenter: Option<&'a str>,
    /// The rack, if the row tells.
    pub rack: Option<&'a str>,
}

impl<'a> Advertised<'a> {
    /// A node of which nothing else is known.
    #[must_use]
    pub const fn new(host_id: Uuid, address: SocketAddr) -> Self {
        Self { address, host_id, datacenter: None, rack: None }
    }

    /// With its place.
    #[must_use]
    pub const fn placed(mut self, datacenter: Option<&'a str>, rack: Option<&'a str>) -> Self {
        (self.datacenter, self.rack) = (datacenter, rack);
        self
    }
}

/// Says where a node is dialled, in place of the address that it advertises.
///
/// Called with every list of nodes, on the task that keeps it: answer from memory, without a lookup. A name may be
/// answered and stays one. Contact points are never translated: they are written by whoever knows the network.
///
/// ```
/// use messina::{Session, endpoint::Advertised, layers::Address};
///
/// let builder = Session::builder()
///     .contact_point("gateway.example.com")
///     .address_translator(|node: &Advertised<'_>| {
///         // One port of the gateway per node.
///         let port = 9000 + u16::from(node.address.ip().is_ipv6());
///         Address::new("gateway.example.com", port).unwrap_or(node.address.into())
///     });
/// # let _ = builder;
/// ```
pub trait AddressTranslator: fmt::Debug + Send + Sync {
    /// Where the node is dialled.
    fn translate(&self, node: &Advertised<'_>) -> Address;
}

/// A closure as a translator.
pub(crate) struct Translation<F>(pub(crate) F);

impl<F: Fn(&Advertised<'_>) -> Address + Send + Sync> AddressTranslator for Translation<F> {
    fn translate(&self, node: &Advertised<'_>) -> Address {
        (self.0)(node)
    }
}

impl<F> fmt::Debug for Translation<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Translation(closure)")
    }
}

impl<T: AddressTranslator + ?Sized> AddressTranslator for Arc<T> {
    fn translate(&self, node: &Advertised<'_>) -> Address {
        (**self).translate(node)
    }
}

/// Translates addresses by a table; one that is not in it stays as it is.
#[derive(Clone, Debug, Default)]
pub struct TableTranslator {
    table: HashMap<SocketAddr, Address>,
}

impl TableTranslator {
    /// A table of what is advertised and what is dialled in its place.
    #[must_use]
    pub fn new(table: impl IntoIterator<Item = (SocketAddr, Address)>) -> Self {
        Self { table: table.into_iter().collect() }
    }
}

impl AddressTranslator for TableTranslator {
    fn translate(&self, node: &Advertised<'_>) -> Address {
        self.table.get(&node.address).cloned().unwrap_or_else(|| node.address.into())
    }
}

/// Translates addresses by the network they are in; the narrowest one decides.
///
/// ```
/// use messina::endpoint::SubnetTranslator;
///
/// let translator = SubnetTranslator::new()
///     .subnet("10.1.0.0/16", "east.example.com:9042")?
///     .subnet("10.2.0.0/16", "west.example.com")?
///     .otherwise("rest.example.com")?;
/// # let _ = translator;
/// # Ok::<(), messina::endpoint::SubnetError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SubnetTranslator {
    /// The narrowest first.
    subnets: Vec<(Subnet, Target)>,
    otherwise: Option<Target>,
}

/// Where to dial; without a port, at the port that the node advertises.
#[derive(Clone, Debug)]
struct Target {
    address: Address,
    keeps_port: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Subnet {
    network: u128,
    bits: u8,
    is_ipv4: bool,
}

impl SubnetTranslator {
    /// Translates nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Dials `to` for addresses in `subnet`, such as `10.1.0.0/16` or `fd00::/8`. `to` is `host` or `host:port`; without a
    /// port, it is that of the node.
    ///
    /// # Errors
    /// If either is none.
    pub fn subnet(mut self, subnet: &str, to: &str) -> Result<Self, SubnetError> {
        let subnet = Subnet::parse(subnet)?;
        let target = Target::parse(to)?;
        self.subnets.retain(|(known, _)| *known != subnet);
        let place = self.subnets.partition_point(|(known, _)| known.bits >= subnet.bits);
        self.subnets.insert(place, (subnet, target));
        Ok(self)
    }

    /// Dials `to` for addresses in none of the subnets; without this they stay as they are.
    ///
    /// # Errors
    /// If `to` is no `host` or `host:port`.
    pub fn otherwise(mut self, to: &str) -> Result<Self, SubnetError> {
        self.otherwise = Some(Target::parse(to)?);
        Ok(self)
    }
}

impl AddressTranslator for SubnetTranslator {
    fn translate(&self, node: &Advertised<'_>) -> Address {
        let ip = node.address.ip().to_canonical();
        let within = self.subnets.iter().find(|(subnet, _)| subnet.contains(ip)).map(|(_, target)| target);
        match within.or(self.otherwise.as_ref()) {
            Some(Target { address, keeps_port: true }) => address.with_port(node.address.port()),
            Some(Target { address, keeps_port: false }) => address.clone(),
            None => node.address.into(),
        }
    }
}

impl Target {
    fn parse(text: &str) -> Result<Self, SubnetError> {
        // A host without a port is one with any port.
        match Address::new(text, 1) {
            Ok(address) => Ok(Self { address, keeps_port: true }),
            Err(_) => Ok(Self { address: text.parse().map_err(SubnetError::Target)?, keeps_port: false }),
        }
    }
}

impl Subnet {
    fn parse(text: &str) -> Result<Self, SubnetError> {
        let fail = || SubnetError::Subnet(text.to_owned());
        let (ip, bits) = text.split_once('/').ok_or_else(fail)?;
        let ip = ip.parse::<IpAddr>().map_err(|_| fail())?;
        let most = if ip.is_ipv4() { 32 } else { 128 };
        let bits = bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(fail)?;
        let subnet = Self { network: 0, bits, is_ipv4: ip.is_ipv4() };
        Ok(Self { network: subnet.masked(ip), ..subnet })
    }

    fn contains(&self, ip: IpAddr) -> bool {
        ip.is_ipv4() == self.is_ipv4 && self.masked(ip) == self.network
    }

    fn masked(&self, ip: IpAddr) -> u128 {
        let (value, width) = match ip {
            IpAddr::V4(ip) => (u128::from(u32::from(ip)), 32),
            IpAddr::V6(ip) => (u128::from(ip), 128),
        };
        let rest = width - u32::from(self.bits);
        value.checked_shr(rest).unwrap_or(0)
    }
}

/// A rule of a [`SubnetTranslator`] that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SubnetError {
    /// The subnet.
    #[error("{0:?} is no subnet; write `10.1.0.0/16` or `fd00::/8`")]
    Subnet(String),
    /// Where to dial.
    #[error("addresses of a subnet cannot be dialled there")]
    Target(#[source] AddressError),
}
