//! A transport of the application's own, seen byte by byte.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use messina::{
    config::TlsSettings,
    establish::{BoxConnector, BoxIo, Open},
    layers::Transport,
    testkit::{Cluster, Network, TestCa},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower::{ServiceExt, layer::layer_fn};

use crate::support::{all_closed, named};

/// Writes down what is written.
struct Tapped {
    io: BoxIo,
    written: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for Tapped {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Tapped {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, bytes);
        if let Poll::Ready(Ok(length)) = polled {
            self.written.lock().unwrap().extend(&bytes[..length]);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// connect 66: what the application puts around a dial stands below TLS and the protocol: it sees every byte, and has no
/// way to put itself in their place.
/// connect D24: the transport seam is around the connector, below TLS.
#[tokio::test(start_paused = true)]
async fn the_transport_seam_sees_bytes() {
    for encrypted in [false, true] {
        let ca = TestCa::new();
        let network = Network::new();
        let mut cluster = Cluster::builder().network(&network);
        if encrypted {
            cluster = cluster.tls(ca.server(["db.test", "10.0.0.1"]));
        }
        let cluster = cluster.start().await.unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        let tap = Arc::clone(&written);
        let layer = layer_fn(move |inner: BoxConnector| {
            let tap = Arc::clone(&tap);
            inner.map_response(move |transport: Transport<Open, BoxIo>| {
                transport.map_io(|io| Box::new(Tapped { io, written: Arc::clone(&tap) }) as BoxIo)
            })
        });
        let mut builder = named(&network, cluster.addrs()).transport_layer(layer);
        if encrypted {
            builder = builder.tls(TlsSettings::new(ca.client()));
        }
        let session = builder.build().await.unwrap();
        let written = written.lock().unwrap().clone();
        // A hello of TLS, or OPTIONS in v4.
        assert_eq!(written[0], if encrypted { 0x16 } else { 0x04 });
        let text = b"SELECT cluster_name";
        assert_eq!(written.windows(text.len()).any(|window| window == text), !encrypted);
        drop(session);
        all_closed(cluster.log()).await;
    }
}
