//! The connect stack by itself, called as control connection and pools call it.

use std::{net::SocketAddr, sync::Arc};

use messina::{
    config::Config,
    connection::{Events, event_channel},
    endpoint::{ContactPoint, Endpoint},
    establish::{self, Accepted, BoxConnector, BoxIo, BoxResolver, Leaf, Open, Seams},
    layers::{BoxConnect, Candidate, ConnectError, Established, Resolved, Resolver, Transport, error::BoxError},
    session::SessionBuilder,
    testkit::{Network, Pipe},
};
use tower::{ServiceExt, util::BoxCloneSyncService};

use super::{named, resolver};

/// A stack over a network of pipes in which `db.test` has some addresses.
#[derive(Clone)]
pub(crate) struct TestStack {
    pub(crate) config: Arc<Config>,
    pub(crate) connect: BoxConnect<Open, Accepted>,
}

type Connected = Result<Established<Open, Accepted>, ConnectError>;

impl TestStack {
    /// With the settings of the builder that `change` makes.
    pub(crate) fn new(
        network: &Network,
        addrs: impl IntoIterator<Item = SocketAddr> + Clone,
        change: impl FnOnce(SessionBuilder) -> SessionBuilder,
    ) -> Self {
        let config = change(named(network, addrs.clone())).check().unwrap();
        let mut seams = Seams::new(boxed_resolver(resolver(addrs)));
        seams.leaf = Leaf::Custom(boxed_pipes(network));
        Self { connect: establish::connect(&config, seams), config: Arc::new(config) }
    }

    /// A target at `db.test`, of which nothing is known.
    pub(crate) fn open(&self) -> Open {
        Open::new(endpoint("db.test"), Arc::clone(&self.config))
    }

    /// A target at this very address, of which nothing is known.
    pub(crate) fn open_at(&self, addr: SocketAddr) -> Open {
        Open::new(Endpoint::from(addr), Arc::clone(&self.config))
    }

    /// A target at `db.test`, registering for these events.
    pub(crate) fn control(&self, types: &[&'static str]) -> (Open, Events) {
        let (sink, events) = event_channel(16);
        (self.open().with_events(sink, types), events)
    }

    pub(crate) async fn connect(&self, target: Open) -> Connected {
        self.connect.clone().oneshot(target).await
    }
}

fn endpoint(text: &str) -> Endpoint {
    ContactPoint::parse(text).unwrap().endpoint().clone()
}

/// A resolver behind the type that a stack takes.
fn boxed_resolver<R>(resolver: R) -> BoxResolver
where
    R: Resolver + Clone + Send + Sync + 'static,
    R::Future: Send + 'static,
{
    BoxCloneSyncService::new(
        resolver
            .map_err(Into::into)
            .map_response(|answer: R::Response| answer.into_iter().map(Into::into).collect::<Vec<Resolved>>()),
    )
}

/// Pipes behind the type that a stack takes.
fn boxed_pipes(network: &Network) -> BoxConnector {
    let connector = ServiceExt::<Candidate<Open>>::map_err(network.connector(), BoxError::from);
    BoxCloneSyncService::new(
        connector.map_response(|transport: Transport<Open, Pipe>| transport.map_io(|io| Box::new(io) as BoxIo)),
    )
}
