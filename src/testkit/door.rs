//! Where a server is reached: a port on loopback, or a place in a network of pipes.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// What becomes of a dial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is accepted.
    Open,
    /// It is refused at once.
    Refusing,
    /// It never ends.
    BlackHole,
}

/// A port that can be opened and closed again without ever being given to someone else.
pub(super) struct Door {
    addr: SocketAddr,
    /// Bound and never listening: keeps the port while nobody listens.
    _holder: Option<TcpSocket>,
    state: Mutex<State>,
}

struct State {
    mode: Mode,
    listener: Option<TcpListener>,
    /// Connections that fill the queue of a black hole.
    fill: Vec<Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>>,
    acceptor: Option<Waker>,
}

impl Door {
    /// Takes this address; port 0 takes a free one. Nobody is let in before [`set`](Self::set).
    pub(super) fn bind(addr: SocketAddr) -> io::Result<Self> {
        let holder = socket(addr)?;
        let addr = holder.local_addr()?;
        // Where a second socket may not share the port, the port is held by its listener alone.
        let holder = match socket(addr) {
            Ok(_) => Some(holder),
            Err(_) => None,
        };
        let state = State { mode: Mode::Refusing, listener: None, fill: Vec::new(), acceptor: None };
        Ok(Self { addr, _holder: holder, state: Mutex::new(state) })
    }

    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// From now on, dials end like this.
    pub(super) fn set(&self, mode: Mode) -> io::Result<()> {
        let mut state = self.state();
        if state.mode == mode {
            return Ok(());
        }
        state.listener = None;
        state.fill.clear();
        match mode {
            Mode::Refusing => {}
            Mode::Open => state.listener = Some(socket(self.addr)?.listen(1024)?),
            Mode::BlackHole => {
                // The queue of one is filled; then the system drops every further SYN.
                state.listener = Some(socket(self.addr)?.listen(0)?);
                for _ in 0..3 {
                    let mut dial = Box::pin(TcpStream::connect(self.addr));
                    let mut cx = Context::from_waker(Waker::noop());
                    if dial.as_mut().poll(&mut cx).is_pending() {
                        state.fill.push(dial);
                    }
                }
            }
        }
        state.mode = mode;
        if let Some(acceptor) = state.acceptor.take() {
            acceptor.wake();
        }
        Ok(())
    }

    /// The next connection that is let in.
    pub(super) async fn accept(&self) -> TcpStream {
        std::future::poll_fn(|cx| {
            let mut state = self.state();
            state.acceptor = Some(cx.waker().clone());
            let Some(listener) = state.listener.as_ref().filter(|_| state.mode == Mode::Open) else {
                return Poll::Pending;
            };
            loop {
                match listener.poll_accept(cx) {
                    Poll::Ready(Ok((stream, _))) => {
                        // Answers are small and wait for nobody; a client that is gone is noticed later.
                        let _ = stream.set_nodelay(true);
                        return Poll::Ready(stream);
                    }
                    // The client was gone before it was let in.
                    Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    // Out of descriptors, most likely: some may be free again at the next look.
                    Poll::Ready(Err(_)) => {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.state().mode;
        f.debug_struct("Door").field("addr", &self.addr).field("mode", &mode).finish()
    }
}

/// A socket bound to an address that others of ours may be bound to as well.
fn socket(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    Ok(socket)
}

/// An address of 127.0.0.0/8 that nothing else in this process was given.
///
/// Servers behind one name share a port, so each needs an address of its own.
/// Linux answers on all of them; elsewhere they have to be configured first.
pub fn fresh_loopback_ip() -> IpAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes that run beside each other start at different places.
    let start = std::process::id().wrapping_mul(251);
    let host = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 0x00FD_0000;
    // 127.1.0.1 and up: clear of 127.0.0.1, and never an address ending in 0 or 255.
    let (high, low) = (host / 253, host % 253);
    let octet = |value: u32| u8::try_from(value).unwrap_or(1);
    IpAddr::V4(Ipv4Addr::new(127, octet(1 + high / 256 % 253), octet(high % 256), octet(1 + low)))
}
