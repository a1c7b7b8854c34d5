//! A resolver that keeps what it was asked and answers as told.

use std::{
    future::{Future, pending, ready},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use messina_layers::{Address, BoxError};
use tower::Service;

/// What the resolver does with every question.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Addrs(Vec<SocketAddr>),
    Error(&'static str),
    Silence,
    PanicAtOnce,
    PanicLater,
    NotReady(&'static str),
    PanicBeforeReady,
}

/// Clones share what was asked.
#[derive(Clone, Debug)]
pub(crate) struct Scripted {
    asked: Arc<Mutex<Vec<Address>>>,
    answer: Arc<Mutex<Answer>>,
}

impl Scripted {
    pub(crate) fn new(answer: Answer) -> Self {
        Self { asked: Arc::default(), answer: Arc::new(Mutex::new(answer)) }
    }

    pub(crate) fn addrs(addrs: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self::new(Answer::Addrs(addrs.into_iter().collect()))
    }

    pub(crate) fn asked(&self) -> Vec<Address> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn set(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    fn answer(&self) -> Answer {
        self.answer.lock().unwrap().clone()
    }
}

impl Service<Address> for Scripted {
    type Response = Vec<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Vec<SocketAddr>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self.answer() {
            Answer::NotReady(text) => Poll::Ready(Err(text.into())),
            Answer::PanicBeforeReady => panic!("no resolver today"),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, address: Address) -> Self::Future {
        self.asked.lock().unwrap().push(address);
        match self.answer() {
            Answer::Addrs(addrs) => Box::pin(ready(Ok(addrs))),
            Answer::Error(text) => Box::pin(ready(Err(text.into()))),
            Answer::Silence => Box::pin(pending()),
            Answer::PanicLater => Box::pin(async { panic!("lost my way") }),
            Answer::PanicAtOnce | Answer::NotReady(_) | Answer::PanicBeforeReady => panic!("lost my way at once"),
        }
    }
}
