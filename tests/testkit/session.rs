//! The crate's own session over pipes, under a paused clock: what the kit counts is what happened.

use std::net::SocketAddr;
use std::time::Duration;

use messina::Session;
use messina::layers::{FixedResolver, Name, Order};
use messina::session::SessionBuilder;
use messina::testkit::{Cluster, Fault, Network, Stage};
use tokio::time::Instant;

use crate::client::SOON;

const LIMIT: Duration = Duration::from_secs(5);

fn addrs() -> [SocketAddr; 4] {
    [1, 2, 3, 4].map(|host| ([10, 9, 0, host], 9042).into())
}

/// Behind one name: a node that is silent in the middle of the login, one that refuses, one that is silent at
/// OPTIONS, and a good one that knows of no other.
async fn cluster(network: &Network) -> Cluster {
    let mut cluster = Cluster::builder()
        .network_at(network, addrs())
        .fault(0, Stage::Startup, Fault::Silence)
        .fault(1, Stage::Tcp, Fault::Refuse)
        .fault(2, Stage::Options, Fault::Silence);
    for node in 0..3 {
        cluster = cluster.node(node, |facts| facts.listed = false);
    }
    cluster.start().await.unwrap()
}

fn session(network: &Network) -> SessionBuilder {
    let ips = addrs().map(|addr| addr.ip());
    Session::builder()
        .contact_point("db.test:9042")
        .resolver(FixedResolver::new().with("db.test".parse::<Name>().unwrap(), ips))
        .connector(network.connector())
        .candidate_order(Order::AsGiven)
        .init_timeout(LIMIT)
}

/// connect D33: with an attempt delay connections overlap and logins do not.
#[tokio::test(start_paused = true)]
async fn side_by_side() {
    let network = Network::new();
    let cluster = cluster(&network).await;
    let start = Instant::now();
    let session = session(&network).attempt_delay(Duration::from_millis(250)).build().await.unwrap();
    // The third is silent beside the first, whose login has to run out before the fourth may log in.
    assert_eq!(start.elapsed(), LIMIT);
    assert_eq!(network.dialled()[..4], addrs());
    let seen = cluster.log().now();
    assert_eq!((seen.most_logins_at_once(), seen.most_open_at_once()), (1, 3));
    drop(session);
    cluster.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
}

/// connect D33: one after the other not even connections overlap.
/// connect 32: at most one attempt is in flight.
/// connect 35: what failed is closed before the next dial.
#[tokio::test(start_paused = true)]
async fn one_after_the_other() {
    let network = Network::new();
    let cluster = cluster(&network).await;
    // The last is slow in the middle: the world stands still while the test looks.
    cluster.node(3).fault(Stage::Identity, Fault::Delay(LIMIT / 2).times(1));
    let start = Instant::now();
    let session = tokio::spawn(session(&network).sequential().build());
    cluster.wait_for(LIMIT * 3, |seen| seen.count(Stage::Identity) == 1).await.unwrap();
    assert_eq!(start.elapsed(), LIMIT * 2);
    assert_eq!(network.dialled(), addrs());
    let seen = cluster.log().now();
    assert_eq!((seen.most_logins_at_once(), seen.most_open_at_once()), (1, 1));
    drop(session.await.unwrap().unwrap());
    cluster.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
}
