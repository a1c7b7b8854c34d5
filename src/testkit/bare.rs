//! Addresses with no server behind them, or with one that is of no use.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{JoinHandle, JoinSet};

use super::door::{Door, Mode, fresh_loopback_ip};
use super::log::{Ended, EventKind, Log, Recorder};
use super::pipe::Io;

/// A loopback address that is no CQL server. It is let go when this is dropped.
///
/// ```
/// # async fn example() -> std::io::Result<()> {
/// use messina::testkit::BareAddress;
///
/// let dead = BareAddress::refused()?;
/// let silent = BareAddress::mute()?.on_port(dead.addr().port())?; // another address, same port
/// assert_ne!(dead.addr().ip(), silent.addr().ip());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BareAddress {
    kind: Bare,
    door: Arc<Door>,
    log: Log,
    task: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bare {
    Refused,
    BlackHole,
    Mute,
    Closes,
    Garbage,
}

impl BareAddress {
    /// Refuses every dial. The port stays taken, so nobody else answers there.
    pub fn refused() -> io::Result<Self> {
        Self::new(Bare::Refused)
    }

    /// Never lets a dial end: a listening socket with a full queue.
    pub fn black_hole() -> io::Result<Self> {
        Self::new(Bare::BlackHole)
    }

    /// Accepts, reads, and never answers.
    pub fn mute() -> io::Result<Self> {
        Self::new(Bare::Mute)
    }

    /// Accepts and closes.
    pub fn closes() -> io::Result<Self> {
        Self::new(Bare::Closes)
    }

    /// Accepts and answers the first bytes with something that is neither TLS nor CQL.
    pub fn garbage() -> io::Result<Self> {
        Self::new(Bare::Garbage)
    }

    fn new(kind: Bare) -> io::Result<Self> {
        Self::at(kind, (IpAddr::V4(Ipv4Addr::LOCALHOST), 0).into(), Log::new())
    }

    /// The same on a loopback address of its own, with this port.
    pub fn on_port(self, port: u16) -> io::Result<Self> {
        Self::at(self.kind, (fresh_loopback_ip(), port).into(), self.log.clone())
    }

    /// The same at exactly this address.
    pub fn on(self, addr: SocketAddr) -> io::Result<Self> {
        Self::at(self.kind, addr, self.log.clone())
    }

    /// Writes to this log instead of one of its own.
    pub fn with_log(self, log: &Log) -> io::Result<Self> {
        let (kind, addr) = (self.kind, self.addr());
        // Closes the listener at once, so that the port can be taken again.
        drop(self);
        Self::at(kind, addr, log.clone())
    }

    fn at(kind: Bare, addr: SocketAddr, log: Log) -> io::Result<Self> {
        let door = Arc::new(Door::bind(addr)?);
        let task = match kind {
            Bare::Refused => None,
            Bare::BlackHole => {
                door.set(Mode::BlackHole)?;
                None
            }
            Bare::Mute | Bare::Closes | Bare::Garbage => {
                door.set(Mode::Open)?;
                Some(tokio::spawn(accept(door.clone(), kind, log.clone())))
            }
        };
        Ok(Self { kind, door, log, task })
    }

    /// The address to dial.
    pub fn addr(&self) -> SocketAddr {
        self.door.addr()
    }

    /// The log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// How many dials were accepted.
    pub fn accepted(&self) -> usize {
        self.log.now().of(self.addr()).count()
    }
}

impl Drop for BareAddress {
    fn drop(&mut self) {
        // The task ends a little later; the port is let go now.
        let _ = self.door.set(Mode::Refusing);
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

async fn accept(door: Arc<Door>, kind: Bare, log: Log) {
    let mut connections = JoinSet::new();
    loop {
        let stream = door.accept().await;
        while connections.try_join_next().is_some() {}
        let Ok(client) = stream.peer_addr() else { continue };
        let recorder = log.opened(door.addr(), client);
        connections.spawn(serve_bare(Io::Tcp(stream), kind, recorder));
    }
}

/// Serves a connection as a bare address does.
pub(super) async fn serve_bare(mut io: Io, kind: Bare, mut recorder: Recorder) {
    if kind == Bare::Closes {
        // The client may be gone already.
        let _ = io.shutdown().await;
        return recorder.end(Ended::ByServer);
    }
    let mut bytes = [0; 4096];
    loop {
        match io.read(&mut bytes).await {
            Ok(0) | Err(_) => return recorder.end(Ended::ByClient),
            Ok(length) => {
                recorder.received(&bytes[..length]);
                recorder.note(EventKind::Refused(format!("{length} bytes")));
            }
        }
        if kind == Bare::Garbage {
            let _ = io.write_all(GARBAGE).await;
            let _ = io.shutdown().await;
            return recorder.end(Ended::ByServer);
        }
    }
}

/// Bytes that are neither TLS nor CQL.
pub(super) const GARBAGE: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
