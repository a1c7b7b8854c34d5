//! What a node does with its connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::rustls::HandshakeKind;

use super::Inner;
use crate::testkit::http::fault::HttpFault;
use crate::testkit::http::forward::forward;
use crate::testkit::http::signature;
use crate::testkit::http::wire::{HttpReply, HttpRequest};

/// How many requests a node remembers.
const REMEMBERED: usize = 10_000;

impl Inner {
    pub(super) async fn connection(self: Arc<Self>, stream: tokio::net::TcpStream) {
        let mut resets = self.resets.subscribe();
        resets.mark_unchanged();
        self.open.fetch_add(1, Ordering::Relaxed);
        let tls = self.state().options.tls.clone();
        let serve = async {
            match tls {
                None => self.serve(stream).await,
                Some(tls) => {
                    let stream = tls.acceptor().accept(stream).await?;
                    if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) {
                        self.resumed.fetch_add(1, Ordering::Relaxed);
                    }
                    self.serve(stream).await
                }
            }
        };
        tokio::select! {
            // A client that is gone is nothing to tell.
            _ = serve => {}
            _ = resets.changed() => {}
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    async fn serve(&self, mut io: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
        let mut buffer = BytesMut::new();
        while let Some(request) = HttpRequest::read(&mut io, &mut buffer).await? {
            let (fault, server) = self.note(&request);
            if let Some(HttpFault::Slow(delay)) = &fault {
                tokio::time::sleep(*delay).await;
            }
            let reply = match (&fault, self.refusal(&request), server) {
                (Some(HttpFault::Reply(reply)), ..) => reply.clone(),
                (Some(HttpFault::Status(status) | HttpFault::Endless(status)), ..) => {
                    HttpReply::refusal(*status, "InternalServerError", "a fault")
                }
                (_, Some(refusal), _) => refusal,
                (_, None, Some(server)) if request.method == "POST" => forward(&request, server).await?,
                _ => self.answer(&request),
            };
            match fault {
                Some(HttpFault::Hang) => return gone(&mut io).await,
                Some(HttpFault::Close) => return Ok(()),
                Some(HttpFault::Garbage) => return io.write_all(b"\x00\x01 this is not HTTP\r\n\r\n").await,
                Some(HttpFault::HalfHead) => return io.write_all(b"HTTP/1.1 200 answer\r\nContent-Le").await,
                Some(HttpFault::HalfBody) => {
                    let bytes = reply.bytes();
                    return io.write_all(&bytes[..bytes.len() - reply.body.len().div_ceil(2)]).await;
                }
                Some(HttpFault::NoBody) => {
                    io.write_all(&reply.head("Content-Length: 1000")).await?;
                    return gone(&mut io).await;
                }
                Some(HttpFault::Endless(_)) => {
                    io.write_all(&reply.head("Transfer-Encoding: chunked")).await?;
                    loop {
                        io.write_all(b"8\r\n        \r\n").await?;
                        tokio::task::yield_now().await;
                    }
                }
                Some(HttpFault::EndlessHead) => {
                    io.write_all(b"HTTP/1.1 200 answer\r\n").await?;
                    loop {
                        io.write_all(b"X-More: of the same, and on and on it goes\r\n").await?;
                        tokio::task::yield_now().await;
                    }
                }
                _ => io.write_all(&reply.bytes()).await?,
            }
            if request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
                break;
            }
        }
        Ok(())
    }

    /// Counts a request; gives what is to go wrong with it and who else is to answer it.
    fn note(&self, request: &HttpRequest) -> (Option<HttpFault>, Option<SocketAddr>) {
        let mut state = self.state();
        if state.received.len() < REMEMBERED {
            state.received.push(request.clone());
        }
        if request.path() == "/localnodes" {
            self.polls.fetch_add(1, Ordering::Relaxed);
            (state.list_fault.clone(), None)
        } else {
            self.requests.fetch_add(1, Ordering::Relaxed);
            (state.request_fault.clone(), state.server)
        }
    }

    /// What is said to a request that is not signed as it has to be.
    fn refusal(&self, request: &HttpRequest) -> Option<HttpReply> {
        let credentials = self.state().options.credentials.clone();
        let (access_key, secret) = credentials.filter(|_| request.method == "POST")?;
        if request.header("authorization").is_none() {
            return Some(HttpReply::refusal(400, "MissingAuthenticationTokenException", "not signed"));
        }
        let right = signature::is_right(request, &access_key, &secret);
        (!right).then(|| HttpReply::refusal(400, "UnrecognizedClientException", "wrong signature"))
    }

    fn answer(&self, request: &HttpRequest) -> HttpReply {
        match (request.method.as_str(), request.path()) {
            ("GET", "/localnodes") => {
                let (mut data_center, mut rack) = (request.parameter("dc"), request.parameter("rack"));
                if !self.state().options.knows_filters {
                    (data_center, rack) = (None, None);
                }
                let list = self.shared.list(self.door.addr().ip(), data_center.as_deref(), rack.as_deref());
                let list: Vec<String> = list.iter().map(|ip| format!("\"{ip}\"")).collect();
                HttpReply::new(200, format!("[{}]", list.join(",")))
            }
            ("GET", "/") => HttpReply::new(200, format!("healthy: {}", self.door.addr())),
            _ => {
                let handler = self.state().handler.clone();
                handler.map_or_else(|| HttpReply::new(200, "{}"), |handler| handler(request))
            }
        }
    }
}

/// Waits until the client closes.
async fn gone(io: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut sink = [0; 1024];
    while io.read(&mut sink).await? > 0 {}
    Ok(())
}
