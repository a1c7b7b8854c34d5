//! What could be tried for a target, and the turn that keeps logins apart.

mod turn;

use std::{
    collections::HashSet,
    net::{IpAddr, SocketAddr},
};

use tokio::time::Instant;

pub use self::turn::{Turn, TurnGuard};
use crate::address::HostAddr;

/// The addresses that could be tried for a target: never empty, none twice.
///
/// Two addresses are the same if IP, port and zone are; the first occurrence keeps its place.
#[derive(Clone, Debug)]
pub struct Candidates<T> {
    target: T,
    addrs: Vec<SocketAddr>,
    since: Option<Instant>,
}

impl<T> Candidates<T> {
    /// Keeps the first occurrence of each address; gives the target back if there is none at all.
    ///
    /// # Errors
    /// The target, if `addrs` is empty.
    pub fn new(target: T, addrs: impl IntoIterator<Item = SocketAddr>) -> Result<Self, T> {
        let addrs = distinct(addrs);
        if addrs.is_empty() { Err(target) } else { Ok(Self { target, addrs, since: None }) }
    }

    /// The same for a connect that began at `since`: a budget counts from there, the lookup included.
    #[must_use]
    pub fn with_start(mut self, since: Instant) -> Self {
        self.since = Some(since);
        self
    }

    /// When the connect began, if that was before they are tried.
    pub fn start(&self) -> Option<Instant> {
        self.since
    }

    /// The target they belong to.
    pub fn target(&self) -> &T {
        &self.target
    }

    /// The addresses, in the order in which they will be tried.
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// How many there are; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.addrs.len()
    }

    /// Gives target and addresses back.
    pub fn into_parts(self) -> (T, Vec<SocketAddr>) {
        (self.target, self.addrs)
    }

    /// The same without some of the addresses; gives the target back if none is left.
    ///
    /// # Errors
    /// The target, if `keep` keeps nothing.
    pub fn filtered(mut self, keep: impl FnMut(&SocketAddr) -> bool) -> Result<Self, T> {
        self.addrs.retain(keep);
        if self.addrs.is_empty() { Err(self.target) } else { Ok(self) }
    }

    /// Reorders or shortens; what would leave nothing keeps the first.
    pub(crate) fn arrange(&mut self, arrange: impl FnOnce(&mut Vec<SocketAddr>)) {
        let first = self.addrs[0];
        arrange(&mut self.addrs);
        if self.addrs.is_empty() {
            self.addrs.push(first);
        }
    }
}

fn distinct(addrs: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let addrs = addrs.into_iter();
    let mut kept: Vec<SocketAddr> = Vec::with_capacity(addrs.size_hint().0.min(64));
    // Long answers are rare; for the usual handful a scan beats hashing.
    let mut seen = HashSet::new();
    for addr in addrs {
        // An IPv4 address written as IPv6 is the same address.
        let plain = match addr.ip().to_canonical() {
            ip @ IpAddr::V4(_) => SocketAddr::new(ip, addr.port()),
            IpAddr::V6(_) => HostAddr::from(addr).with_port(addr.port()),
        };
        let new = if kept.len() < 32 {
            !kept.contains(&plain)
        } else {
            if seen.is_empty() {
                seen.extend(kept.iter().copied());
            }
            seen.insert(plain)
        };
        if new {
            kept.push(plain);
        }
    }
    kept
}

/// One address that is tried now for a target, with the turn it shares with its siblings.
// connect 18: the target, and the name in it, travels with each address; nothing has to be attached again.
#[derive(Clone, Debug)]
pub struct Candidate<T> {
    target: T,
    addr: SocketAddr,
    turn: Turn,
}

impl<T> Candidate<T> {
    /// A candidate that has its turn to itself.
    pub fn new(target: T, addr: SocketAddr) -> Self {
        Self { target, addr, turn: Turn::free() }
    }

    /// The same candidate, sharing a turn with others of its connect.
    #[must_use]
    pub fn with_turn(mut self, turn: Turn) -> Self {
        self.turn = turn;
        self
    }

    /// The target it is tried for.
    pub fn target(&self) -> &T {
        &self.target
    }

    /// The target it is tried for, to change a fact of this attempt alone.
    pub fn target_mut(&mut self) -> &mut T {
        &mut self.target
    }

    /// The address to dial.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The turn shared by the attempts of one connect.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Gives target, address and turn back.
    pub fn into_parts(self) -> (T, SocketAddr, Turn) {
        (self.target, self.addr, self.turn)
    }
}
