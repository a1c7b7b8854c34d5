//! Where the nodes of a cluster are.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::testkit::door::{Door, fresh_loopback_ip};
use crate::testkit::{Network, NodeFacts};

/// Where the nodes are.
pub(super) enum Places {
    /// 127.0.0.1, each with a free port of its own.
    Ports,
    /// Loopback addresses of their own, one port for all; 0 is a free one.
    Addresses(u16),
    /// Exactly here.
    Given(Vec<SocketAddr>),
    /// Pipes inside the process.
    Network(Network, Vec<SocketAddr>),
}

impl Places {
    /// An address for each node, and its port if it has one.
    pub(super) fn doors(&self, nodes: usize) -> io::Result<Vec<(SocketAddr, Vec<Door>)>> {
        let bind = |addr: SocketAddr| Door::bind(addr).map(|door| (door.addr(), vec![door]));
        match self {
            Self::Ports => (0..nodes).map(|_| bind((Ipv4Addr::LOCALHOST, 0).into())).collect(),
            Self::Addresses(port) => bind_all(nodes, *port),
            Self::Given(addresses) => addresses.iter().copied().map(bind).collect(),
            Self::Network(network, given) => {
                let mut given = given.clone();
                if given.is_empty() {
                    given = network.fresh_addresses(nodes);
                }
                Ok(given.into_iter().map(|addr| (addr, Vec::new())).collect())
            }
        }
    }
}

/// Opens a second port where the node is to have one, and lets the node tell it.
pub(super) fn open_shard_aware_port(addr: SocketAddr, doors: &mut Vec<Door>, facts: &mut NodeFacts) -> io::Result<()> {
    let tls = facts.tls.is_some();
    if let Some(scylla) = facts.scylla.as_mut().filter(|scylla| scylla.shard_aware) {
        let (told, usual) = match tls {
            true => (&mut scylla.shard_aware_port_ssl, 19_142),
            false => (&mut scylla.shard_aware_port, 19_042),
        };
        if doors.is_empty() {
            *told = Some(usual);
            return Ok(());
        }
        let door = Door::bind((addr.ip(), 0).into())?;
        *told = Some(door.addr().port());
        doors.push(door);
    }
    Ok(())
}

/// Binds fresh addresses with one port for all.
fn bind_all(nodes: usize, port: u16) -> io::Result<Vec<(SocketAddr, Vec<Door>)>> {
    let mut tries = 0;
    loop {
        let ips: Vec<IpAddr> = (0..nodes).map(|_| fresh_loopback_ip()).collect();
        let mut doors: Vec<(SocketAddr, Vec<Door>)> = Vec::new();
        let bound: io::Result<()> = ips.into_iter().try_for_each(|ip| {
            // The first node finds the free port that the others take.
            let port = doors.first().map_or(port, |(addr, _)| addr.port());
            let door = Door::bind((ip, port).into())?;
            doors.push((door.addr(), vec![door]));
            Ok(())
        });
        match bound {
            Ok(()) => return Ok(doors),
            Err(error) if tries == 8 || error.kind() != io::ErrorKind::AddrInUse => {
                return Err(error);
            }
            Err(_) => tries += 1,
        }
    }
}
