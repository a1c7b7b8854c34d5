//! The table of connect times, for `BENCHMARKS.md`: ignored in a test run.
//!
//! `cargo test --release --all-features --test cassandra -- --ignored times`

use std::net::SocketAddr;
use std::time::Duration;

use messina::config::TlsSettings;
use messina::layers::TlsConfig;
use messina::protocol::ProtocolVersion;
use messina::session::SessionBuilder;
use messina::testkit::BareAddress;
use tokio::time::Instant;

use crate::support::case::{Case, Clusters, case};
use crate::support::network::Network;
use crate::support::spec::{Spec, TLS_NAME};
use crate::support::way::{Mode, Way, cluster_name, create_role};

pub(crate) fn cases() -> Vec<Case> {
    let clusters = [Spec::single(), Spec::newest_protocol_only(), Spec::passwords(), Spec::foreign()];
    let tls = [Spec::tls(), Spec::tls_other_name()];
    vec![
        case("times::plain", clusters, plain).limit(Duration::from_secs(900)).ignored(),
        case("times::tls", tls, tls_names).limit(Duration::from_secs(300)).ignored(),
    ]
}

/// A name whose last address works.
struct Race<'a> {
    name: &'a str,
    addresses: Vec<SocketAddr>,
    /// How many sequential runs are worth their time.
    sequential: usize,
    prepare: &'a dyn Fn(SessionBuilder) -> SessionBuilder,
}

/// cassandra: medians of the time to the first answer through a name, each run beside one with the living address alone.
async fn plain(clusters: Clusters) {
    let bad = |address: std::io::Result<BareAddress>| address.unwrap().on_port(Network::ports().native).unwrap();
    let live = clusters[0].native();
    create_role(&clusters[2]);
    let [refused, also_refused] = [bad(BareAddress::refused()), bad(BareAddress::refused())];
    let [mute, closes] = [bad(BareAddress::mute()), bad(BareAddress::closes())];
    let holes: Vec<BareAddress> = (0..5).map(|_| bad(BareAddress::black_hole())).collect();
    let mut five: Vec<SocketAddr> = holes.iter().map(BareAddress::addr).collect();
    five.push(live);
    let plain = &|builder| builder;
    let race = |name, addresses, sequential| Race { name, addresses, sequential, prepare: plain };
    let pinned = &|builder: SessionBuilder| builder.protocol_version(ProtocolVersion::V4);
    let login = &|builder: SessionBuilder| builder.credentials("messina", "strait");
    let (newest, lives, foreign) = (clusters[1].native(), clusters[2].native(), clusters[3].native());
    head();
    for race in [
        race("live", vec![live], 30),
        race("[refused, live]", vec![refused.addr(), live], 30),
        race("[black hole, live]", vec![holes[0].addr(), live], 3),
        race("[5 black holes, live]", five, 1),
        race("[accepts, never answers; live]", vec![mute.addr(), live], 3),
        race("[accepts and closes; live]", vec![closes.addr(), live], 30),
        Race { prepare: pinned, ..race("[v5 only, live], client pinned to v4", vec![newest, live], 30) },
        Race { prepare: login, ..race("[foreign, refuses the login; live]", vec![foreign, lives], 30) },
    ] {
        race.run().await;
    }
    let unknown = &|builder: SessionBuilder| builder.contact_point("unknown.messina.test");
    let way = Way::through(Mode::Delay, &[live]).await;
    let contact_point = crate::support::way::contact_point();
    let beside = median(&mut times(30, || unknown(way.bare()).contact_point(contact_point.clone())).await);
    println!("| a name that does not resolve beside a live contact point | {beside:.1} | | | |");

    let dead = [refused.addr(), also_refused.addr(), holes[0].addr()];
    fails("all dead (2 refused, 1 black hole)", &dead, plain).await;
    fails("wrong password", &[foreign, lives], &|builder| builder.credentials("messina", "wrong")).await;
}

/// cassandra: the same for certificates.
async fn tls_names(clusters: Clusters) {
    let ca = std::fs::read(&clusters.registry.pki.ca).unwrap();
    let settings = TlsSettings::new(TlsConfig::from_pem(&ca, None).unwrap());
    let prepare = &|builder: SessionBuilder| builder.tls(settings.clone()).tls_accepted_name(TLS_NAME);
    let (live, other) = (clusters[0].native(), clusters[1].native());
    head();
    let name = "[TLS with another name, TLS with the right name]";
    Race { name, addresses: vec![other, live], sequential: 30, prepare }.run().await;
    fails("TLS with another name", &[other], prepare).await;
}

fn head() {
    println!("\n| Case | attempt delay (ms) | live beside it | sequential (ms) | live beside it |");
    println!("|---|---|---|---|---|");
}

impl Race<'_> {
    async fn run(self) {
        let (delay, live_delay) = self.medians(Mode::Delay, 30).await;
        let (walk, live_walk) = self.medians(Mode::Sequential, self.sequential).await;
        println!("| {} | {delay:.1} | {live_delay:.1} | {walk:.1} | {live_walk:.1} |", self.name);
    }

    /// The medians of the case and of the living address alone, in turn.
    async fn medians(&self, mode: Mode, runs: usize) -> (f64, f64) {
        let way = Way::through(mode, &self.addresses).await;
        let beside = Way::through(mode, &self.addresses[self.addresses.len() - 1..]).await;
        let (mut these, mut those) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            these.extend(times(1, || (self.prepare)(way.builder())).await);
            those.extend(times(1, || (self.prepare)(beside.builder())).await);
        }
        (median(&mut these), median(&mut those))
    }
}

/// How long each run takes until the first answer, in milliseconds.
async fn times(runs: usize, builder: impl Fn() -> SessionBuilder) -> Vec<f64> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let begun = Instant::now();
        let session = builder().build().await.unwrap();
        cluster_name(&session).await.unwrap();
        times.push(milliseconds(begun.elapsed()));
        session.close().await;
    }
    times
}

/// How long it takes to fail, and what is said.
async fn fails(name: &str, addresses: &[SocketAddr], prepare: &dyn Fn(SessionBuilder) -> SessionBuilder) {
    for mode in [Mode::Delay, Mode::Sequential] {
        let way = Way::through(mode, addresses).await;
        let begun = Instant::now();
        let error = prepare(way.builder()).build().await.unwrap_err();
        let elapsed = milliseconds(begun.elapsed());
        let table = error.report().to_string().replace('\n', "\n    ");
        println!("\n{name}, {mode:?}: {elapsed:.1} ms\n\n    {error}\n\n    {table}");
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
