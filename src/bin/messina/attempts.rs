//! A layer around each attempt that keeps what became of it: the same seam that an application may use.

use std::{
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
use tokio::time::Instant;
use tower::{Layer, Service};

/// Keeps every attempt; clones share what they keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attempts {
    kept: Arc<Mutex<Vec<Kept>>>,
}

#[derive(Debug)]
struct Kept {
    addr: SocketAddr,
    elapsed: Duration,
    outcome: String,
}

impl Attempts {
    /// How many attempts failed so far.
    pub(crate) fn failed(&self) -> usize {
        self.lock().iter().filter(|kept| kept.outcome != CONNECTED).count()
    }

    /// A row per attempt, in the order in which they ended.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(UTF8_BORDERS_ONLY).set_header(["address", "after", "outcome"]);
        for kept in self.lock().iter() {
            table.add_row([kept.addr.to_string(), format!("{:.1?}", kept.elapsed), kept.outcome.clone()]);
        }
        table
    }

    fn keep(&self, kept: Kept) {
        self.lock().push(kept);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const CONNECTED: &str = "connected";

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
        let (addr, started, attempts) = (candidate.addr(), Instant::now(), self.attempts.clone());
        let mut watch = Watch { addr, started, attempts: Some(attempts) };
        let attempt = self.inner.call(candidate);
        Box::pin(async move {
            let result = attempt.await;
            watch.end(match &result {
                Ok(_) => CONNECTED.to_owned(),
                Err(error) => format!("failed at {}: {}", error.stage(), chain(error.cause())),
            });
            result
        })
    }
}

/// Tells the end of an attempt, also of one that was dropped because another won.
struct Watch {
    addr: SocketAddr,
    started: Instant,
    attempts: Option<Attempts>,
}

impl Watch {
    fn end(&mut self, outcome: String) {
        if let Some(attempts) = self.attempts.take() {
            attempts.keep(Kept { addr: self.addr, elapsed: self.started.elapsed(), outcome });
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end("given up: another address won".to_owned());
    }
}
