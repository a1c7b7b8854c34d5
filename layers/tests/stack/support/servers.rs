//! Scripted servers in the place of an attempt: they count dials, open sockets and overlap.

use std::{
    collections::HashMap,
    convert::Infallible,
    future::{Future, pending},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use messina_layers::{AttemptError, Candidate, Turn};
use tower::Service;

use super::{number, refused};

/// What happened, in order; servers are told apart by the last byte of their address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Dialled(u8),
    LoggedIn(u8),
    Closed(u8),
}

/// What a server does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Accept,
    AcceptAfter(Duration),
    Fail(AttemptError),
    FailAfter(Duration, AttemptError),
    Silence,
    Panic,
    /// Takes the turn after the first time, then accepts after the second.
    Login(Duration, Duration),
    /// Takes the turn after the first time, then fails after the second.
    RefuseLogin(Duration, Duration, AttemptError),
}

#[derive(Debug, Default)]
struct State {
    script: HashMap<u8, Step>,
    log: Vec<Event>,
    open: usize,
    most_open: usize,
    logins: usize,
    most_logins: usize,
}

/// The servers; those not in the script refuse. Clones share everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Servers(Arc<Mutex<State>>);

impl Servers {
    pub(crate) fn new(script: impl IntoIterator<Item = (u8, Step)>) -> Self {
        let servers = Self::default();
        servers.0.lock().unwrap().script.extend(script);
        servers
    }

    pub(crate) fn log(&self) -> Vec<Event> {
        self.0.lock().unwrap().log.clone()
    }

    pub(crate) fn dialled(&self) -> Vec<u8> {
        let dialled = |event| if let Event::Dialled(n) = event { Some(n) } else { None };
        self.log().into_iter().filter_map(dialled).collect()
    }

    pub(crate) fn forget(&self) {
        self.0.lock().unwrap().log.clear();
    }

    pub(crate) fn open(&self) -> usize {
        self.0.lock().unwrap().open
    }

    pub(crate) fn most_open(&self) -> usize {
        self.0.lock().unwrap().most_open
    }

    pub(crate) fn most_logins(&self) -> usize {
        self.0.lock().unwrap().most_logins
    }
}

/// What the servers answer; holds its socket.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) n: u8,
    _socket: Socket,
}

#[derive(Debug)]
struct Socket {
    n: u8,
    servers: Servers,
}

impl Socket {
    fn open(n: u8, servers: Servers) -> Self {
        let mut state = servers.0.lock().unwrap();
        state.log.push(Event::Dialled(n));
        state.open += 1;
        state.most_open = state.most_open.max(state.open);
        drop(state);
        Self { n, servers }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let mut state = self.servers.0.lock().unwrap();
        state.log.push(Event::Closed(self.n));
        state.open -= 1;
    }
}

struct Login<'a>(&'a Servers);

impl<'a> Login<'a> {
    fn start(n: u8, servers: &'a Servers) -> Self {
        let mut state = servers.0.lock().unwrap();
        state.log.push(Event::LoggedIn(n));
        state.logins += 1;
        state.most_logins = state.most_logins.max(state.logins);
        drop(state);
        Self(servers)
    }
}

impl Drop for Login<'_> {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().logins -= 1;
    }
}

/// An attempt; its socket is closed when it is dropped, not when it ends, as with a future that keeps its state.
pub(crate) struct Attempt {
    socket: Option<Socket>,
    outcome: Pin<Box<dyn Future<Output = Result<(), AttemptError>> + Send>>,
}

impl Future for Attempt {
    type Output = Result<Conn, AttemptError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.outcome.as_mut().poll(cx).map_ok(|()| {
            let socket = self.socket.take().unwrap();
            Conn { n: socket.n, _socket: socket }
        })
    }
}

impl<T> Service<Candidate<T>> for Servers {
    type Response = Conn;
    type Error = AttemptError;
    type Future = Attempt;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, candidate: Candidate<T>) -> Attempt {
        let (_, addr, turn) = candidate.into_parts();
        let n = number(addr);
        let step = self.0.lock().unwrap().script.get(&n).cloned().unwrap_or_else(|| Step::Fail(refused()));
        let socket = Socket::open(n, self.clone());
        Attempt { socket: Some(socket), outcome: Box::pin(run(step, addr, turn, self.clone())) }
    }
}

async fn run(step: Step, addr: SocketAddr, turn: Turn, servers: Servers) -> Result<(), AttemptError> {
    let login = async |first, second| {
        tokio::time::sleep(first).await;
        let _turn = turn.take().await;
        let _login = Login::start(number(addr), &servers);
        tokio::time::sleep(second).await;
    };
    match step {
        Step::Accept => Ok(()),
        Step::AcceptAfter(after) => {
            tokio::time::sleep(after).await;
            Ok(())
        }
        Step::Fail(error) => Err(error),
        Step::FailAfter(after, error) => {
            tokio::time::sleep(after).await;
            Err(error)
        }
        Step::Silence => match pending::<Infallible>().await {},
        Step::Panic => panic!("server {addr} broke the client"),
        Step::Login(first, second) => {
            login(first, second).await;
            Ok(())
        }
        Step::RefuseLogin(first, second, error) => {
            login(first, second).await;
            Err(error)
        }
    }
}
