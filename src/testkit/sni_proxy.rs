//! A proxy that finds servers by the server name of the TLS hello.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::rustls::server::Acceptor;

use super::cluster::Tasks;
use super::door::{Door, Mode};
use super::{Cluster, fresh_loopback_ip};

/// A hello never needs more.
const MOST: usize = 64 * 1024;

/// A proxy on loopback: it reads the server name of the TLS hello and hands the bytes, hello and all, to the server
/// that has this name. It ends no TLS. One proxy may have several addresses, as one with several DNS records has.
///
/// ```
/// # async fn example() -> std::io::Result<()> {
/// use messina::testkit::{Cluster, SniProxy, TestCa};
///
/// let ca = TestCa::new();
/// let cluster = Cluster::builder().nodes(2).tls(ca.server(["cluster.test", "*.cluster.test"])).start().await?;
/// let proxy = SniProxy::start(1)?;
/// proxy.serve(&cluster, "cluster.test"); // `cluster.test` is node 0, `<host id>.cluster.test` each node
/// # Ok(())
/// # }
/// ```
pub struct SniProxy {
    shared: Arc<Shared>,
    doors: Vec<Arc<Door>>,
    _tasks: Tasks,
}

struct Shared {
    names: Mutex<HashMap<String, SocketAddr>>,
    hellos: watch::Sender<Vec<Hello>>,
}

/// A hello that reached the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hello {
    /// The address of the proxy that was dialled.
    pub at: SocketAddr,
    /// The server name in it.
    pub server_name: Option<String>,
}

impl SniProxy {
    /// A proxy with so many addresses, all with the same free port: one on 127.0.0.1, more on addresses of their own.
    ///
    /// # Errors
    /// Where an address cannot be bound.
    pub fn start(addresses: usize) -> io::Result<Self> {
        let mut tries = 0;
        loop {
            match Self::bind_fresh(addresses) {
                // The port was free at the first address, and is taken at another.
                Err(error) if tries < 8 && error.kind() == io::ErrorKind::AddrInUse => tries += 1,
                doors => return Self::behind(doors?),
            }
        }
    }

    /// A proxy at these addresses; port 0 is a free one.
    ///
    /// # Errors
    /// Where an address cannot be bound.
    pub fn start_at(addresses: &[SocketAddr]) -> io::Result<Self> {
        Self::behind(addresses.iter().map(|addr| Door::bind(*addr).map(Arc::new)).collect::<io::Result<_>>()?)
    }

    fn bind_fresh(addresses: usize) -> io::Result<Vec<Arc<Door>>> {
        let mut doors: Vec<Arc<Door>> = Vec::new();
        for _ in 0..addresses {
            let ip = if addresses == 1 { Ipv4Addr::LOCALHOST.into() } else { fresh_loopback_ip() };
            let port = doors.first().map_or(0, |door| door.addr().port());
            doors.push(Arc::new(Door::bind((ip, port).into())?));
        }
        Ok(doors)
    }

    fn behind(doors: Vec<Arc<Door>>) -> io::Result<Self> {
        let shared = Arc::new(Shared { names: Mutex::default(), hellos: watch::Sender::default() });
        let mut tasks = Tasks::default();
        for door in &doors {
            door.set(Mode::Open)?;
            let (door, shared) = (Arc::clone(door), Arc::clone(&shared));
            tasks.0.push(tokio::spawn(async move {
                let mut connections = JoinSet::new();
                loop {
                    let stream = door.accept().await;
                    while connections.try_join_next().is_some() {}
                    connections.spawn(serve(stream, door.addr(), Arc::clone(&shared)));
                }
            }));
        }
        Ok(Self { shared, doors, _tasks: tasks })
    }

    /// From now on this name leads there.
    pub fn route(&self, name: impl Into<String>, to: SocketAddr) {
        self.names().insert(name.into().to_lowercase(), to);
    }

    /// From now on this name leads nowhere: the connection is closed after the hello.
    pub fn forget(&self, name: &str) {
        self.names().remove(&name.to_lowercase());
    }

    /// Leads `domain` to the first node of a cluster, and each node's host id before `domain` to that node.
    pub fn serve(&self, cluster: &Cluster, domain: &str) {
        for node in cluster.nodes() {
            if let Some(host_id) = node.host_id() {
                self.route(format!("{host_id}.{domain}"), node.addr());
            }
        }
        if let Some(first) = cluster.nodes().first() {
            self.route(domain, first.addr());
        }
    }

    /// Its addresses.
    pub fn addrs(&self) -> Vec<SocketAddr> {
        self.doors.iter().map(|door| door.addr()).collect()
    }

    /// Refuses dials at one of its addresses from now on; connections that there are go on.
    ///
    /// # Panics
    /// Where there is no address with this index.
    pub fn close(&self, index: usize) {
        // Closing a listener does not fail.
        let _ = self.doors[index].set(Mode::Refusing);
    }

    /// Accepts dials at that address again.
    ///
    /// # Errors
    /// Where it cannot be listened at.
    ///
    /// # Panics
    /// Where there is no address with this index.
    pub fn open(&self, index: usize) -> io::Result<()> {
        self.doors[index].set(Mode::Open)
    }

    /// Every hello that came, in order.
    pub fn hellos(&self) -> Vec<Hello> {
        self.shared.hellos.borrow().clone()
    }

    /// Waits until the condition holds for the hellos that came.
    ///
    /// # Errors
    /// The hellos that came instead, when it does not hold within the limit.
    pub async fn wait_for(
        &self,
        within: Duration,
        mut condition: impl FnMut(&[Hello]) -> bool,
    ) -> Result<(), Vec<Hello>> {
        let mut hellos = self.shared.hellos.subscribe();
        let seen = tokio::time::timeout(within, hellos.wait_for(|hellos| condition(hellos))).await;
        match seen {
            Ok(Ok(_)) => Ok(()),
            // The sender lives as long as `self`.
            Ok(Err(_)) | Err(_) => Err(self.hellos()),
        }
    }

    fn names(&self) -> MutexGuard<'_, HashMap<String, SocketAddr>> {
        self.shared.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SniProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SniProxy").field("addrs", &self.addrs()).finish_non_exhaustive()
    }
}

/// One connection, from the hello to its end.
async fn serve(mut client: TcpStream, at: SocketAddr, shared: Arc<Shared>) {
    let mut hello = Vec::new();
    let Some(server_name) = read_hello(&mut client, &mut hello).await else { return };
    shared.hellos.send_modify(|hellos| hellos.push(Hello { at, server_name: server_name.clone() }));
    let to = {
        let names = shared.names.lock().unwrap_or_else(PoisonError::into_inner);
        server_name.and_then(|name| names.get(&name.to_lowercase()).copied())
    };
    let Some(to) = to else { return };
    let Ok(mut server) = TcpStream::connect(to).await else { return };
    let _ = server.set_nodelay(true);
    if server.write_all(&hello).await.is_ok() {
        // Whoever ends it, both ends are closed.
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

/// Reads until the hello is whole; answers the server name in it, or `None` if it is no hello.
async fn read_hello(client: &mut TcpStream, hello: &mut Vec<u8>) -> Option<Option<String>> {
    let mut acceptor = Acceptor::default();
    let mut read = 0;
    while hello.len() < MOST {
        if client.read_buf(hello).await.ok()? == 0 {
            return None;
        }
        while read < hello.len() {
            read += acceptor.read_tls(&mut &hello[read..]).ok()?;
            if let Some(accepted) = acceptor.accept().ok()? {
                return Some(accepted.client_hello().server_name().map(ToOwned::to_owned));
            }
        }
    }
    None
}
