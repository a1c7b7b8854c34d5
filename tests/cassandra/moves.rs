//! Clusters that move: every node at once, one after the other, and a name that leads elsewhere.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use messina::error::Kind;

use crate::support::case::{Case, Clusters, case};
use crate::support::cluster::Cluster;
use crate::support::load::{self, Load, Sent, What};
use crate::support::spec::Spec;
use crate::support::trace::told;
use crate::support::way::{Mode, NAME, Way, cluster_name};

/// One round over the reconnection plan: about a second's pause, jittered up to two, and the walk itself.
const ROUND: Duration = Duration::from_millis(2500);
/// How soon a node that serves again has to be used again.
const SOON: Duration = Duration::from_secs(5);

pub(crate) fn cases() -> Vec<Case> {
    let minutes = Duration::from_secs(240);
    let cases = vec![
        case("moves::all_at_once", [Spec::three()], all_at_once),
        case("moves::one_after_the_other", [Spec::three()], one_after_the_other),
        case("moves::a_name_that_leads_to_another_cluster", [Spec::own("mortal"), Spec::single()], astray),
    ];
    cases.into_iter().map(|case| case.alone().limit(minutes)).collect()
}

fn addresses(cluster: &Cluster) -> Vec<SocketAddr> {
    cluster.nodes.iter().map(|node| node.native()).collect()
}

fn set(way: &Way, nodes: &[SocketAddr]) {
    way.dns.set(NAME, nodes.iter().map(|node| -> IpAddr { node.ip() }));
}

/// cassandra: every node goes down and comes back at an address it never had; then the DNS record moves. The session
/// serves again within one round, from every node, without being built anew, and what was written is still there.
/// connect 130: all old addresses are dead and the record points elsewhere: back within one round.
/// report 1, 11: the name is resolved again, nothing is restarted.
async fn all_at_once(clusters: Clusters) {
    clusters[0].beside(load::table).await.unwrap();
    let before = addresses(&clusters[0]);
    let way = Way::through(Mode::Delay, &before).await;
    let session = way.builder().build().await.unwrap();
    let load = Load::start(&session, 50).await;
    load.until_served_by(&before, Duration::ZERO, SOON).await;
    let down = load.now();
    let move_all = |cluster: &Cluster| {
        cluster.nodes.iter().try_for_each(|node| node.kill())?;
        cluster.relocate(0..3)?;
        cluster.launch()
    };
    clusters[0].beside(move_all).await.unwrap();
    let after = addresses(&clusters[0]);
    assert!(after.iter().all(|node| !before.contains(node)));
    set(&way, &after);
    let moved = load.now();
    let back = load.until_served_by(&after, moved, SOON).await;
    load.run(Duration::from_secs(1)).await;
    let record = load.stop().await;
    record.tell("all at once");
    let text = record.summary();

    let first = record.all().iter().filter(|sent| sent.at >= moved && sent.result.is_ok()).map(|s| s.end()).min();
    let first = first.unwrap() - moved;
    assert!(first < ROUND, "served again {first:?} after the record moved, every node after {back:?}\n{text}");
    for (sent, error) in record.failed() {
        assert!(sent.end() >= down && sent.at < moved + ROUND, "{text}");
        // Nothing waits for a node that is known to be gone: no request runs into its limit.
        let lost = error.kind() == Kind::Connection && sent.at < down + SOON;
        assert!(lost || error.kind() == Kind::NoConnection, "{text}");
    }
    // What was written in the last seconds before a kill may be lost with the commit log, so a row of now is read.
    session.execute("INSERT INTO load.kv (k, v) VALUES (-2, 1)", ()).await.unwrap();
    let rows = session.execute("SELECT v FROM load.kv WHERE k = -2", ()).await.unwrap();
    assert_eq!(rows.one::<(i32,)>().await.unwrap(), (1,));
    session.close().await;
    clusters.whole();
}

/// cassandra: one node after the other comes back at another address, and its record follows: no read fails, and each
/// node is used at its new address under the host id it had.
/// connect D15: a new address for a host id replaces the old one.
/// report 14, 15, 20: all records change one by one while the session lives.
async fn one_after_the_other(clusters: Clusters) {
    clusters[0].beside(load::table).await.unwrap();
    let mut nodes = addresses(&clusters[0]);
    let way = Way::through(Mode::Delay, &nodes).await;
    let session = way.builder().build().await.unwrap();
    let load = Load::start(&session, 50).await;
    load.until_served_by(&nodes, Duration::ZERO, SOON).await;
    let host_id = |node: SocketAddr| {
        load.record().all().into_iter().filter_map(|sent| sent.result.ok()).find(|by| by.addr == node).unwrap().host_id
    };
    for index in 0..3 {
        let old = nodes[index];
        let move_one = move |cluster: &Cluster| {
            cluster.nodes[index].kill()?;
            cluster.relocate([index])?;
            cluster.nodes[index].restart()
        };
        clusters[0].beside(move_one).await.unwrap();
        let back = load.now();
        nodes[index] = clusters[0].nodes[index].native();
        set(&way, &nodes);
        load.until_served_by(&[nodes[index]], back, SOON).await;
        assert_eq!(host_id(old), host_id(nodes[index]));
        let settled = clusters[0].beside(Cluster::settled).await;
        settled.unwrap();
    }
    let record = load.stop().await;
    record.tell("one after the other");
    let text = record.summary();
    for (sent, error) in record.failed() {
        assert_eq!((sent.what, error.kind()), (What::Write, Kind::Connection), "{text}");
    }
    session.close().await;
    clusters.whole();
}

/// cassandra: the only node dies, and its name leads into another cluster: nothing is ever answered from there, the
/// refusal is told with address, name expected and name found, and the session serves again when its node is back.
async fn astray(clusters: Clusters) {
    clusters[0].beside(load::table).await.unwrap();
    let node = clusters[0].nodes[0].native();
    let foreign = clusters[1].native();
    let way = Way::through(Mode::Delay, &[node]).await;
    let session = way.builder().build().await.unwrap();
    let load = Load::start(&session, 50).await;
    load.until_served_by(&[node], Duration::ZERO, SOON).await;
    set(&way, &[foreign]);
    clusters[0].beside(|cluster| cluster.nodes[0].kill()).await.unwrap();
    let down = load.now();
    load.run(Duration::from_secs(3)).await;
    clusters[0].beside(|cluster| cluster.nodes[0].restart()).await.unwrap();
    set(&way, &[foreign, node]);
    let back = load.now();
    load.until_served_by(&[node], back, SOON).await;
    let record = load.stop().await;
    record.tell("astray");
    let text = record.summary();
    assert!(record.all().iter().filter_map(|sent| sent.by()).all(|by| by == node), "{text}");
    let later = |sent: &Sent| sent.at > down + Duration::from_secs(1);
    for (_, error) in record.failed().into_iter().filter(|(sent, _)| later(sent)) {
        assert_eq!(error.kind(), Kind::NoConnection, "{text}");
        assert!(error.to_string().contains(&node.to_string()), "{error}");
    }
    let foreign = foreign.to_string();
    let refusals: Vec<String> = told().iter().map(ToString::to_string).filter(|text| text.contains(&foreign)).collect();
    let named = |text: &String| text.contains("mortal") && text.contains("messina");
    assert!(refusals.iter().any(named), "{refusals:?}");
    assert_eq!(cluster_name(&session).await.unwrap(), "mortal");
    session.close().await;
    clusters.whole();
}
