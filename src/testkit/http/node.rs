//! One HTTP node.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::rustls::HandshakeKind;

use super::forward::forward;
use super::signature;
use super::wire::{HttpReply, HttpRequest};
use super::{ServerTls, Shared};
use crate::testkit::door::{Door, Mode};

/// How many requests a node remembers.
const REMEMBERED: usize = 10_000;

/// What a node does with a request instead of answering it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HttpFault {
    /// It reads the request and says nothing, for ever.
    Hang,
    /// It reads the request and closes.
    Close,
    /// It sends half of the head of its answer and closes.
    HalfHead,
    /// It sends the head and half of the body of its answer, and closes.
    HalfBody,
    /// It sends the head of its answer and the body never.
    NoBody,
    /// It answers this status.
    Status(u16),
    /// It answers this.
    Reply(HttpReply),
    /// It answers this status with a body that never ends.
    Endless(u16),
    /// It answers headers that never end.
    EndlessHead,
    /// It sends what is not HTTP.
    Garbage,
    /// It answers after a while.
    Slow(Duration),
}

/// Which requests a fault is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// All of them.
    All,
    /// `GET /localnodes`.
    List,
    /// All others.
    Requests,
}

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) tls: Option<ServerTls>,
    pub(super) credentials: Option<(String, String)>,
    pub(super) knows_filters: bool,
}

type Handler = Arc<dyn Fn(&HttpRequest) -> HttpReply + Send + Sync>;

struct State {
    options: Options,
    list_fault: Option<HttpFault>,
    request_fault: Option<HttpFault>,
    handler: Option<Handler>,
    server: Option<SocketAddr>,
    received: Vec<HttpRequest>,
}

struct Inner {
    door: Door,
    shared: Arc<Shared>,
    state: Mutex<State>,
    accepts: AtomicUsize,
    open: AtomicUsize,
    resumed: AtomicUsize,
    polls: AtomicUsize,
    requests: AtomicUsize,
    /// Changes when all connections are to be closed.
    resets: watch::Sender<u64>,
}

/// A node; a clone is the same node, which ends with its [`HttpCluster`](super::HttpCluster).
#[derive(Clone)]
pub struct HttpNode {
    inner: Arc<Inner>,
    _task: Arc<Task>,
}

struct Task(JoinHandle<Infallible>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl HttpNode {
    pub(super) fn start(addr: SocketAddr, options: Options, shared: Arc<Shared>) -> io::Result<Self> {
        let door = Door::bind(addr)?;
        door.set(Mode::Open)?;
        let state =
            State { options, list_fault: None, request_fault: None, handler: None, server: None, received: Vec::new() };
        let inner = Arc::new(Inner {
            door,
            shared,
            state: Mutex::new(state),
            accepts: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            resumed: AtomicUsize::new(0),
            polls: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            resets: watch::Sender::new(0),
        });
        let task = tokio::spawn(Arc::clone(&inner).run());
        Ok(Self { inner, _task: Arc::new(Task(task)) })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.inner.door.addr()
    }

    /// Its URL.
    pub fn url(&self) -> String {
        let scheme = if self.inner.state().options.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.addr())
    }

    /// Closes all connections and refuses new ones.
    pub fn stop(&self) {
        self.open_door(Mode::Refusing);
    }

    /// Closes all connections and lets no dial end.
    pub fn black_hole(&self) {
        self.open_door(Mode::BlackHole);
    }

    /// Listens again after [`stop`](Self::stop).
    pub fn restart(&self) {
        self.open_door(Mode::Open);
    }

    fn open_door(&self, mode: Mode) {
        // The port is held all the time, so that nobody else can have taken it.
        if let Err(error) = self.inner.door.set(mode) {
            panic!("the port of a test node is lost: {error}");
        }
        self.reset();
    }

    /// Closes all connections, those that answer included.
    pub fn reset(&self) {
        self.inner.resets.send_modify(|count| *count += 1);
    }

    /// From now on such requests end like this.
    pub fn fault(&self, on: On, fault: HttpFault) {
        self.set_fault(on, Some(fault));
    }

    /// From now on such requests are answered again.
    pub fn heal(&self, on: On) {
        self.set_fault(on, None);
    }

    fn set_fault(&self, on: On, fault: Option<HttpFault>) {
        let mut state = self.inner.state();
        if on != On::Requests {
            state.list_fault.clone_from(&fault);
        }
        if on != On::List {
            state.request_fault = fault;
        }
    }

    /// What is answered to requests, in place of `{}`.
    pub fn answer(&self, handler: impl Fn(&HttpRequest) -> HttpReply + Send + Sync + 'static) {
        self.inner.state().handler = Some(Arc::new(handler));
    }

    /// Hands requests on to this server, once their signature is found right.
    pub fn forward_to(&self, server: SocketAddr) {
        self.inner.state().server = Some(server);
    }

    /// How many connections were accepted.
    pub fn accepts(&self) -> usize {
        self.inner.accepts.load(Ordering::Relaxed)
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.inner.open.load(Ordering::Relaxed)
    }

    /// How many TLS handshakes resumed an earlier session.
    pub fn resumed(&self) -> usize {
        self.inner.resumed.load(Ordering::Relaxed)
    }

    /// How many times `/localnodes` was asked for.
    pub fn polls(&self) -> usize {
        self.inner.polls.load(Ordering::Relaxed)
    }

    /// How many other requests were received, whatever became of them.
    pub fn requests(&self) -> usize {
        self.inner.requests.load(Ordering::Relaxed)
    }

    /// The requests received, of both kinds; the first 10,000 of them.
    pub fn received(&self) -> Vec<HttpRequest> {
        self.inner.state().received.clone()
    }

    /// The last request received that asked for anything but the list.
    pub fn last(&self) -> Option<HttpRequest> {
        self.inner.state().received.iter().rev().find(|request| request.path() != "/localnodes").cloned()
    }
}

impl fmt::Debug for HttpNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpNode").field("addr", &self.addr()).finish_non_exhaustive()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(self: Arc<Self>) -> Infallible {
        let mut connections = JoinSet::new();
        loop {
            let stream = self.door.accept().await;
            while connections.try_join_next().is_some() {}
            self.accepts.fetch_add(1, Ordering::Relaxed);
            connections.spawn(Arc::clone(&self).connection(stream));
        }
    }

    async fn connection(self: Arc<Self>, stream: tokio::net::TcpStream) {
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
