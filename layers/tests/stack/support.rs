//! Names, addresses and stacks that the tests share.

mod capture;
mod resolver;
mod servers;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use messina_layers::{
    Address, AttemptError, Candidates, ConnectOptions, ConnectStack, FixedResolver, Name, Order, Pinned, Stage,
    connect_stack,
};

pub(crate) use self::{
    capture::Capture,
    resolver::{Answer, Scripted},
    servers::{Event, Servers, Step},
};

pub(crate) const PORT: u16 = 9042;

/// 10.0.0.n.
pub(crate) fn ip(n: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, n).into()
}

/// 10.0.0.n at the usual port.
pub(crate) fn addr(n: u8) -> SocketAddr {
    SocketAddr::new(ip(n), PORT)
}

/// What 10.0.0.n ends in.
pub(crate) fn number(addr: SocketAddr) -> u8 {
    match addr.ip() {
        IpAddr::V4(ip) => ip.octets()[3],
        IpAddr::V6(ip) => ip.octets()[15],
    }
}

pub(crate) fn name() -> Name {
    Name::new("db.test").unwrap()
}

pub(crate) fn db() -> Address {
    Address::Name(name(), PORT)
}

pub(crate) fn target() -> Pinned<Address> {
    Pinned::new(db())
}

/// Candidates 10.0.0.n for the usual target, without a resolver.
pub(crate) fn candidates(numbers: impl IntoIterator<Item = u8>) -> Candidates<Pinned<Address>> {
    Candidates::new(target(), numbers.into_iter().map(addr)).unwrap()
}

/// A table with one name.
pub(crate) fn table(numbers: impl IntoIterator<Item = u8>) -> FixedResolver {
    FixedResolver::new().with(name(), numbers.into_iter().map(ip))
}

/// In the resolver's order, sequential.
pub(crate) fn as_given() -> ConnectOptions {
    let mut options = ConnectOptions::default();
    options.order = Order::AsGiven;
    options
}

/// The whole upper half over scripted servers.
pub(crate) fn stack(
    servers: &Servers,
    numbers: impl IntoIterator<Item = u8>,
    options: ConnectOptions,
) -> ConnectStack<FixedResolver, Servers> {
    connect_stack(servers.clone(), table(numbers), options)
}

pub(crate) fn refused() -> AttemptError {
    AttemptError::new(Stage::TCP, std::io::Error::from(std::io::ErrorKind::ConnectionRefused))
}

pub(crate) const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}
