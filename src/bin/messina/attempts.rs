//! A layer around each attempt that keeps what became of it: the same seam that an application may use.

use std::{
    fmt,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use comfy_table::{Table, presets::UTF8_BORDERS_ONLY};
use messina::{
    establish::{Accepted, BoxAttempt, Open},
    layers::{AttemptError, Candidate, error::chain},
};
use tokio::{sync::watch, time::Instant};
use tower::{Layer, Service};

/// Keeps every attempt; clones share what they keep.
#[derive(Clone, Debug)]
pub(crate) struct Attempts {
    kept: Arc<Mutex<Vec<Kept>>>,
    ended: Arc<watch::Sender<()>>,
}

/// One attempt, in the order of dialling.
#[derive(Debug)]
struct Kept {
    addr: SocketAddr,
    // Whether it was for the control connection; else for a node's.
    control: bool,
    // Nothing while it goes on.
    end: Option<(Duration, Outcome)>,
}

#[derive(Debug)]
enum Outcome {
    Connected,
    GivenUp,
    Failed(String),
}

impl Default for Attempts {
    fn default() -> Self {
        Self { kept: Arc::default(), ended: Arc::new(watch::Sender::new(())) }
    }
}

impl Attempts {
    /// How many attempts failed so far.
    pub(crate) fn failed(&self) -> usize {
        let failed = |kept: &&Kept| matches!(kept.end, Some((_, Outcome::GivenUp | Outcome::Failed(_))));
        self.lock().iter().filter(failed).count()
    }

    /// Waits until each of these addresses has a connection for requests.
    pub(crate) async fn connected_nodes(&self, addrs: &[SocketAddr]) {
        let connected = |addr: &SocketAddr| {
            let of_node =
                |kept: &Kept| kept.addr == *addr && !kept.control && matches!(kept.end, Some((_, Outcome::Connected)));
            self.lock().iter().any(of_node)
        };
        let mut ended = self.ended.subscribe();
        while !addrs.iter().all(connected) {
            // The sender lives as long as `self`.
            if ended.changed().await.is_err() {
                return;
            }
        }
    }

    /// A row per attempt, in the order of dialling.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(UTF8_BORDERS_ONLY).set_header(["address", "for", "after", "outcome"]);
        for kept in self.lock().iter() {
            let purpose = if kept.control { "control" } else { "node" };
            let (after, outcome) = match &kept.end {
                None => (String::new(), "goes on".to_owned()),
                Some((elapsed, outcome)) => (format!("{elapsed:.1?}"), outcome.to_string()),
            };
            table.add_row([kept.addr.to_string(), purpose.to_owned(), after, outcome]);
        }
        table
    }

    /// A new row.
    fn begin(&self, addr: SocketAddr, control: bool) -> Watch {
        let mut kept = self.lock();
        kept.push(Kept { addr, control, end: None });
        Watch { row: kept.len() - 1, started: Instant::now(), attempts: self.clone(), ended: false }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected => f.write_str("connected"),
            Self::GivenUp => f.write_str("given up: another address won"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl Layer<BoxAttempt> for Attempts {
    type Service = Watched;

    fn layer(&self, inner: BoxAttempt) -> Watched {
        Watched { inner, attempts: self.clone() }
    }
}

/// An attempt that is watched.
#[derive(Clone)]
pub(crate) struct Watched {
    inner: BoxAttempt,
    attempts: Attempts,
}

impl Service<Candidate<Open>> for Watched {
    type Response = Accepted;
    type Error = AttemptError;
    type Future = Pin<Box<dyn Future<Output = Result<Accepted, AttemptError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, candidate: Candidate<Open>) -> Self::Future {
        let mut watch = self.attempts.begin(candidate.addr(), candidate.target().is_control());
        let attempt = self.inner.call(candidate);
        Box::pin(async move {
            let result = attempt.await;
            watch.end(match &result {
                Ok(_) => Outcome::Connected,
                Err(error) => Outcome::Failed(format!("failed at {}: {}", error.stage(), chain(error.cause()))),
            });
            result
        })
    }
}

/// Tells the end of an attempt, also of one that was dropped because another won.
struct Watch {
    row: usize,
    started: Instant,
    attempts: Attempts,
    ended: bool,
}

impl Watch {
    fn end(&mut self, outcome: Outcome) {
        if self.ended {
            return;
        }
        self.ended = true;
        if let Some(kept) = self.attempts.lock().get_mut(self.row) {
            kept.end = Some((self.started.elapsed(), outcome));
        }
        self.attempts.ended.send_replace(());
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end(Outcome::GivenUp);
    }
}
