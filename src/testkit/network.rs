//! A network of pipes inside the process: dials by socket address, without sockets.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use messina_layers::LocalPorts;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Log;
use super::Node;
use super::PipeConnector;
use super::bare::{Bare, serve_bare};
use super::fault::{Fault, Stage};
use super::node::{Arrival, Inner, refused};
use super::pipe::{Io, Pipe};

mod held;

use held::Dialling;
pub(super) use held::Held;

/// Addresses that can be dialled without a socket, so that a test may pause the clock.
///
/// Nodes are put here by [`ClusterBuilder::network`](super::ClusterBuilder::network), bare addresses by [`refused`](Self::refused) and its
/// siblings. A clone is the same network.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use messina::testkit::{Cluster, Network};
///
/// let network = Network::new();
/// let cluster = Cluster::builder().network(&network).start().await?;
/// let silent = network.mute();
/// let stream = network.dial(cluster.node(0).addr()).await?; // reads and writes
/// assert_eq!(network.dials(silent), 0);
/// # drop(stream);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Network {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    log: Log,
    state: Mutex<NetworkState>,
}

#[derive(Default)]
struct NetworkState {
    places: HashMap<SocketAddr, Place>,
    dials: HashMap<SocketAddr, usize>,
    order: Vec<SocketAddr>,
    clients: u32,
    clusters: u8,
    bare: u8,
    translates: bool,
    spare: u32,
    dialling: usize,
    /// The client's ends that are not dropped: client and server.
    held: BTreeMap<u32, (SocketAddr, SocketAddr)>,
    tasks: JoinSet<()>,
}

#[derive(Clone)]
enum Place {
    /// A node, at its ordinary port or at its shard-aware one.
    Node(Weak<Inner>, mpsc::UnboundedSender<Arrival>, bool),
    Bare(Bare),
}

impl Network {
    /// An empty network.
    pub fn new() -> Self {
        Self::default()
    }

    /// The log that clusters in this network write unless they are given another.
    pub fn log(&self) -> &Log {
        &self.shared.log
    }

    /// Dials an address.
    ///
    /// # Errors
    /// As a socket would: refused, or no such host for an address that nobody has.
    pub async fn dial(&self, addr: SocketAddr) -> io::Result<Pipe> {
        self.dial_from(addr, None).await
    }

    /// Dials an address from one of these local ports: a Scylla node's shard-aware port reads the shard from it.
    ///
    /// # Errors
    /// As [`dial`](Self::dial).
    pub async fn dial_from(&self, addr: SocketAddr, ports: Option<LocalPorts>) -> io::Result<Pipe> {
        let _dialling = Dialling::new(self);
        let (place, client, id) = self.state().dial(addr, ports)?;
        let (near, far) = Pipe::pair(client, addr);
        let io = Io::Pipe(far);
        match place {
            Place::Bare(Bare::Refused) => Err(refused()),
            Place::Bare(Bare::BlackHole) => pending().await,
            Place::Bare(kind) => {
                let recorder = self.shared.log.opened(addr, client);
                let mut state = self.state();
                while state.tasks.try_join_next().is_some() {}
                state.tasks.spawn(serve_bare(io, kind, recorder));
                drop(state);
                Ok(near.held(Held::new(self, id, client, addr)))
            }
            Place::Node(node, arrivals, shard_aware) => {
                let node = node.upgrade().ok_or_else(refused)?;
                if node.is_killed() {
                    return Err(refused());
                }
                let fault = match node.strike(Stage::Tcp) {
                    Some(Fault::Refuse) => return Err(refused()),
                    Some(Fault::Fail(kind)) => return Err(kind.into()),
                    Some(Fault::Silence) => return pending().await,
                    Some(Fault::Delay(delay) | Fault::InLine(delay)) => {
                        tokio::time::sleep(delay).await;
                        None
                    }
                    other => other,
                };
                let shards = node.with(|facts| facts.scylla.as_ref().map_or(1, |scylla| scylla.shards.max(1)));
                let shard = if shard_aware { client.port() % shards } else { node.next_shard(shards) };
                arrivals.send(Arrival { io, fault, shard }).map_err(|_| refused())?;
                Ok(near.held(Held::new(self, id, client, addr)))
            }
        }
    }

    /// The service that dials here in place of a TCP connector.
    pub fn connector(&self) -> PipeConnector {
        PipeConnector::new(self.clone())
    }

    /// Whether servers see other client ports than those chosen, as behind a translation of addresses.
    pub fn translate_ports(&self, translate: bool) {
        self.state().translates = translate;
    }

    /// How often an address was dialled.
    pub fn dials(&self, addr: SocketAddr) -> usize {
        self.state().dials.get(&addr).copied().unwrap_or(0)
    }

    /// Every dial, in order.
    pub fn dialled(&self) -> Vec<SocketAddr> {
        self.state().order.clone()
    }

    /// How many dials have not ended yet.
    pub fn dialling(&self) -> usize {
        self.state().dialling
    }

    /// The connections whose client's end is not dropped yet, as client and server, in the order of dialling.
    ///
    /// This is the client's view: a [`Log`] tells when a server saw the end, which a frozen one never does.
    pub fn held(&self) -> Vec<(SocketAddr, SocketAddr)> {
        self.state().held.values().copied().collect()
    }

    /// An address that nobody has: dials end as unreachable.
    pub fn nobody(&self) -> SocketAddr {
        let mut state = self.state();
        let spare = state.spare;
        state.spare += 1;
        SocketAddr::from((address(253, spare), 9042))
    }

    /// Moves a node: from now on it is here and says so, and nobody answers where it was.
    ///
    /// Connections stay: [`kill`](super::Node::kill) comes first where the node is to be restarted.
    ///
    /// # Errors
    /// Where another node is there.
    pub fn move_node(&self, node: &Node, to: SocketAddr) -> io::Result<()> {
        let from = node.addr();
        let mut state = self.state();
        if from == to {
            return Ok(());
        }
        if matches!(state.places.get(&to), Some(Place::Node(other, ..)) if other.strong_count() > 0) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let place = state.places.remove(&from).ok_or(io::ErrorKind::NotFound)?;
        state.places.insert(to, place);
        drop(state);
        node.inner.moved(to);
        Ok(())
    }

    /// An address that refuses.
    pub fn refused(&self) -> SocketAddr {
        self.bare(Bare::Refused)
    }

    /// An address where a dial never ends.
    pub fn black_hole(&self) -> SocketAddr {
        self.bare(Bare::BlackHole)
    }

    /// An address that accepts and never answers.
    pub fn mute(&self) -> SocketAddr {
        self.bare(Bare::Mute)
    }

    /// An address that accepts and closes.
    pub fn closes(&self) -> SocketAddr {
        self.bare(Bare::Closes)
    }

    /// An address that answers the first bytes with something that is neither TLS nor CQL.
    pub fn garbage(&self) -> SocketAddr {
        self.bare(Bare::Garbage)
    }

    fn bare(&self, kind: Bare) -> SocketAddr {
        let mut state = self.state();
        state.bare += 1;
        let addr = SocketAddr::from(([10, 255, 0, state.bare], 9042));
        state.places.insert(addr, Place::Bare(kind));
        addr
    }

    /// Addresses that no other cluster of this network has.
    pub(super) fn fresh_addresses(&self, count: usize) -> Vec<SocketAddr> {
        let mut state = self.state();
        let cluster = state.clusters;
        state.clusters += 1;
        (0..).take(count).map(|host| SocketAddr::from((address(cluster, host), 9042))).collect()
    }

    pub(super) fn add_node(&self, node: &Arc<Inner>, arrivals: mpsc::UnboundedSender<Arrival>) -> io::Result<()> {
        let place = Place::Node(Arc::downgrade(node), arrivals.clone(), false);
        if let Some(port) = node.with(|facts| facts.scylla.as_ref().and_then(|scylla| scylla.network_port())) {
            let at_port = Place::Node(Arc::downgrade(node), arrivals, true);
            self.state().places.insert(SocketAddr::new(node.addr().ip(), port), at_port);
        }
        match self.state().places.insert(node.addr(), place) {
            Some(Place::Node(old, ..)) if old.strong_count() > 0 => Err(io::ErrorKind::AddrInUse.into()),
            _ => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, NetworkState> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NetworkState {
    fn dial(&mut self, addr: SocketAddr, ports: Option<LocalPorts>) -> io::Result<(Place, SocketAddr, u32)> {
        *self.dials.entry(addr).or_default() += 1;
        self.order.push(addr);
        self.clients += 1;
        let id = self.clients;
        // No two connections share a client's address, so that it names one.
        let any = u16::try_from(32768 + id % 28000).unwrap_or(32768);
        let chosen = ports.filter(|_| !self.translates).map(|ports| {
            let none = || io::Error::new(io::ErrorKind::AddrNotAvailable, "no such local port");
            ports.from_random(u64::from(id)).next().ok_or_else(none)
        });
        let port = chosen.transpose()?.unwrap_or(any);
        let client = SocketAddr::from((address(254, id / 28000), port));
        let Some(place) = self.places.get(&addr) else {
            let (count, known) = (self.places.len(), self.places.keys().take(SHOWN).collect::<Vec<_>>());
            let text = format!("nothing in this network has {addr}; of the {count} that it has: {known:?}");
            return Err(io::Error::new(io::ErrorKind::HostUnreachable, text));
        };
        Ok((place.clone(), client, id))
    }
}

/// How many addresses an error shows.
const SHOWN: usize = 8;

/// 10.`net`.0.1 and up, 250 to each last part.
fn address(net: u8, host: u32) -> [u8; 4] {
    let part = |value: u32| u8::try_from(value).unwrap_or(u8::MAX);
    [10, net, part(host / 250), part(1 + host % 250)]
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Network").field("places", &state.places.keys()).finish_non_exhaustive()
    }
}
