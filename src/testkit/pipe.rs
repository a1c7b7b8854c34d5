//! Connections: a socket, or a pipe inside the process.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::net::TcpStream;

use super::network::Held;

/// How many bytes a pipe holds before its writer waits.
const ROOM: usize = 64 * 1024;

/// One end of a connection inside the process; stands in for a TCP stream.
pub struct Pipe {
    stream: DuplexStream,
    reset: Arc<AtomicBool>,
    local: SocketAddr,
    peer: SocketAddr,
    /// Counts the client's end in its network for as long as it lives.
    _held: Option<Held>,
}

impl Pipe {
    /// Both ends of a connection: that of the client, and that of the server.
    pub(super) fn pair(client: SocketAddr, server: SocketAddr) -> (Self, Self) {
        let (near, far) = duplex(ROOM);
        let reset = Arc::new(AtomicBool::new(false));
        let near = Self { stream: near, reset: reset.clone(), local: client, peer: server, _held: None };
        let far = Self { stream: far, reset, local: server, peer: client, _held: None };
        (near, far)
    }

    pub(super) fn held(mut self, held: Held) -> Self {
        self._held = Some(held);
        self
    }

    /// The address of this end.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The address of the other end.
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    fn is_reset(&self) -> bool {
        self.reset.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pipe({} -> {})", self.local, self.peer)
    }
}

impl AsyncRead for Pipe {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        match polled {
            Poll::Ready(Ok(())) if buf.filled().len() == before && self.is_reset() => {
                Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
            }
            other => other,
        }
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(cx, bytes) {
            Poll::Ready(Err(_)) if self.is_reset() => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            other => other,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The server's end of a connection, whatever carries it.
#[derive(Debug)]
pub(super) enum Io {
    Tcp(TcpStream),
    Pipe(Pipe),
}

impl Io {
    pub(super) fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr(),
            Self::Pipe(pipe) => Ok(pipe.peer),
        }
    }

    /// Lets the client see a reset when this end is dropped.
    pub(super) fn reset_on_drop(&self) {
        match self {
            // A socket that is gone already cannot be reset, and need not be.
            Self::Tcp(stream) => drop(stream.set_zero_linger()),
            Self::Pipe(pipe) => pipe.reset.store(true, Ordering::Release),
        }
    }
}

impl AsyncRead for Io {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Pipe(pipe) => Pin::new(pipe).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Pipe(pipe) => Pin::new(pipe).poll_shutdown(cx),
        }
    }
}
