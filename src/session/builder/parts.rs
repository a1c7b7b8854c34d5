//! Parts of the stack that the application brings.

use std::sync::Arc;

use messina_layers::{BoxConnect, Candidate, Resolver, Transport, error::BoxError};
use tower::{Layer, Service};
use uuid::Uuid;

use super::{BoxRequests, SessionBuilder};
use crate::session::{Request, ResultSet, layered};
use crate::{
    establish::{self, Accepted, BoxAttempt, BoxConnector, BoxIdentity, IdentityRequest, Io, Leaf, Open},
    topology::{EventBus, NodeInfo, TopologyMonitor},
};

/// Parts that the application brings.
impl SessionBuilder {
    /// Turns names into addresses by a service of the application's: any `Service<Address>`.
    pub fn resolver<R>(mut self, resolver: R) -> Self
    where
        R: Resolver + Clone + Send + Sync + 'static,
        R::Future: Send + 'static,
    {
        self.resolver = Some(establish::boxed_resolver(resolver));
        self
    }

    /// Dials by a connector of the application's, in place of TCP.
    pub fn connector<C, IO>(mut self, connector: C) -> Self
    where
        C: Service<Candidate<Open>, Response = Transport<Open, IO>> + Clone + Send + Sync + 'static,
        C::Future: Send + 'static,
        C::Error: Into<BoxError>,
        IO: Io + 'static,
    {
        self.leaf = Leaf::Custom(establish::boxed_connector(connector));
        self
    }

    /// Puts a layer around TCP, below TLS: called once per dial. An error or panic in it ends the dial.
    pub fn transport_layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<BoxConnector> + Send + Sync + 'static,
        L::Service: Service<Candidate<Open>, Response = Transport<Open, establish::BoxIo>> + Clone + Send + Sync,
        L::Service: 'static,
        <L::Service as Service<Candidate<Open>>>::Future: Send + 'static,
        <L::Service as Service<Candidate<Open>>>::Error: Into<BoxError>,
    {
        let wrap = move |inner| establish::boxed_connector(layer.layer(inner));
        self.leaf = match self.leaf {
            Leaf::Tcp => Leaf::Layered(Arc::new(wrap)),
            Leaf::Custom(connector) => Leaf::Custom(wrap(connector)),
            Leaf::Layered(before) => Leaf::Layered(Arc::new(move |inner| wrap(before(inner)))),
        };
        self
    }

    /// Puts a layer around each attempt: called once per address. An error or panic in it ends the candidate.
    pub fn candidate_layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<BoxAttempt> + Send + Sync + 'static,
        L::Service: Service<Candidate<Open>, Response = Accepted> + Clone + Send + Sync + 'static,
        <L::Service as Service<Candidate<Open>>>::Future: Send + 'static,
        <L::Service as Service<Candidate<Open>>>::Error: Into<BoxError> + 'static,
    {
        let wrap = move |inner| establish::boxed_attempt(layer.layer(inner));
        self.candidate = Some(match self.candidate.take() {
            None => Arc::new(wrap),
            Some(before) => Arc::new(move |inner| wrap(before(inner))),
        });
        self
    }

    /// Puts a layer around the whole stack: called once per connect. An error or panic in it ends the connect.
    pub fn connect_layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<BoxConnect<Open, Accepted>> + Send + Sync + 'static,
        L::Service: Service<Open, Response = messina_layers::Established<Open, Accepted>> + Clone + Send + Sync,
        L::Service: 'static,
        <L::Service as Service<Open>>::Future: Send + 'static,
        <L::Service as Service<Open>>::Error: Into<BoxError> + 'static,
    {
        let wrap = move |inner| establish::boxed_connect(layer.layer(inner));
        self.connect = Some(match self.connect.take() {
            None => Arc::new(wrap),
            Some(before) => Arc::new(move |inner| wrap(before(inner))),
        });
        self
    }

    /// Puts a layer around every request: limits, load shedding, tracing, a retry of the application's own.
    ///
    /// Layers added later stand outside. Each page of a result is a request of its own; a request's timeout covers all
    /// layers. Without such a layer requests take a shorter way.
    pub fn request_layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<BoxRequests> + Send + Sync + 'static,
        L::Service: Service<Request, Response = ResultSet> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Future: Send + 'static,
        <L::Service as Service<Request>>::Error: Into<BoxError>,
    {
        let wrap = move |inner| layered::boxed(layer.layer(inner));
        self.requests = Some(match self.requests.take() {
            None => Arc::new(wrap),
            Some(before) => Arc::new(move |inner| wrap(before(inner))),
        });
        self
    }

    /// Reads who answered by a service of the application's, in place of one read of `system.local`.
    pub fn identity<I>(mut self, identity: I) -> Self
    where
        I: Service<IdentityRequest, Response = NodeInfo, Error = BoxError> + Clone + Send + Sync + 'static,
        I::Future: Send + 'static,
    {
        self.identity = Some(BoxIdentity::new(identity));
        self
    }

    /// Learns the nodes, and how each is dialled, from a monitor of the application's, in place of the peers table. What
    /// panics in it fails alone: a read, or the node whose endpoint was asked for, which is skipped.
    pub fn topology_monitor(mut self, monitor: impl TopologyMonitor + 'static) -> Self {
        self.monitor = Some(Arc::new(monitor));
        self
    }

    /// Tells what happens on this bus, from the first connect on.
    pub fn event_bus(mut self, bus: EventBus) -> Self {
        self.bus = Some(bus);
        self
    }

    /// Tells every server the name and version of the application (STARTUP's APPLICATION_NAME and APPLICATION_VERSION;
    /// Cassandra shows them in `system_views.clients`); neither by default.
    pub fn application(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.draft.application_name = Some(name.into());
        self.draft.application_version = Some(version.into());
        self
    }

    /// Tells every server which instance of the application this is (STARTUP's CLIENT_ID); nothing by default.
    pub fn client_id(mut self, id: Uuid) -> Self {
        self.draft.client_id = Some(id);
        self
    }

    /// Has nothing to do with the nodes for which this is false: no connection, and never as control node. They stay
    /// in [`Session::topology`](super::Session::topology), marked as ignored. A panic in it leaves the node out until it
    /// is asked again, at the next look at the nodes.
    pub fn node_filter(mut self, wanted: impl Fn(&NodeInfo) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(Arc::new(wanted));
        self
    }
}
