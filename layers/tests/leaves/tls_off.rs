//! The TLS layer where the target wants none, or this build has none.

use std::io;

use messina_layers::{
    Address, Candidate, Dial, MaybeTls, Scope, ServerIdentity, Stage, TlsIdentity, TlsLayer, Transport,
};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::support::candidate;

fn connector<T: Send>(
    near: DuplexStream,
) -> impl Service<Candidate<T>, Response = Transport<T, DuplexStream>, Error = io::Error, Future: Send> {
    let mut near = Some(near);
    service_fn(move |candidate| std::future::ready(Ok(Transport::new(candidate, near.take().unwrap()))))
}

/// The layer is always in the stack; a target that asks for no TLS gets its bytes as they are.
#[tokio::test]
async fn a_plain_target_passes_through() {
    let (near, mut far) = tokio::io::duplex(64);
    let addr = "10.0.0.1:9042".parse().unwrap();
    let mut transport = TlsLayer::new().layer(connector(near)).oneshot(candidate(addr)).await.unwrap();
    assert!(!transport.io.is_encrypted() && matches!(transport.io, MaybeTls::Plain(_)));
    assert_eq!((transport.peer, &transport.target), (addr, &Address::Socket(addr)));
    transport.io.write_all(b"ping").await.unwrap();
    transport.io.flush().await.unwrap();
    let mut heard = [0; 4];
    far.read_exact(&mut heard).await.unwrap();
    far.write_all(b"pong").await.unwrap();
    assert_eq!(&heard, b"ping");
    transport.io.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"pong");
    let slices = [io::IoSlice::new(b"a"), io::IoSlice::new(b"b")];
    assert!(transport.io.write_vectored(&slices).await.unwrap() >= 1);
    let _: bool = transport.io.is_write_vectored();
    transport.io.shutdown().await.unwrap();
    assert!(far.read_to_end(&mut Vec::new()).await.unwrap() >= 1);
}

struct Secure;

impl Dial for Secure {
    fn address(&self) -> Address {
        Address::Socket("10.0.0.1:1".parse().unwrap())
    }
}

impl ServerIdentity for Secure {
    fn tls(&self) -> Option<TlsIdentity> {
        Some(TlsIdentity::dialled())
    }
}

/// TLS that cannot be had is refused, never left out.
#[tokio::test]
async fn tls_without_settings_is_an_error() {
    let candidate = Candidate::new(Secure, "10.0.0.1:1".parse().unwrap());
    let tls = TlsLayer::new().layer(connector(tokio::io::duplex(1).0));
    let error = tls.oneshot(candidate).await.map(drop).unwrap_err();
    assert_eq!((error.stage(), error.scope()), (Stage::TLS, Scope::Endpoint));
    #[cfg(not(feature = "rustls"))]
    assert!(error.cause().to_string().contains("built without its feature `rustls`"), "{}", error.cause());
}
