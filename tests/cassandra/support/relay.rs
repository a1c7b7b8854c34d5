//! One node behind several addresses.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A second address of a node: bytes are passed on, so every attempt is a real one.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl Relay {
    /// Listens on `address` and passes on to `node`.
    pub(crate) async fn start(address: SocketAddr, node: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut passing = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                passing.spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(node).await {
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        });
        Self { address, _tasks: tasks }
    }
}
