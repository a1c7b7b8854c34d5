//! Two data centres: requests stay in the local one while it lives.

use std::net::SocketAddr;
use std::time::Duration;

use tracing::Level;

use crate::support::case::{Case, Clusters, case};
use crate::support::cluster::Cluster;
use crate::support::load::{self, Load, What};
use crate::support::spec::Spec;
use crate::support::trace::told;
use crate::support::way::{Mode, Way, cluster_name};

/// How soon a node that serves again has to be used again.
const SOON: Duration = Duration::from_secs(5);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("centres::no_such_data_centre", [Spec::two_data_centres()], no_such_data_centre),
        case("centres::the_local_one_dies", [Spec::two_data_centres()], the_local_one_dies)
            .alone()
            .limit(Duration::from_secs(180)),
    ]
}

fn addresses(cluster: &Cluster) -> Vec<SocketAddr> {
    cluster.nodes.iter().map(|node| node.native()).collect()
}

/// cassandra: requests go to the local data centre alone, though the control connection is in the other one; when its
/// last node dies they go to the other one without a failed read, and come back with the node.
async fn the_local_one_dies(clusters: Clusters) {
    clusters[0].beside(load::table).await.unwrap();
    let [north, south] = addresses(&clusters[0])[..] else { panic!("two nodes") };
    let way = Way::through(Mode::Delay, &[south, north]).await;
    let session = way.builder().local_datacenter("north").build().await.unwrap();
    let load = Load::start(&session, 50).await;
    load.until_served_by(&[north], Duration::ZERO, SOON).await;
    let begun = load.run(Duration::from_secs(1)).await;
    let killed = load.now();
    clusters[0].beside(|cluster| cluster.nodes[0].kill()).await.unwrap();
    let dead = load.run(Duration::from_secs(2)).await;
    clusters[0].beside(|cluster| cluster.nodes[0].restart()).await.unwrap();
    let restarted = load.now();
    let back = restarted + load.until_served_by(&[north], restarted, SOON).await;
    load.run(Duration::from_secs(1)).await;
    let record = load.stop().await;
    record.tell("the local data centre dies");
    let text = record.summary();
    let by = |from: Duration, to: Duration| -> Vec<SocketAddr> {
        let mut nodes: Vec<_> = record.sent_in(from..to).iter().filter_map(|sent| sent.by()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    };
    assert_eq!(by(begun, killed), [north]);
    assert_eq!(by(dead, restarted), [south]);
    assert_eq!(by(back, Duration::MAX), [north]);
    assert!(record.failed().iter().all(|(sent, _)| sent.what == What::Write && sent.at < dead), "{text}");
    session.close().await;
    clusters[0].beside(Cluster::settled).await.unwrap();
    clusters.whole();
}

/// cassandra: a local data centre that no node is in is told once, with those that there are, and costs no request.
async fn no_such_data_centre(clusters: Clusters) {
    let way = Way::through(Mode::Delay, &addresses(&clusters[0])).await;
    let session = way.builder().local_datacenter("nord").build().await.unwrap();
    assert_eq!(cluster_name(&session).await.unwrap(), "two");
    let warnings: Vec<String> =
        told().iter().filter(|told| told.level == Level::WARN).map(ToString::to_string).collect();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(["nord", "north", "south"].iter().all(|name| warning.contains(name)), "{warning}");
}
