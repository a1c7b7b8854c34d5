//! One HTTP node.

mod serve;

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::fault::{HttpFault, On};
use super::wire::{HttpReply, HttpRequest};
use super::{ServerTls, Shared};
use crate::testkit::door::{Door, Mode};

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
}
