//! What a network counts for as long as it lives: dials, and the client's ends of connections.

use std::net::SocketAddr;

use super::Network;

/// A dial, for as long as it has not ended.
pub(super) struct Dialling {
    network: Network,
}

impl Dialling {
    pub(super) fn new(network: &Network) -> Self {
        network.state().dialling += 1;
        Self { network: network.clone() }
    }
}

impl Drop for Dialling {
    fn drop(&mut self) {
        self.network.state().dialling -= 1;
    }
}

/// The client's end of a connection, for as long as it lives.
pub(in crate::testkit) struct Held {
    network: Network,
    id: u32,
}

impl Held {
    pub(super) fn new(network: &Network, id: u32, client: SocketAddr, server: SocketAddr) -> Self {
        network.state().held.insert(id, (client, server));
        Self { network: network.clone(), id }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.network.state().held.remove(&self.id);
    }
}
