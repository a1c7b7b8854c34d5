//! Loopback addresses and ports that nobody else uses.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// The ports of every node of the run. A name in DNS carries no port, so nodes and bad addresses share one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) native: u16,
    pub(crate) storage: u16,
}

/// Below the range that systems take for outgoing connections.
static PORTS: LazyLock<Ports> = LazyLock::new(|| {
    let pick = || {
        let native = 12_000 + u16::try_from(random() % 9_000).unwrap_or_default();
        Ports { native, storage: native + 9_000 }
    };
    let free = |port| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok();
    // Somebody may hold a port on every address.
    let found = (0..50).map(|_| pick()).find(|ports| free(ports.native) && free(ports.storage));
    found.unwrap_or_else(pick)
});

/// 254 addresses of one cluster, `127.a.b.1` and on.
#[derive(Debug)]
pub(crate) struct Network {
    a: u8,
    b: u8,
    next: AtomicU8,
}

impl Network {
    /// A random network on which the ports of the run are free.
    pub(crate) fn pick() -> Result<Self, String> {
        for _ in 0..50 {
            let bytes = random().to_le_bytes();
            let network = Self { a: 16 + bytes[0] % 200, b: bytes[1], next: AtomicU8::new(1) };
            let free = |last, port| TcpListener::bind((network.host(last), port)).is_ok();
            if (1..=5).all(|last| free(last, PORTS.native) && free(last, PORTS.storage)) {
                return Ok(network);
            }
        }
        Err(format!("no loopback network has ports {} and {} free", PORTS.native, PORTS.storage))
    }

    pub(crate) fn ports() -> Ports {
        *PORTS
    }

    /// An address that was not given out before.
    pub(crate) fn next(&self) -> Ipv4Addr {
        self.host(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn host(&self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, self.a, self.b, last)
    }
}

/// Ports of 127.0.0.1 that were free a moment ago, each another.
pub(crate) fn free_ports(count: usize) -> Result<Vec<u16>, String> {
    let bound: Result<Vec<TcpListener>, _> = (0..count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect();
    let ports = bound.and_then(|bound| bound.iter().map(|socket| Ok(socket.local_addr()?.port())).collect());
    ports.map_err(|error| error.to_string())
}

/// A number that differs from run to run: the hasher is seeded by the system.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(())
}
