//! The target of a CQL connect.

use std::{fmt, sync::Arc};

use messina_layers::{Address, Dial, HostAddr, LocalBind, LocalPorts, Pinnable, Pinned, error::BoxError};
use uuid::Uuid;

use super::{Notes, Round};
use crate::{
    config::Config, connection::EventSink, endpoint::Endpoint, protocol::ProtocolVersion, topology::Admission,
};

/// What a connection is opened to, and what is expected there.
///
/// The layers read where to dial and whom TLS has to find; the rest reaches the handshake in here.
#[derive(Clone)]
pub struct Open {
    endpoint: Pinned<Endpoint>,
    config: Arc<Config>,
    expected_host: Option<Uuid>,
    proving_host: Option<Uuid>,
    expected_cluster: Option<Arc<str>>,
    keyspace: Option<Arc<str>>,
    latched: Option<ProtocolVersion>,
    asked: Option<ProtocolVersion>,
    events: Option<(EventSink, Arc<[&'static str]>)>,
    round: Option<Round>,
    notes: Option<Notes>,
    at_port: Option<(u16, LocalPorts)>,
    admission: Option<Admission>,
}

impl Open {
    /// A connection to an endpoint of which nothing is known yet.
    #[must_use]
    pub fn new(endpoint: impl Into<Pinned<Endpoint>>, config: Arc<Config>) -> Self {
        Self {
            endpoint: endpoint.into(),
            latched: config.protocol_version,
            expected_cluster: config.expected_cluster.clone(),
            keyspace: config.keyspace.clone(),
            config,
            expected_host: None,
            proving_host: None,
            asked: None,
            events: None,
            round: None,
            notes: None,
            at_port: None,
            admission: None,
        }
    }

    /// The node that must answer: the endpoint counts as identified, and its identity is not read again.
    #[must_use]
    pub fn expecting_host(mut self, host_id: Uuid) -> Self {
        self.expected_host = Some(host_id);
        self
    }

    /// The node that must answer, at an endpoint that may lead to others: identity is read, and an address where another
    /// node answers costs itself alone.
    #[must_use]
    pub fn proving_host(mut self, host_id: Uuid) -> Self {
        self.proving_host = Some(host_id);
        self
    }

    /// The cluster that must answer.
    #[must_use]
    pub fn expecting_cluster(mut self, name: Arc<str>) -> Self {
        self.expected_cluster = Some(name);
        self
    }

    /// The keyspace that the connection is to use, in place of the configured one.
    pub(crate) fn in_keyspace(mut self, keyspace: Option<Arc<str>>) -> Self {
        self.keyspace = keyspace;
        self
    }

    /// The only version to speak, as an earlier connection settled it; a configured one is kept.
    #[must_use]
    pub fn with_version(mut self, version: ProtocolVersion) -> Self {
        self.latched = self.latched.or(Some(version));
        self
    }

    /// Registers for these event types once identity is accepted; events go to `sink`.
    #[must_use]
    pub fn with_events(mut self, sink: EventSink, types: impl Into<Arc<[&'static str]>>) -> Self {
        self.events = Some((sink, types.into()));
        self
    }

    /// Dials another port of the same server, from one of these local ports: on ScyllaDB's shard-aware port the local
    /// port chooses the shard.
    #[must_use]
    pub fn at_port(mut self, port: u16, from: LocalPorts) -> Self {
        self.at_port = Some((port, from));
        self
    }

    /// One entry of a round: what failed there already is not dialled again.
    pub(crate) fn in_round(mut self, round: &Round) -> Self {
        self.round = Some(round.clone());
        self
    }

    /// An attempt that is looked at: writes down what each step took and learned.
    pub(crate) fn noting(mut self, notes: &Notes) -> Self {
        self.notes = Some(notes.clone());
        self
    }

    /// Refuses who is not wanted, as soon as it is known who answers.
    pub(crate) fn admitted_by(mut self, admission: &Admission) -> Self {
        self.admission = Some(admission.clone());
        self
    }

    /// The endpoint, with its pin where it has one.
    #[must_use]
    pub fn endpoint(&self) -> &Pinned<Endpoint> {
        &self.endpoint
    }

    /// The node that must answer, if it is known.
    #[must_use]
    pub fn expected_host(&self) -> Option<Uuid> {
        self.expected_host
    }

    /// The node that must prove itself, if one must.
    #[must_use]
    pub fn host_to_prove(&self) -> Option<Uuid> {
        self.proving_host
    }

    /// Whether this connection registers for events.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.events.is_some()
    }

    /// What the endpoint leads to now holds for this connect, and for no other; an error if that is nowhere.
    pub(super) fn settle(&mut self) -> Result<(), BoxError> {
        if !self.endpoint.target().keeps_pin() {
            self.endpoint.unpin();
        }
        self.endpoint.target_mut().settle()
    }

    /// The next connect looks again where the endpoint leads.
    pub(super) fn unsettle(&mut self) {
        self.endpoint.target_mut().unsettle();
    }

    pub(super) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    pub(super) fn expected_cluster(&self) -> Option<&Arc<str>> {
        self.expected_cluster.as_ref()
    }

    pub(super) fn keyspace(&self) -> Option<&Arc<str>> {
        self.keyspace.as_ref()
    }

    pub(super) fn events(&self) -> Option<(EventSink, Arc<[&'static str]>)> {
        self.events.clone()
    }

    pub(super) fn round(&self) -> Option<&Round> {
        self.round.as_ref()
    }

    pub(super) fn notes(&self) -> Option<&Notes> {
        self.notes.as_ref()
    }

    pub(super) fn admission(&self) -> Option<&Admission> {
        self.admission.as_ref()
    }

    /// The only version to speak, configured or latched.
    pub(super) fn latched(&self) -> Option<ProtocolVersion> {
        self.latched
    }

    /// The version that this attempt was told to ask for.
    pub(super) fn asked(&self) -> Option<ProtocolVersion> {
        self.asked
    }

    /// Asks for another version on the next connection to the same address.
    pub(super) fn ask(&mut self, version: ProtocolVersion) {
        self.asked = Some(version);
    }
}

impl Dial for Open {
    fn address(&self) -> Address {
        let address = self.endpoint.address();
        match &self.at_port {
            Some((port, _)) => address.with_port(*port),
            None => address,
        }
    }
}

impl Pinnable for Open {
    fn pin_to(&mut self, addr: HostAddr) {
        self.endpoint.pin_to(addr);
    }
}

impl LocalBind for Open {
    fn ports(&self) -> Option<LocalPorts> {
        self.at_port.as_ref().map(|(_, ports)| ports.clone())
    }
}

impl fmt::Display for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open")
            .field("endpoint", &self.endpoint)
            .field("expected_host", &self.expected_host)
            .field("expected_cluster", &self.expected_cluster)
            .field("version", &self.asked.or(self.latched))
            .field("control", &self.is_control())
            .finish_non_exhaustive()
    }
}
