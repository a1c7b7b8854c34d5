//! A name of which the first addresses do not work: the session comes up, and says what it passed over.

use std::net::SocketAddr;
use std::time::Duration;

use messina::establish::SystemLocal;
use messina::layers::error::BoxError;
use messina::protocol::ProtocolVersion;
use messina::session::SessionBuilder;
use messina::testkit::BareAddress;
use messina::topology::NodeInfo;
use tokio::time::Instant;
use tower::ServiceExt;

use crate::support::case::{Case, Clusters, case};
use crate::support::network::Network;
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way, cluster_name, create_role, told_once};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mode in [Mode::Delay, Mode::Sequential] {
        let name = |name: &str| match mode {
            Mode::Delay => format!("dead_first::{name}"),
            Mode::Sequential => format!("dead_first::{name}_sequential"),
        };
        let single = || [Spec::single()];
        cases.extend([
            case(&name("live"), single(), move |c| live(c, mode)),
            case(&name("refused"), single(), move |c| refused(c, mode)),
            case(&name("black_hole"), single(), move |c| black_hole(c, mode)),
            case(&name("five_black_holes"), single(), move |c| five_black_holes(c, mode)),
            case(&name("mute"), single(), move |c| mute(c, mode)),
            case(&name("closes"), single(), move |c| closes(c, mode)),
            case(&name("foreign"), [Spec::passwords(), Spec::foreign()], move |c| foreign(c, mode)),
            case(&name("foreign_by_name"), [Spec::passwords(), Spec::foreign()], move |c| foreign_by_name(c, mode)),
            case(&name("newest_protocol_only"), [Spec::single(), Spec::newest_protocol_only()], move |c| {
                newest_protocol_only(c, mode)
            }),
        ]);
    }
    cases
}

/// Connects, asks one question, and says how long that took.
async fn first_answer(builder: SessionBuilder, cluster: &str) -> Duration {
    let begun = Instant::now();
    let session = builder.build().await.unwrap();
    assert_eq!(cluster_name(&session).await.unwrap(), cluster);
    let elapsed = begun.elapsed();
    session.close().await;
    elapsed
}

/// A bad address on the port of the nodes.
fn bad(address: std::io::Result<BareAddress>) -> BareAddress {
    address.unwrap().on_port(Network::ports().native).unwrap()
}

/// cassandra: a name with one living address.
async fn live(clusters: Clusters, mode: Mode) {
    let way = Way::through(mode, &[clusters[0].native()]).await;
    first_answer(way.builder(), "messina").await;
}

/// cassandra: [refused, live].
async fn refused(clusters: Clusters, mode: Mode) {
    let dead = bad(BareAddress::refused());
    let way = Way::through(mode, &[dead.addr(), clusters[0].native()]).await;
    first_answer(way.builder(), "messina").await;
    told_once(dead.addr(), "refused", mode);
}

/// cassandra: [black hole, live]; side by side it costs far less than the connect limit of 5 s.
async fn black_hole(clusters: Clusters, mode: Mode) {
    let dead = bad(BareAddress::black_hole());
    let way = Way::through(mode, &[dead.addr(), clusters[0].native()]).await;
    let elapsed = first_answer(way.impatient(), "messina").await;
    told_once(dead.addr(), "no answer within", mode);
    assert!(mode == Mode::Sequential || elapsed < Duration::from_secs(3), "{elapsed:?}");
}

/// cassandra: [5 black holes, live], with a cap of 6.
async fn five_black_holes(clusters: Clusters, mode: Mode) {
    let dead: Vec<BareAddress> = (0..5).map(|_| bad(BareAddress::black_hole())).collect();
    let mut addresses: Vec<SocketAddr> = dead.iter().map(BareAddress::addr).collect();
    addresses.push(clusters[0].native());
    let way = Way::through(mode, &addresses).await;
    let elapsed = first_answer(way.impatient(), "messina").await;
    for dead in &dead {
        told_once(dead.addr(), "no answer within", mode);
    }
    assert!(mode == Mode::Sequential || elapsed < Duration::from_secs(4), "{elapsed:?}");
}

/// cassandra: [accepts and never answers, live].
async fn mute(clusters: Clusters, mode: Mode) {
    let dead = bad(BareAddress::mute());
    let way = Way::through(mode, &[dead.addr(), clusters[0].native()]).await;
    let elapsed = first_answer(way.impatient(), "messina").await;
    told_once(dead.addr(), "no answer within", mode);
    assert!(mode == Mode::Sequential || elapsed < Duration::from_secs(3), "{elapsed:?}");
}

/// cassandra: [accepts and closes, live].
async fn closes(clusters: Clusters, mode: Mode) {
    let dead = bad(BareAddress::closes());
    let way = Way::through(mode, &[dead.addr(), clusters[0].native()]).await;
    first_answer(way.builder(), "messina").await;
    told_once(dead.addr(), "clos", mode);
}

/// cassandra: [foreign cluster, live]: a stale record shows up as a refused login, which is not the end of the walk.
async fn foreign(clusters: Clusters, mode: Mode) {
    create_role(&clusters[0]);
    let foreign = clusters[1].native();
    let way = Way::through(mode, &[foreign, clusters[0].native()]).await;
    first_answer(way.builder().credentials("messina", "strait"), "passwords").await;
    told_once(foreign, "incorrect", mode);
}

/// cassandra: [foreign cluster, live] where both accept the login: an identity service of the application's tells them
/// apart by the cluster's name.
async fn foreign_by_name(clusters: Clusters, mode: Mode) {
    let foreign = clusters[1].native();
    let way = Way::through(mode, &[foreign, clusters[0].native()]).await;
    let expect = |info: Result<NodeInfo, BoxError>| match info {
        Ok(info) if info.cluster_name.as_deref() != Some("passwords") => {
            Err(BoxError::from(format!("the cluster is {:?}", info.cluster_name)))
        }
        info => info,
    };
    let builder = way.builder().credentials("cassandra", "cassandra");
    first_answer(builder.identity(SystemLocal::new().map_result(expect)), "passwords").await;
    told_once(foreign, "the cluster is Some(\"foreign\")", mode);
}

/// cassandra: [a node that accepts only v5 with a client pinned to v4, ordinary].
async fn newest_protocol_only(clusters: Clusters, mode: Mode) {
    let newest = clusters[1].native();
    let way = Way::through(mode, &[newest, clusters[0].native()]).await;
    first_answer(way.builder().protocol_version(ProtocolVersion::V4), "messina").await;
    told_once(newest, "Rejecting Protocol Version 4/v4 < 5/v5", mode);
}
