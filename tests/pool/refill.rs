//! A pool that is short is always being filled.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use messina::{
    Statement,
    establish::BoxConnector,
    layers::{FixedResolver, Name, Resolved},
    session::Standing,
    testkit::{Cluster, Fault, Network, Scylla, Stage, rows},
};
use tokio::time::Instant;
use tower::ServiceExt;

use crate::support::{ByName, QUERY, SECOND, SOON, World, named, settle, shards};

/// A small generator of repeatable numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// report 57: connections and nodes are killed at random for ten minutes; then every pool is full within the longest delay.
/// report 36: so it is after all sockets were closed at once.
#[tokio::test(start_paused = true)]
async fn full_again_after_ten_minutes_of_trouble() {
    for seed in 1..=3 {
        let mut random = Random(seed);
        let world = World::start(|cluster| cluster.nodes(3).scylla(Scylla::new(2).shard_aware())).await;
        let builder = world.builder().connections_per_node(4, 1).heartbeat(5 * SECOND, 2 * SECOND);
        let session = builder.build().await.unwrap();
        world.open(13).await;
        let until = Instant::now() + 600 * SECOND;
        let statement = Statement::new(QUERY).with_timeout(SECOND).with_idempotence(true);
        while Instant::now() < until {
            let node = world.node(random.below(3) as usize);
            match random.below(7) {
                0 => node.kill().await,
                1 => node.freeze(),
                2 => node.fault(Stage::Query, Fault::Reset.times(1)),
                3 => node.fault(Stage::Options, Fault::Close.times(2)),
                4 => node.fault(Stage::Heartbeat, Fault::Silence.times(1)),
                5 => node.fault(Stage::Tcp, Fault::Refuse.times(3)),
                _ => node.start(),
            }
            let _ = session.execute(&statement, ()).await;
            tokio::time::sleep(Duration::from_millis(random.below(3_000))).await;
        }
        world.cluster.clear_faults();
        world.cluster.nodes().iter().for_each(|node| node.start());
        // A frozen node's connections may be on their way to be noticed: one heartbeat more.
        tokio::time::sleep(60 * SECOND + 10 * SECOND).await;
        for index in 0..3 {
            let node = world.state(&session, index);
            assert_eq!(shards(&node), [2, 2], "seed {seed}: {node:?}");
            assert!(matches!(node.standing, Standing::Up));
        }
        for _ in 0..12 {
            session.execute(QUERY, ()).await.unwrap();
        }
        drop(session);
        world.all_closed().await;
    }
}

/// report 36: all sockets are closed at once: everything is connected again at once.
#[tokio::test(start_paused = true)]
async fn all_sockets_closed_at_once() {
    let world = World::of(3).await;
    let session = world.builder().connections_per_node(2, 1).build().await.unwrap();
    world.open(7).await;
    tokio::time::sleep(2 * SECOND).await;
    for node in world.cluster.nodes() {
        node.kill().await;
        node.start();
    }
    let lost = Instant::now();
    world.open(7).await;
    // Whoever found a node's door closed for a moment waits out one delay.
    assert!(lost.elapsed() < 2 * SECOND, "{:?}", lost.elapsed());
    session.execute(QUERY, ()).await.unwrap();
    drop(session);
    world.all_closed().await;
}

/// report 38: a node restarts while requests find its connection defunct: there is always someone who connects again.
#[tokio::test(start_paused = true)]
async fn a_restart_under_requests() {
    let world = World::of(1).await;
    let session = world.builder().connections_per_node(3, 1).build().await.unwrap();
    world.open(4).await;
    for round in 0..20 {
        tokio::time::sleep(Duration::from_millis(100 * round)).await;
        let asked: Vec<_> = (0..8)
            .map(|_| {
                let session = session.clone();
                tokio::spawn(async move { session.execute(QUERY, ()).await.is_ok() })
            })
            .collect();
        world.node(0).kill().await;
        world.node(0).start();
        for one in asked {
            one.await.unwrap();
        }
    }
    tokio::time::sleep(70 * SECOND).await;
    world.open(4).await;
    assert_eq!(world.state(&session, 0).connections.len(), 3);
    drop(session);
}

/// report 38: a panic in a layer of the application's ends that connect, and the pool goes on.
#[tokio::test(start_paused = true)]
async fn a_panic_in_a_layer() {
    let world = World::of(1).await;
    let left = Arc::new(AtomicUsize::new(0));
    let panics = Arc::clone(&left);
    let layer = tower::layer::layer_fn(move |inner: BoxConnector| {
        let panics = Arc::clone(&panics);
        tower::service_fn(move |candidate| {
            let left = panics.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            assert!(left.is_err(), "on purpose");
            inner.clone().oneshot(candidate)
        })
    });
    let session = world.builder().transport_layer(layer).build().await.unwrap();
    world.open(2).await;
    left.store(4, Relaxed);
    world.node(0).kill().await;
    world.node(0).start();
    tokio::time::sleep(30 * SECOND).await;
    assert_eq!(left.load(Relaxed), 0);
    session.execute(QUERY, ()).await.unwrap();
    drop(session);
}

/// connect 39: a name with one dead address is expanded by every connect: the first, the filling of a pool, its growth, a
/// reconnect of it, a reconnect of the control connection.
#[tokio::test(start_paused = true)]
async fn every_connect_tries_all_addresses() {
    let network = Network::new();
    let dead = network.refused();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    let live = cluster.node(0).addr();
    let name = Name::new("node.test").unwrap();
    let addrs = move || [dead, live].map(Resolved::from);
    let resolver = FixedResolver::new().with(Name::new("db.test").unwrap(), addrs()).with(name, addrs());
    // The node is dialled by a name that has both addresses, and is proxied, so that no pin is kept.
    let monitor = ByName::proxied("node.test:9042");
    let session = named(&network, [live])
        .resolver(resolver)
        .topology_monitor(monitor)
        .connections_per_node(2, 1)
        .build()
        .await
        .unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 3).await.unwrap();
    settle().await;
    // The first control connect, the first of the pool, the second of the pool: each met the dead address first.
    assert_eq!(network.dialled(), [dead, live, dead, live, dead, live]);
    tokio::time::sleep(2 * SECOND).await;
    cluster.node(0).kill().await;
    cluster.node(0).start();
    cluster.wait_for(SOON, |seen| seen.open() == 3).await.unwrap();
    let later = network.dialled()[6..].to_vec();
    assert!(later.iter().filter(|addr| **addr == dead).count() >= 3, "{later:?}");
    session.execute(QUERY, ()).await.unwrap();
    drop(session);
}

/// report 35: a node that is up by gossip and out of reach costs no request, and is not forgotten.
/// report 26: nodes that advertise black holes hold up no first query.
#[tokio::test(start_paused = true)]
async fn nodes_out_of_reach() {
    let network = Network::new();
    let holes: Vec<_> = (0..5).map(|_| network.black_hole()).collect();
    let mut builder = Cluster::builder().network(&network).nodes(6);
    for (index, hole) in holes.into_iter().enumerate() {
        builder = builder.node(index + 1, move |facts| facts.address = Some(hole));
    }
    let cluster = builder.start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    let started = Instant::now();
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    for _ in 0..20 {
        session.execute(QUERY, ()).await.unwrap();
    }
    assert!(started.elapsed() < SECOND, "{:?}", started.elapsed());
    tokio::time::sleep(60 * SECOND).await;
    let unreachable = session.nodes().into_iter().filter(|node| node.connections.is_empty()).collect::<Vec<_>>();
    assert_eq!(unreachable.len(), 5);
    for node in unreachable {
        assert!(matches!(node.standing, Standing::Down));
        assert!(node.last_error.is_some() && (node.next_attempt_in.is_some() || node.opening > 0), "{node:?}");
    }
    drop(session);
}
