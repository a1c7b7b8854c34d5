//! Dialling TCP on loopback.

use std::{io, net::SocketAddr, time::Duration};

use messina_layers::{
    Address, AttemptLayer, Candidates, FallbackLayer, HandshakeLayer, Pinned, Scope, Stage, TcpConnector, TimedOut,
    Transport, tcp::DEFAULT_CONNECT_TIMEOUT,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{LIMIT, candidate, listener, nobody};

#[tokio::test]
async fn a_connection_opens() {
    let (listener, addr) = listener().await;
    let transport = TcpConnector::new().oneshot(candidate(addr)).await.unwrap();
    let (accepted, from) = listener.accept().await.unwrap();
    assert_eq!((transport.peer, transport.io.peer_addr().unwrap()), (addr, addr));
    assert_eq!((from, accepted.local_addr().unwrap()), (transport.io.local_addr().unwrap(), addr));
    assert!(transport.io.nodelay().unwrap(), "small packets are not held back");
}

/// The socket options that may be set.
/// report 28: a half-open connection is noticed by keep-alive.
#[tokio::test]
async fn options_reach_the_socket() {
    let (_listener, addr) = listener().await;
    let connector = TcpConnector::default()
        .with_nodelay(false)
        .with_keepalive(Duration::from_secs(42))
        .with_linger(Duration::ZERO)
        .with_receive_buffer(16 * 1024)
        .with_send_buffer(32 * 1024);
    let stream = connector.oneshot(candidate(addr)).await.unwrap().io;
    let socket = socket2::SockRef::from(&stream);
    assert!(!stream.nodelay().unwrap() && socket.keepalive().unwrap());
    assert_eq!(socket.linger().unwrap(), Some(Duration::ZERO));
    #[cfg(target_os = "linux")]
    {
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(42));
        // Linux doubles what is asked for, for its own bookkeeping.
        assert_eq!((socket.recv_buffer_size().unwrap(), socket.send_buffer_size().unwrap()), (32 * 1024, 64 * 1024));
    }
    let plain = TcpConnector::new().oneshot(candidate(addr)).await.unwrap().io;
    let socket = socket2::SockRef::from(&plain);
    assert!(!socket.keepalive().unwrap() && socket.linger().unwrap().is_none(), "the rest is the system's");
}

/// connect 52: refused is a failure of this address.
#[tokio::test]
async fn refused() {
    let (_held, addr) = nobody();
    let error = TcpConnector::new().oneshot(candidate(addr)).await.unwrap_err();
    assert_eq!((error.stage(), error.scope()), (Stage::TCP, Scope::Candidate));
    assert_eq!(error.find::<io::Error>().unwrap().kind(), io::ErrorKind::ConnectionRefused);
}

/// A listener whose queue is full, so that Linux drops further SYNs: a black hole on loopback.
#[cfg(target_os = "linux")]
async fn black_hole() -> (socket2::Socket, Vec<TcpStream>, SocketAddr) {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    socket.listen(0).unwrap();
    let addr = socket.local_addr().unwrap().as_socket().unwrap();
    let mut queued = Vec::new();
    while let Ok(Ok(stream)) = timeout(LIMIT, TcpStream::connect(addr)).await {
        queued.push(stream);
    }
    (socket, queued, addr)
}

/// connect 61: a connect has a limit, 5 s unless told otherwise.
/// connect 52: a black hole is a failure of this address, at the stage tcp.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_black_hole_ends_at_the_limit() {
    let (_socket, _queued, addr) = black_hole().await;
    assert_eq!(DEFAULT_CONNECT_TIMEOUT, Duration::from_secs(5));
    let connect = TcpConnector::new().with_connect_timeout(LIMIT).oneshot(candidate(addr));
    let error = timeout(20 * LIMIT, connect).await.unwrap().unwrap_err();
    assert_eq!(
        (error.stage(), error.scope(), error.find()),
        (Stage::TCP, Scope::Candidate, Some(&TimedOut::new(LIMIT)))
    );
}

type Target = Pinned<Address>;

/// Dials, then expects one byte.
fn one_byte() -> impl Service<
    Candidates<Target>,
    Response = messina_layers::Established<Target, TcpStream>,
    Error = messina_layers::ConnectError,
    Future: Send,
> + Clone {
    let handshake = service_fn(async |mut transport: Transport<Target, TcpStream>| {
        transport.io.read_u8().await?;
        Ok::<_, io::Error>(transport.io)
    });
    ServiceBuilder::new()
        .layer(FallbackLayer::new())
        .layer(AttemptLayer::new())
        .layer(HandshakeLayer::new(handshake).with_timeout(3 * LIMIT))
        .service(TcpConnector::new())
}

fn all(addrs: &[SocketAddr]) -> Candidates<Target> {
    let target = Pinned::new("db.test:9042".parse::<Address>().unwrap());
    Candidates::new(target, addrs.iter().copied()).unwrap()
}

/// What the kernel has for this socket at this very moment.
fn at_once(stream: TcpStream) -> io::Result<usize> {
    use std::io::Read;
    stream.into_std().unwrap().read(&mut [0; 8])
}

/// connect 35: the peer sees the end of the failed connection before the next accept.
/// connect 33: later candidates see no SYN.
/// connect 32: no overlap.
/// connect 52: a server that is silent, or closes early, costs its candidate.
#[tokio::test]
async fn a_failed_connection_is_closed_before_the_next_opens() {
    let (silent, first) = listener().await;
    let (closing, second) = listener().await;
    let (good, third) = listener().await;
    let (spare, fourth) = listener().await;
    let connect = tokio::spawn(one_byte().oneshot(all(&[first, second, third, fourth])));

    let (stream, _) = silent.accept().await.unwrap();
    let (next, _) = closing.accept().await.unwrap();
    assert_eq!(at_once(stream).unwrap(), 0, "closed already");
    // Without a byte.
    drop(next);
    let (mut stream, _) = good.accept().await.unwrap();
    stream.write_u8(1).await.unwrap();

    let established = connect.await.unwrap().unwrap();
    assert_eq!(established.addr, third);
    let lost: Vec<_> = established.failed.iter().map(|lost| (lost.addr, lost.error.stage())).collect();
    assert_eq!(lost, [(first, Stage::HANDSHAKE), (second, Stage::HANDSHAKE)]);
    assert_eq!(established.failed[0].error.find(), Some(&TimedOut::new(3 * LIMIT)));
    assert!(timeout(LIMIT, spare.accept()).await.is_err(), "no SYN after the first success");
}

async fn accept_and(listener: TcpListener, reset: bool) {
    let (stream, _) = listener.accept().await.unwrap();
    if reset {
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

/// connect 52: reset after accept, accept then close: the handshake tells.
#[tokio::test]
async fn reset_and_close_after_accept() {
    for (reset, expected) in [(true, io::ErrorKind::ConnectionReset), (false, io::ErrorKind::UnexpectedEof)] {
        let (listener, addr) = listener().await;
        let (result, ()) = tokio::join!(one_byte().oneshot(all(&[addr])), accept_and(listener, reset));
        let error = result.unwrap_err();
        let lost = &error.failed()[0];
        assert_eq!((lost.addr, lost.error.scope()), (addr, Scope::Candidate));
        let kind = lost.error.find::<io::Error>().unwrap().kind();
        // A reset may win the race against the dial itself.
        assert!(kind == expected || (reset && lost.error.stage() == Stage::TCP), "{kind:?}");
    }
}

/// connect 45: dropping a connect closes its socket.
#[tokio::test]
async fn a_dropped_connect_closes_its_socket() {
    let (listener, addr) = listener().await;
    let mut connect = tokio_test::task::spawn(one_byte().oneshot(all(&[addr])));
    assert!(connect.poll().is_pending());
    let (mut stream, _) = listener.accept().await.unwrap();
    drop(connect);
    assert_eq!(timeout(20 * LIMIT, stream.read(&mut [0])).await.unwrap().unwrap_or(0), 0);
}

/// report 17: localhost as ::1 and 127.0.0.1, of which one listens.
#[tokio::test]
async fn the_family_that_listens_is_found() {
    let (listener, addr) = listener().await;
    let six = SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), addr.port());
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_u8(1).await.unwrap();
        stream
    };
    let (established, _stream) = tokio::join!(one_byte().oneshot(all(&[six, addr])), serve);
    let established = established.unwrap();
    assert_eq!((established.addr, established.failed[0].error.stage()), (addr, Stage::TCP));
}
