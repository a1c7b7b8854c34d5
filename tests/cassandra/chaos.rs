//! A node dies, freezes, restarts, is replaced, leaves: what the users of a session see of it.

use std::net::SocketAddr;
use std::time::Duration;

use messina::Session;
use messina::error::Kind;
use messina::session::SessionBuilder;
use messina::testkit::BareAddress;

use crate::support::case::{Case, Clusters, case};
use crate::support::cluster::Cluster;
use crate::support::load::{self, Load, Record, Sent, What};
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

/// How soon a node that serves again has to be used again.
const SOON: Duration = Duration::from_secs(5);
/// Within which all nodes have told of a node that changed; a busy machine takes its time.
const TOLD: Duration = Duration::from_secs(20);

pub(crate) fn cases() -> Vec<Case> {
    let minutes = Duration::from_secs(240);
    let cases = vec![
        case("chaos::kill", [Spec::three()], kill),
        case("chaos::freeze", [Spec::three()], freeze),
        case("chaos::restart", [Spec::three()], restart),
        case("chaos::replace", [Spec::three()], replace),
        case("chaos::decommission", [Spec::three()], decommission),
    ];
    cases.into_iter().map(|case| case.alone().limit(minutes)).collect()
}

fn addresses(cluster: &Cluster) -> Vec<SocketAddr> {
    cluster.nodes.iter().map(|node| node.native()).collect()
}

/// A session through a name with every node, and a load on it that has reached each of them.
async fn under_load(
    clusters: &Clusters,
    change: impl FnOnce(SessionBuilder) -> SessionBuilder,
) -> (Way, Session, Load) {
    clusters[0].beside(load::table).await.unwrap();
    let nodes = addresses(&clusters[0]);
    let way = Way::through(Mode::Delay, &nodes).await;
    let session = change(way.builder()).build().await.unwrap();
    let load = Load::start(&session, 50).await;
    load.until_served_by(&nodes, Duration::ZERO, SOON).await;
    (way, session, load)
}

/// Reads that may be sent twice were all answered; the writes that were lost say where and why.
fn only_writes_on_it(record: &Record, node: SocketAddr, at: Duration, kind: Kind) {
    let failed = record.failed();
    let text = record.summary();
    assert!(failed.iter().all(|(sent, _)| sent.what == What::Write), "{text}");
    for (sent, error) in &failed {
        assert_eq!(error.kind(), kind, "{text}");
        assert!(error.to_string().contains(&node.to_string()), "{error}");
        assert!(sent.end() > at && sent.at < at + Duration::from_secs(1), "{text}");
    }
}

/// cassandra: a node, the one with the control connection, is killed under load: no read fails, a write fails only if
/// it was on the node's connection just then, nothing is slow, and the node is used again soon after it is back.
/// report 36: the other nodes serve meanwhile, and the node is not down for good.
async fn kill(clusters: Clusters) {
    let (_way, session, load) = under_load(&clusters, |builder| builder).await;
    let node = clusters[0].nodes[0].native();
    let killed = load.now();
    clusters[0].beside(|cluster| cluster.nodes[0].kill()).await.unwrap();
    load.run(Duration::from_secs(2)).await;
    clusters[0].beside(|cluster| cluster.nodes[0].restart()).await.unwrap();
    let back = load.now();
    load.until_served_by(&[node], back, SOON).await;
    let record = load.stop().await;
    record.tell("kill");
    only_writes_on_it(&record, node, killed, Kind::Connection);
    session.close().await;
    settle(&clusters).await;
    clusters.whole();
}

/// cassandra: a node is frozen under load: of the few requests that were on it then the reads are answered by another
/// node as soon as the connection is given up, and writes say where they were lost; all others are served by the other
/// nodes at once; thawed, the node is used again.
async fn freeze(clusters: Clusters) {
    let (_way, session, load) = under_load(&clusters, |builder| builder).await;
    let node = clusters[0].nodes[1].native();
    clusters[0].beside(|cluster| cluster.nodes[1].freeze()).await.unwrap();
    let frozen = load.run(Duration::from_secs(6)).await;
    clusters[0].beside(|cluster| cluster.nodes[1].thaw()).await.unwrap();
    let thawed = load.now();
    load.until_served_by(&[node], thawed, SOON).await;
    let record = load.stop().await;
    record.tell("freeze");
    let text = record.summary();
    let hung: Vec<Sent> = record.all().into_iter().filter(|sent| sent.took > Duration::from_secs(1)).collect();
    assert!(hung.len() <= 5, "{text}");
    assert!(hung.iter().all(|sent| sent.end() > frozen && sent.at < frozen + Duration::from_secs(1)), "{text}");
    for (sent, error) in record.failed() {
        assert_eq!((sent.what, error.kind()), (What::Write, Kind::Connection), "{text}");
        assert!(error.to_string().contains(&node.to_string()), "{error}");
    }
    session.close().await;
    settle(&clusters).await;
    clusters.whole();
}

/// cassandra: a node is stopped in order and started again under load, as in a rolling restart: nobody sees anything
/// but a write that was on it in the last moment.
/// report 38: requests that meet the ended connection do not keep it from being opened again.
async fn restart(clusters: Clusters) {
    let (_way, session, load) = under_load(&clusters, |builder| builder).await;
    let node = clusters[0].nodes[2].native();
    let ended = load.now();
    clusters[0].beside(|cluster| cluster.nodes[2].stop()).await.unwrap();
    let stopped = load.now();
    clusters[0].beside(|cluster| cluster.nodes[2].restart()).await.unwrap();
    let back = load.now();
    load.until_served_by(&[node], back, SOON).await;
    let record = load.stop().await;
    record.tell("restart");
    let text = record.summary();
    for (sent, error) in record.failed() {
        assert_eq!((sent.what, error.kind()), (What::Write, Kind::Connection), "{text}");
        assert!(error.to_string().contains(&node.to_string()), "{error}");
        assert!(sent.end() > ended && sent.at < stopped, "{text}");
    }
    session.close().await;
    settle(&clusters).await;
    clusters.whole();
}

/// cassandra: a node dies, and another one with a host id of its own comes up at its address: the new one is used, and
/// nothing is ever said to come from the old one again.
async fn replace(clusters: Clusters) {
    let (_way, session, load) = under_load(&clusters, |builder| builder).await;
    let node = clusters[0].nodes[1].native();
    let host_ids = |record: &Record, since| {
        let by = record.sent_in(since..Duration::MAX).into_iter().filter_map(|sent| sent.result.ok());
        let mut ids: Vec<_> = by.filter(|by| by.addr == node).map(|by| by.host_id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let before = host_ids(load.record(), Duration::ZERO);
    assert_eq!(before.len(), 1, "{before:?}");
    let killed = load.now();
    clusters[0].beside(|cluster| cluster.nodes[1].kill()).await.unwrap();
    clusters[0].beside(|cluster| cluster.nodes[1].reborn()).await.unwrap();
    clusters[0].beside(Cluster::settled).await.unwrap();
    // The other nodes tell of the change when gossip has told them, which takes seconds.
    let told = load.now();
    while host_ids(load.record(), killed).iter().all(|id| before.contains(id)) {
        assert!(load.now() < told + TOLD, "nothing came from the new node within {TOLD:?}");
        load.run(Duration::from_millis(100)).await;
    }
    let new = load.run(Duration::from_secs(2)).await + Duration::from_secs(1);
    let record = load.stop().await;
    record.tell("replace");
    let after = host_ids(&record, new);
    assert_eq!(after.len(), 1, "{after:?}");
    assert_ne!(after, before);
    only_writes_on_it(&record, node, killed, Kind::Connection);
    session.close().await;
    settle(&clusters).await;
    clusters.whole();
}

/// cassandra: a node is decommissioned under load, and its name is still in DNS: nobody sees an error, and it is never
/// dialled again, although a server would accept there.
/// report 22: a node that is no longer in the node list is dropped, with its reconnects.
async fn decommission(clusters: Clusters) {
    let (_way, session, load) = under_load(&clusters, |builder| builder).await;
    let node = clusters[0].nodes[2].native();
    clusters[0].beside(|cluster| cluster.nodetool(2, &["decommission", "--force"])).await.unwrap();
    let left = load.now();
    clusters[0].beside(|cluster| cluster.nodes[2].kill()).await.unwrap();
    load.run(Duration::from_secs(2)).await;
    let trap = BareAddress::closes().unwrap().on(node).unwrap();
    load.run(Duration::from_secs(4)).await;
    assert_eq!(trap.accepted(), 0, "the node that left is still dialled");
    let record = load.stop().await;
    record.tell("decommission");
    assert!(record.sent_in(left + Duration::from_secs(2)..Duration::MAX).iter().all(|sent| sent.result.is_ok()));
    only_writes_on_it(&record, node, Duration::ZERO, Kind::Connection);
    session.close().await;
}

/// Waits until the nodes know each other again, for the next test.
async fn settle(clusters: &Clusters) {
    clusters[0].beside(Cluster::settled).await.unwrap();
}
