//! Addresses that are no help: each fails in its own way until it is dropped.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// Something listens, or not, on an address.
#[derive(Debug)]
pub(crate) struct Bad {
    pub(crate) address: SocketAddr,
    /// Connections that fill a queue, and the listener that never takes them.
    _held: Vec<TcpStream>,
    _listener: Option<TcpListener>,
    _tasks: JoinSet<()>,
}

impl Bad {
    /// Nothing listens: a connect is refused at once.
    pub(crate) async fn refused(address: SocketAddr) -> Self {
        // Bound once to be sure that it is ours, then left.
        drop(TcpListener::bind(address).await.unwrap());
        Self::new(address)
    }

    /// A connect is never answered: the queue of the listener is full.
    pub(crate) async fn black_hole(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(address).unwrap();
        let listener = socket.listen(0).unwrap();
        let mut held = Vec::new();
        while let Ok(connected) = tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(address)).await {
            held.push(connected.unwrap());
            assert!(held.len() < 64, "{address}: the queue does not fill");
        }
        Self { _held: held, _listener: Some(listener), ..Self::new(address) }
    }

    /// Accepts and never answers.
    pub(crate) async fn mute(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let mut bad = Self::new(address);
        bad._tasks.spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                held.push(stream);
            }
        });
        bad
    }

    /// Accepts and closes.
    pub(crate) async fn closing(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let mut bad = Self::new(address);
        bad._tasks.spawn(async move { while listener.accept().await.is_ok() {} });
        bad
    }

    fn new(address: SocketAddr) -> Self {
        Self { address, _held: Vec::new(), _listener: None, _tasks: JoinSet::new() }
    }
}
