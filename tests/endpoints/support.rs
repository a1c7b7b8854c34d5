//! What these tests share: names that move, and what was asked and logged.

#[path = "../establish/support/events.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod events;
#[path = "../establish/support/files.rs"]
mod files;

use std::{
    collections::HashMap,
    convert::Infallible,
    future::{Ready, ready},
    net::SocketAddr,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use messina::{
    layers::{Address, Resolved},
    testkit::{Cluster, ConnectionLog, Stage},
};
use tower::Service;

pub(crate) use self::{events::Events, files::Files};

/// How long a test waits for what must come soon.
pub(crate) const SOON: Duration = Duration::from_secs(5);

/// Names with addresses that change; literals are answered with themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    records: HashMap<String, Vec<Resolved>>,
    asked: Vec<String>,
}

impl Names {
    /// From now on the name has these addresses, in this order; a port of 0 leaves the port to who asks.
    pub(crate) fn set(&self, name: &str, addrs: impl IntoIterator<Item = SocketAddr>) {
        let records = addrs.into_iter().map(Resolved::from).collect();
        self.state.lock().unwrap().records.insert(name.to_owned(), records);
    }

    /// Everything that was asked, with its port, in order; literals as well.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.state.lock().unwrap().asked.clone()
    }
}

impl Service<Address> for Names {
    type Response = Vec<Resolved>;
    type Error = Infallible;
    type Future = Ready<Result<Vec<Resolved>, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Address) -> Self::Future {
        let mut state = self.state.lock().unwrap();
        state.asked.push(address.to_string());
        ready(Ok(match address {
            Address::Name(name, _) => state.records.get(name.as_str()).cloned().unwrap_or_default(),
            Address::Socket(addr) => vec![addr.into()],
        }))
    }
}

/// The address with the port left to who asks.
pub(crate) fn host(addr: SocketAddr) -> SocketAddr {
    (addr.ip(), 0).into()
}

/// A connection for requests, ready and open; the control connection is no such.
pub(crate) fn serves(connection: &ConnectionLog) -> bool {
    connection.is_open() && connection.count(Stage::Cluster) > 0 && connection.count(Stage::Register) == 0
}

/// Waits until each of these nodes has a connection for requests.
pub(crate) async fn connected(cluster: &Cluster, nodes: impl IntoIterator<Item = usize>, within: Duration) {
    for index in nodes {
        let seen = cluster.node(index).wait_for(within, |connections| connections.iter().any(|one| serves(one))).await;
        seen.unwrap_or_else(|seen| panic!("node {index} has no connection: {seen}"));
    }
}
