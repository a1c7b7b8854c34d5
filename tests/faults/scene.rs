//! A session that was healthy until something befell one address behind a name: what later connects share.

use std::{net::SocketAddr, time::Duration};

use messina::{
    Session,
    layers::{Order, TlsConfig},
    session::SessionBuilder,
    testkit::{Cluster, ClusterBuilder, ConnectionLog, Names, Network, Stage, TestCa, rows},
};
use tokio::time::{Instant, sleep};

use crate::{
    cases::{self, Case},
    given::Given,
    support::{DELAY, Mode},
    world::Before,
};

pub(crate) const QUERY: &str = "SELECT id FROM ks.t";

/// Where the faulty address stands among those of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    First,
    Middle,
    Only,
}

impl Place {
    pub(crate) const ALL: [Self; 3] = [Self::First, Self::Middle, Self::Only];

    /// How addresses are tried there: in every way where that differs most, as by default elsewhere.
    pub(crate) fn modes(self) -> Vec<Mode> {
        match self {
            Self::First => Mode::BOTH.to_vec(),
            Self::Middle | Self::Only => vec![Mode::Beside],
        }
    }

    /// The addresses of the name.
    pub(crate) fn addrs(self, dead: SocketAddr, faulty: SocketAddr, good: SocketAddr) -> Vec<SocketAddr> {
        match self {
            Self::First => vec![faulty, good],
            Self::Middle => vec![dead, faulty, good],
            Self::Only => vec![faulty],
        }
    }
}

/// The stages at which a connect to a known node can fail, with what can go wrong there.
pub(crate) fn to_a_known_node() -> Vec<(Stage, Vec<Case>)> {
    vec![
        (Stage::Tcp, cases::tcp()),
        (Stage::Tls, cases::tls()),
        (Stage::Options, cases::options()),
        (Stage::Startup, cases::startup()),
        (Stage::Auth, cases::auth()),
        (Stage::Cluster, cases::cluster()),
        (Stage::Keyspace, cases::keyspace()),
    ]
}

/// A cluster in a network of pipes, the names that lead to it, and what was there before the session.
pub(crate) struct Scene {
    pub(crate) network: Network,
    pub(crate) cluster: Cluster,
    pub(crate) names: Names,
    pub(crate) dead: SocketAddr,
    pub(crate) before: Before,
    tls: Option<TlsConfig>,
    given: Given,
}

impl Scene {
    /// `db.test` leads to the first node. With TLS where that is what goes wrong.
    pub(crate) async fn new(
        stage: Stage,
        given: Given,
        ca: &TestCa,
        change: impl FnOnce(ClusterBuilder) -> ClusterBuilder,
    ) -> Self {
        let network = Network::new();
        let mut builder = given.cluster(Cluster::builder().network(&network));
        let mut tls = None;
        if stage == Stage::Tls {
            builder = builder.tls(ca.server(["db.test", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]));
            tls = Some(ca.client());
        }
        let cluster = change(builder).start().await.unwrap();
        cluster.prime(QUERY, rows!["id int"; (1,)]);
        let names = Names::new();
        names.set("db.test", [cluster.node(0).addr()]);
        let (dead, before) = (network.refused(), Before::session());
        Self { network, cluster, names, dead, before, tls, given }
    }

    pub(crate) fn builder(&self, mode: Mode) -> SessionBuilder {
        let builder = Session::builder()
            .contact_point("db.test")
            .resolver(self.names.clone())
            .connector(self.network.connector())
            .candidate_order(Order::AsGiven)
            .keyspace("ks");
        let mut builder = self.given.session(builder);
        if let Some(tls) = &self.tls {
            // What is looked at is the handshake; a node's other addresses are not in its certificate's way.
            builder = builder.tls(messina::config::TlsSettings::new(tls.clone())).tls_accepted_name("db.test");
        }
        mode.of(builder)
    }

    /// The dials since `from` that went to these addresses.
    pub(crate) fn dialled(&self, from: usize, among: &[SocketAddr]) -> Vec<SocketAddr> {
        self.network.dialled().into_iter().skip(from).filter(|addr| among.contains(addr)).collect()
    }

    /// Connections that registered for events and whose client's end is not dropped.
    pub(crate) fn controls(&self) -> Vec<SocketAddr> {
        controls(&self.network, &self.cluster)
    }

    /// The client's ends of a node's connections that logged in, are held by the client, and did not register.
    pub(crate) fn pool(&self, addr: SocketAddr) -> Vec<SocketAddr> {
        let held = self.network.held();
        let is_held = |one: &&ConnectionLog| held.contains(&(one.client(), one.server()));
        let is_pooled = |one: &&ConnectionLog| one.count(Stage::Keyspace) > 0 && one.count(Stage::Register) == 0;
        self.cluster
            .log()
            .look(|seen| seen.of(addr).filter(is_held).filter(is_pooled).map(ConnectionLog::client).collect())
    }

    /// How many they are.
    pub(crate) fn pooled(&self, addr: SocketAddr) -> usize {
        self.pool(addr).len()
    }
}

/// The servers at the other end of control connections that the client holds.
pub(crate) fn controls(network: &Network, cluster: &Cluster) -> Vec<SocketAddr> {
    let held = network.held();
    let is_held = |one: &&ConnectionLog| held.contains(&(one.client(), one.server()));
    // The list of nodes is read on it when it is taken over, and not before.
    let is_control = |one: &&ConnectionLog| one.count(Stage::Register) > 0 && one.count(Stage::Peers) > 0;
    cluster.log().look(|seen| {
        let connections = seen.connections().iter();
        connections.filter(is_control).filter(is_held).map(ConnectionLog::server).collect()
    })
}

/// Waits until it holds, looked at every few milliseconds of paused time or, where it may take longer, a hundred times; says how long that took.
pub(crate) async fn until(limit: Duration, mut holds: impl FnMut() -> bool) -> Result<Duration, String> {
    let started = Instant::now();
    loop {
        if holds() {
            return Ok(started.elapsed());
        }
        if started.elapsed() > limit {
            return Err(format!("not within {limit:?}"));
        }
        // The longer it may take the less often it is looked at.
        sleep((limit / 100).max(Duration::from_millis(5))).await;
    }
}

/// How long an attempt at an address holds up the next one.
pub(crate) fn held_up(mode: Mode, at: &str, after: Duration) -> Duration {
    let holds_turn = !["tcp", "tls", "options"].contains(&at);
    if mode == Mode::Beside && !holds_turn { after.min(DELAY) } else { after }
}
