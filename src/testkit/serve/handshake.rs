//! The stages below CQL: what befalls the socket, then TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::link::Link;
use super::{Connection, GARBAGE};
use crate::testkit::Stage;
use crate::testkit::fault::Fault;
use crate::testkit::log::{Ended, EventKind};
use crate::testkit::pipe::Io;
use crate::testkit::tls::ServerTls;

/// How much of the server's first flight is sent before it stops in the middle.
const HALF_A_FLIGHT: usize = 64;

impl Connection {
    /// What a fault of the TCP stage does to a connection that was let in.
    pub(super) async fn tcp_fault(&mut self, fault: Fault) -> Option<Ended> {
        self.recorder.note(EventKind::Fault(Stage::Tcp));
        match fault {
            Fault::Delay(delay) | Fault::InLine(delay) => {
                tokio::time::sleep(delay).await;
                None
            }
            Fault::Silence | Fault::Half => Some(self.stay_mute().await),
            Fault::Wrong(_) => {
                self.stream.send(GARBAGE);
                Some(self.close().await)
            }
            Fault::Refuse | Fault::Fail(_) | Fault::Reset => Some(Ended::Reset),
            Fault::Close | Fault::Cut(_) | Fault::ThenClose | Fault::EventFirst(_) | Fault::Answer(_) => {
                Some(self.close().await)
            }
        }
    }

    /// Reads until the client goes, and says nothing.
    async fn stay_mute(&mut self) -> Ended {
        while let Ok(new @ 1..) = self.stream.transfer().await {
            self.record(new);
            self.stream.received.clear();
        }
        Ended::ByClient
    }

    /// The TLS handshake; tells how the connection ended if it did.
    pub(super) async fn tls(&mut self, tls: &ServerTls) -> Option<Ended> {
        let fault = self.node.strike(Stage::Tls);
        if fault.is_some() {
            self.recorder.note(EventKind::Fault(Stage::Tls));
        }
        let (mut choke, then_close) = (None, fault == Some(Fault::ThenClose));
        match fault {
            None | Some(Fault::ThenClose) => {}
            Some(Fault::Delay(delay) | Fault::InLine(delay)) => tokio::time::sleep(delay).await,
            Some(Fault::Silence) => return Some(self.stay_mute().await),
            Some(Fault::Half) => choke = Some(Choke { left: HALF_A_FLIGHT, closes: false }),
            Some(Fault::Cut(left)) => choke = Some(Choke { left, closes: true }),
            Some(fault) => {
                // What follows stands in place of an answer: the client says hello first.
                if self.stream.transfer().await.unwrap_or(0) == 0 {
                    return Some(Ended::ByClient);
                }
                if matches!(fault, Fault::Refuse | Fault::Fail(_) | Fault::Reset) {
                    return Some(Ended::Reset);
                }
                if matches!(fault, Fault::Wrong(_)) {
                    self.stream.send(GARBAGE);
                }
                return Some(self.close().await);
            }
        }
        let io = self.stream.link.take()?;
        if let Some(choke) = choke {
            let closes = choke.closes;
            // The handshake cannot succeed: it ends with the bytes, or with the client.
            drop(tls.acceptor().accept(Choked { io, choke }).await);
            return Some(if closes { Ended::ByServer } else { Ended::ByClient });
        }
        match tls.acceptor().accept(io).await {
            Ok(stream) => {
                let sni = stream.get_ref().1.server_name().map(str::to_owned);
                self.recorder.note(EventKind::Tls { sni });
                self.stream.link = Link::Tls(Box::new(stream));
                if then_close { Some(self.close().await) } else { None }
            }
            Err(error) => {
                self.recorder.note(EventKind::Refused(error.to_string()));
                Some(Ended::ByClient)
            }
        }
    }
}

/// How a flight is stopped in the middle.
struct Choke {
    left: usize,
    closes: bool,
}

/// Bytes of which only the first are written.
struct Choked {
    io: Io,
    choke: Choke,
}

impl AsyncRead for Choked {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Choked {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Choke { left, closes } = self.choke;
        if left == 0 && closes {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if left == 0 {
            return Poll::Ready(Ok(bytes.len()));
        }
        let polled = Pin::new(&mut self.io).poll_write(cx, &bytes[..bytes.len().min(left)]);
        if let Poll::Ready(Ok(written)) = polled {
            self.choke.left -= written;
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
