//! Takes a [`Candidate`], gives a [`Transport`] over a TCP socket.

use std::{
    fmt,
    future::Future,
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tower_service::Service;

use crate::{
    candidate::Candidate,
    error::{AttemptError, Stage, TimedOut, scope_of_io},
    handshake::Transport,
    random::Random,
    target::{LocalBind, LocalPorts},
};

/// How long opening a connection may take unless told otherwise.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Dials TCP. Always ready; clones share nothing but the sequence of random local ports.
#[derive(Clone, Debug)]
pub struct TcpConnector {
    options: Options,
    random: Random,
}

#[derive(Clone, Debug)]
struct Options {
    connect_timeout: Duration,
    nodelay: bool,
    keepalive: Option<Duration>,
    linger: Option<Duration>,
    receive_buffer: Option<u32>,
    send_buffer: Option<u32>,
}

impl TcpConnector {
    /// Limits a connect to [`DEFAULT_CONNECT_TIMEOUT`] and turns Nagle's delay off; the rest is the system's.
    #[must_use]
    pub fn new() -> Self {
        Self {
            options: Options {
                connect_timeout: DEFAULT_CONNECT_TIMEOUT,
                nodelay: true,
                keepalive: None,
                linger: None,
                receive_buffer: None,
                send_buffer: None,
            },
            random: Random::from_system(),
        }
    }

    /// Limits a connect to `timeout`.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// Sends small packets at once (`true`, the default) or lets the system gather them.
    #[must_use]
    pub fn with_nodelay(mut self, nodelay: bool) -> Self {
        self.options.nodelay = nodelay;
        self
    }

    /// Lets the system probe an idle connection after `idle`, so that a vanished peer is noticed.
    #[must_use]
    pub fn with_keepalive(mut self, idle: Duration) -> Self {
        self.options.keepalive = Some(idle);
        self
    }

    /// How long closing waits for unsent bytes; zero resets the connection.
    #[must_use]
    pub fn with_linger(mut self, linger: Duration) -> Self {
        self.options.linger = Some(linger);
        self
    }

    /// The size of the system's receive buffer, in bytes.
    #[must_use]
    pub fn with_receive_buffer(mut self, bytes: u32) -> Self {
        self.options.receive_buffer = Some(bytes);
        self
    }

    /// The size of the system's send buffer, in bytes.
    #[must_use]
    pub fn with_send_buffer(mut self, bytes: u32) -> Self {
        self.options.send_buffer = Some(bytes);
        self
    }
}

impl Default for TcpConnector {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Service<Candidate<T>> for TcpConnector
where
    T: LocalBind + Send + 'static,
{
    type Response = Transport<T, TcpStream>;
    type Error = AttemptError;
    type Future = TcpFuture<T>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, candidate: Candidate<T>) -> TcpFuture<T> {
        let ports = candidate.target().ports().map(|ports| (ports, self.random.next()));
        let options = self.options.clone();
        TcpFuture {
            inner: Box::pin(async move {
                let limit = options.connect_timeout;
                match timeout(limit, dial(candidate.addr(), ports, &options)).await {
                    Ok(Ok(stream)) => Ok(Transport::new(candidate, stream)),
                    Ok(Err(error)) => {
                        let scope = scope_of_io(&error);
                        Err(AttemptError::new(Stage::TCP, error).with_scope(scope))
                    }
                    Err(_elapsed) => Err(AttemptError::new(Stage::TCP, TimedOut::new(limit))),
                }
            }),
        }
    }
}

type Dialled<T> = Result<Transport<T, TcpStream>, AttemptError>;

/// A dial in progress; dropping it closes the socket.
pub struct TcpFuture<T> {
    // Boxed because an async block cannot be named; a dial costs system calls anyway.
    inner: Pin<Box<dyn Future<Output = Dialled<T>> + Send>>,
}

impl<T> fmt::Debug for TcpFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TcpFuture")
    }
}

impl<T> Future for TcpFuture<T> {
    type Output = Dialled<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.inner.as_mut().poll(cx)
    }
}

async fn dial(addr: SocketAddr, ports: Option<(LocalPorts, u64)>, options: &Options) -> io::Result<TcpStream> {
    let Some((ports, random)) = ports else {
        return socket(addr, options)?.connect(addr).await;
    };
    for port in ports.from_random(random) {
        // The port is bound by the very socket that connects: there is no gap in which another may take it.
        let socket = socket(addr, options)?;
        let local: SocketAddr = match addr {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, port).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, port).into(),
        };
        match socket.bind(local) {
            Ok(()) => {}
            Err(error) if port_is_taken(&error) || error.kind() == io::ErrorKind::PermissionDenied => continue,
            Err(error) => return Err(error),
        }
        match socket.connect(addr).await {
            Err(error) if port_is_taken(&error) => {}
            result => return result,
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrNotAvailable, "no source port is free among those allowed"))
}

fn port_is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable)
}

fn socket(addr: SocketAddr, options: &Options) -> io::Result<TcpSocket> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_nodelay(options.nodelay)?;
    if let Some(bytes) = options.receive_buffer {
        socket.set_recv_buffer_size(bytes)?;
    }
    if let Some(bytes) = options.send_buffer {
        socket.set_send_buffer_size(bytes)?;
    }
    let socket_ref = SockRef::from(&socket);
    if let Some(idle) = options.keepalive {
        socket_ref.set_tcp_keepalive(&TcpKeepalive::new().with_time(idle).with_interval(idle))?;
    }
    if options.linger.is_some() {
        socket_ref.set_linger(options.linger)?;
    }
    Ok(socket)
}
