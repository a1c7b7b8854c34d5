//! A connector that writes down what control connections dial.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use messina::{
    establish::Open,
    layers::Candidate,
    testkit::{Network, PipeConnecting, PipeConnector},
};
use tower::Service;

/// What control connections dialled, in order.
#[derive(Clone)]
pub(crate) struct Dials {
    network: Network,
    control: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Dials {
    pub(crate) fn new(network: &Network) -> Self {
        Self { network: network.clone(), control: Arc::default() }
    }

    /// Forgets, and gives what was dialled until now.
    pub(crate) fn take(&self) -> Vec<SocketAddr> {
        std::mem::take(&mut self.control.lock().unwrap())
    }

    pub(crate) fn connector(&self) -> Recording {
        Recording { inner: self.network.connector(), dials: self.clone() }
    }
}

#[derive(Clone)]
pub(crate) struct Recording {
    inner: PipeConnector,
    dials: Dials,
}

impl Service<Candidate<Open>> for Recording {
    type Response = <PipeConnector as Service<Candidate<Open>>>::Response;
    type Error = std::io::Error;
    type Future = PipeConnecting<Open>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<Candidate<Open>>::poll_ready(&mut self.inner, cx)
    }

    fn call(&mut self, candidate: Candidate<Open>) -> Self::Future {
        if candidate.target().is_control() {
            self.dials.control.lock().unwrap().push(candidate.addr());
        }
        self.inner.call(candidate)
    }
}
