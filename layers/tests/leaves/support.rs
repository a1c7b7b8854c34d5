//! What the tests of leaves share.

#[cfg(feature = "rustls")]
pub(crate) mod capture;
#[cfg(feature = "rustls")]
pub(crate) mod certs;
#[cfg(feature = "hickory")]
pub(crate) mod dns_server;

use std::{net::SocketAddr, time::Duration};

use messina_layers::{Address, Candidate, Name, Resolved};
use tokio::net::TcpListener;
use tower::Service;

/// The limits of tests in real time.
pub(crate) const LIMIT: Duration = Duration::from_millis(100);

pub(crate) async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}

/// An address where nobody listens: its port was free a moment ago and is held without listening.
pub(crate) fn nobody() -> (tokio::net::TcpSocket, SocketAddr) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = socket.local_addr().unwrap();
    (socket, addr)
}

pub(crate) fn candidate(addr: SocketAddr) -> Candidate<Address> {
    Candidate::new(Address::Socket(addr), addr)
}

pub(crate) fn name(text: &str) -> Address {
    Address::Name(Name::new(text).unwrap(), 9042)
}

/// Asks a literal and expects it back at the first poll, outside of any runtime: no task, no thread, no timer.
pub(crate) fn literal_is_answered_at_once<R>(mut resolver: R)
where
    R: Service<Address, Response: IntoIterator<Item: Into<Resolved>>>,
    R::Error: std::fmt::Debug,
{
    assert!(tokio::runtime::Handle::try_current().is_err(), "no runtime may help");
    for text in ["10.0.0.1:9043", "[fe80::1%7]:1"] {
        let literal: SocketAddr = text.parse().unwrap();
        let lookup = resolver.call(Address::Socket(literal));
        let std::task::Poll::Ready(answer) = tokio_test::task::spawn(lookup).poll() else { panic!("{text} waits") };
        let answer: Vec<SocketAddr> = answer.unwrap().into_iter().map(|item| item.into().socket(9)).collect();
        assert_eq!(answer, [literal]);
    }
}
