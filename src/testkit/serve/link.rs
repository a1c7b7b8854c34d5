//! A connection's bytes, in the clear or inside TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::testkit::pipe::Io;

/// What carries a connection.
pub(super) enum Link {
    Plain(Io),
    Tls(Box<TlsStream<Io>>),
    /// While the handshake has the bytes.
    Taken,
}

impl Link {
    /// The bytes in the clear; once.
    pub(super) fn take(&mut self) -> Option<Io> {
        match std::mem::replace(self, Self::Taken) {
            Self::Plain(io) => Some(io),
            other => {
                *self = other;
                None
            }
        }
    }

    pub(super) fn reset_on_drop(&self) {
        match self {
            Self::Plain(io) => io.reset_on_drop(),
            Self::Tls(stream) => stream.get_ref().0.reset_on_drop(),
            Self::Taken => {}
        }
    }
}

fn gone<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
}

impl AsyncRead for Link {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
            Self::Taken => gone(),
        }
    }
}

impl AsyncWrite for Link {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
            Self::Taken => gone(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
            Self::Taken => gone(),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            Self::Taken => gone(),
        }
    }
}
