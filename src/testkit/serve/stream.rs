//! Bytes in and out of one connection.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::link::Link;
use crate::testkit::pipe::Io;

/// How much may wait to be written before no more is read.
const FULL: usize = 32 * 1024 * 1024;

/// A connection with its buffers.
pub(super) struct Stream {
    pub(super) link: Link,
    pub(super) received: BytesMut,
    waiting: BytesMut,
    /// Whether something was written since the last flush.
    written: bool,
    /// Whether nothing is sent any more.
    mute: bool,
}

impl Stream {
    pub(super) fn new(io: Io) -> Self {
        let (received, waiting) = (BytesMut::new(), BytesMut::new());
        Self { link: Link::Plain(io), received, waiting, written: false, mute: false }
    }

    /// Puts bytes behind those that wait to be written.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        if !self.mute {
            self.waiting.extend_from_slice(bytes);
        }
    }

    /// From now on nothing is sent but what waits already.
    pub(super) fn mute(&mut self) {
        self.mute = true;
    }

    pub(super) fn reset_on_drop(&self) {
        self.link.reset_on_drop();
    }

    /// Writes what waits and reads what comes; ready when something came. 0 is the end.
    pub(super) async fn transfer(&mut self) -> io::Result<usize> {
        poll_fn(|cx| self.poll_transfer(cx)).await
    }

    fn poll_transfer(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Err(error)) = self.poll_write_out(cx) {
            return Poll::Ready(Err(error));
        }
        if self.waiting.len() > FULL {
            return Poll::Pending;
        }
        let mut bytes = [0; 8 * 1024];
        let mut buf = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut self.link).poll_read(cx, &mut buf))?;
        self.received.extend_from_slice(buf.filled());
        Poll::Ready(Ok(buf.filled().len()))
    }

    fn poll_write_out(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.waiting.is_empty() {
            let written = ready!(Pin::new(&mut self.link).poll_write(cx, &self.waiting))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.waiting.advance(written);
            self.written = true;
        }
        if self.written {
            ready!(Pin::new(&mut self.link).poll_flush(cx))?;
            self.written = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what waits, then says that nothing follows.
    pub(super) async fn finish(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_write_out(cx)).await?;
        poll_fn(|cx| Pin::new(&mut self.link).poll_shutdown(cx)).await
    }
}
