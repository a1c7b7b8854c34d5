//! The connector that hyper is given: a connect stack.

use std::{
    convert::Infallible,
    fmt,
    future::{Future, Ready, ready},
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use messina_layers::{
    AttemptLayer, BoxConnect, BoxError, Established, HandshakeLayer, MaybeTls, Name, Pinned, TcpConnector, TlsLayer,
    Transport, connect_stack,
};
use tokio::net::TcpStream;
use tower::{ServiceBuilder, ServiceExt, util::BoxCloneSyncService};
use tower_service::Service;

use super::{HttpOptions, Target};

/// After how long the system begins to ask whether an idle peer is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

type Io = MaybeTls<TcpStream>;

/// The address that answered a request, in the extensions of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteAddr(pub SocketAddr);

/// Cheap to clone: hyper does so for every request.
#[derive(Clone)]
pub(super) struct Connector(Arc<Connect>);

struct Connect {
    stack: BoxConnect<Pinned<Target>, Io>,
    accepted: Vec<Name>,
}

/// A protocol without a handshake: the transport is the connection.
#[derive(Clone, Debug)]
struct AsIs;

impl<T> Service<Transport<T, Io>> for AsIs {
    type Response = Io;
    type Error = Infallible;
    type Future = Ready<Result<Io, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, transport: Transport<T, Io>) -> Self::Future {
        ready(Ok(transport.io))
    }
}

impl Connector {
    pub(super) fn new(options: HttpOptions) -> Self {
        let tls = TlsLayer::new().with_timeout(options.tls_timeout);
        #[cfg(feature = "rustls")]
        let tls = match options.tls {
            Some(config) => tls.with_config(config),
            None => tls,
        };
        let tcp = TcpConnector::new().with_connect_timeout(options.connect_timeout).with_keepalive(KEEPALIVE);
        let attempt =
            ServiceBuilder::new().layer(AttemptLayer::new()).layer(HandshakeLayer::new(AsIs)).layer(tls).service(tcp);
        let stack = connect_stack(attempt, options.resolver, options.connect);
        Self(Arc::new(Connect { stack: BoxCloneSyncService::new(stack), accepted: options.accepted }))
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl Service<Uri> for Connector {
    type Response = Channel;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Channel, BoxError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let target = Target::from_uri(&uri).map(|target| target.accepting(&self.0.accepted));
        let stack = self.0.stack.clone();
        Box::pin(async move {
            let Established { connection, addr, .. } = stack.oneshot(Pinned::new(target?)).await?;
            Ok(Channel { io: TokioIo::new(connection), addr })
        })
    }
}

/// An open connection, as hyper wants it.
#[derive(Debug)]
pub(super) struct Channel {
    io: TokioIo<Io>,
    addr: SocketAddr,
}

impl Connection for Channel {
    fn connected(&self) -> Connected {
        Connected::new().extra(RemoteAddr(self.addr))
    }
}

impl Read for Channel {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl Write for Channel {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }
}
