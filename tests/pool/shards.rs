//! A connection per shard, by the port that chooses it or without.

use std::time::Duration;

use messina::{
    protocol::{ShardInfo, Sharding, is_scylla, response::Supported},
    session::Purpose,
    testkit::{Fault, Prime, Scylla, Stage, rows},
};

use crate::support::{QUERY, SECOND, World, settle, shards};

const BLOCKED: Duration = Duration::from_secs(300);

async fn scylla(scylla: Scylla) -> World {
    World::start(|cluster| cluster.scylla(scylla)).await
}

fn at_port(world: &World) -> usize {
    let addr = std::net::SocketAddr::new(world.node(0).addr().ip(), 19_042);
    world.network.dials(addr)
}

/// cql 6: the shard of a token, as the formula has it.
#[test]
fn the_shard_of_a_token() {
    let sharding = Sharding::new(4, 12).unwrap();
    for (token, shard) in [(-9219783007514621794, 3), (9222582454147032830, 3), (0, 0), (-1, 3)] {
        assert_eq!(sharding.shard_of(token), shard, "{token}");
    }
    let unshifted = Sharding::new(2, 0).unwrap();
    assert_eq!([i64::MIN, -1, 0, i64::MAX].map(|token| unshifted.shard_of(token)), [0, 0, 1, 1]);
    assert_eq!((Sharding::new(0, 12), Sharding::new(4, 64)), (None, None));
    assert_eq!(Sharding::new(1, 12).unwrap().shard_of(i64::MAX), 0);
}

/// cql 6: shards are read only where the node is sharded as it is known; ScyllaDB is known by any of its keys.
/// report 49: a node whose shard keys are absent is ScyllaDB all the same.
#[test]
fn what_supported_tells() {
    let full = [
        ("SCYLLA_SHARD", "3"),
        ("SCYLLA_NR_SHARDS", "8"),
        ("SCYLLA_PARTITIONER", "org.apache.cassandra.dht.Murmur3Partitioner"),
        ("SCYLLA_SHARDING_ALGORITHM", "biased-token-round-robin"),
        ("SCYLLA_SHARDING_IGNORE_MSB", "12"),
        ("SCYLLA_SHARD_AWARE_PORT", "19042"),
        ("SCYLLA_SHARD_AWARE_PORT_SSL", "19142"),
    ];
    let supported = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), vec![(*value).to_owned()])).collect::<Supported>()
    };
    let info = ShardInfo::read(&supported(&full)).unwrap();
    assert_eq!((info.shard, info.sharding.shards(), info.port, info.port_ssl), (3, 8, Some(19042), Some(19142)));
    for (key, value) in [
        ("SCYLLA_SHARD", "8"),
        ("SCYLLA_SHARD", "-1"),
        ("SCYLLA_NR_SHARDS", "0"),
        ("SCYLLA_NR_SHARDS", "70000"),
        ("SCYLLA_PARTITIONER", "org.apache.cassandra.dht.RandomPartitioner"),
        ("SCYLLA_SHARDING_ALGORITHM", "another"),
        ("SCYLLA_SHARDING_IGNORE_MSB", "64"),
    ] {
        let changed: Vec<_> = full.iter().map(|(k, v)| (*k, if *k == key { value } else { *v })).collect();
        assert_eq!(ShardInfo::read(&supported(&changed)), None, "{key} = {value}");
        assert!(is_scylla(&supported(&changed)));
    }
    for key in ["SCYLLA_HOST_ID", "SCYLLA_RATE_LIMIT_ERROR", "TABLETS_ROUTING_V1"] {
        assert!(is_scylla(&supported(&[("CQL_VERSION", "3.0.0"), (key, "")])), "{key}");
    }
    assert!(!is_scylla(&supported(&[("CQL_VERSION", "3.0.0"), ("COMPRESSION", "lz4")])));
}

/// cql 6: one connection for each shard, opened from local ports that choose it; the size is rounded up per shard.
#[tokio::test(start_paused = true)]
async fn a_connection_per_shard() {
    for (size, per) in [(1, 1), (4, 1), (5, 2)] {
        let world = scylla(Scylla::new(4).shard_aware()).await;
        let session = world.builder().connections_per_node(size, 1).build().await.unwrap();
        world.open(1 + 4 * per).await;
        let node = world.state(&session, 0);
        assert_eq!((shards(&node), node.wanted, node.scylla), (vec![per; 4], 4 * per, Some(true)));
        // The first one, which told of the shards, came to the ordinary port; so did the control connection.
        assert_eq!((at_port(&world), world.network.dials(world.node(0).addr())), (4 * per - 1, 2));
        drop(session);
        world.all_closed().await;
    }
}

/// cql 6: a request goes to the connection of the shard that owns its token, and to any other while that one is away.
#[tokio::test(start_paused = true)]
async fn requests_go_to_their_shard() {
    let world = scylla(Scylla::new(4).shard_aware()).await;
    let text = "SELECT id FROM ks.t WHERE id = ?";
    world.cluster.prime(Prime::new(text).params("id int").partition_key([0]), rows!["id int"; (1,)]);
    let session = world.builder().build().await.unwrap();
    world.open(5).await;
    let prepared = session.prepare(text).await.unwrap();
    let sharding = Sharding::new(4, 12).unwrap();
    let mut expected = [0; 4];
    for key in 0..64 {
        let shard = sharding.shard_of(prepared.bind((key,)).unwrap().token().unwrap().0);
        expected[usize::from(shard)] += 1;
        session.execute(&prepared, (key,)).await.unwrap();
    }
    assert!(expected.iter().all(|count| *count > 4), "{expected:?}");
    let queries = world.node(0).connections();
    let mut served: Vec<_> = queries.iter().map(|one| one.count(Stage::Query)).filter(|count| *count > 0).collect();
    served.sort_unstable();
    expected.sort_unstable();
    assert_eq!(served, expected);
    drop(session);
}

/// cql 6: local ports stay within the range that is configured.
#[tokio::test(start_paused = true)]
async fn local_ports_within_the_range() {
    let world = scylla(Scylla::new(3).shard_aware()).await;
    let session = world.builder().shard_ports(20_000..=20_005).build().await.unwrap();
    world.open(4).await;
    let clients: Vec<_> = world.node(0).connections().iter().map(|one| one.client().port()).collect();
    assert_eq!(clients.iter().filter(|port| (20_000..=20_005).contains(*port)).count(), 2, "{clients:?}");
    assert_eq!(shards(&world.state(&session, 0)), [1, 1, 1]);
    drop(session);
}

/// cql 6: without the port, or with it turned off, connections are opened until every shard has one.
#[tokio::test(start_paused = true)]
async fn shards_without_the_port() {
    let world = scylla(Scylla::new(4)).await;
    let session = world.builder().build().await.unwrap();
    world.open(5).await;
    assert_eq!(shards(&world.state(&session, 0)), [1; 4]);
    drop(session);
    let world = scylla(Scylla::new(4).shard_aware()).await;
    let session = world.builder().shard_awareness(false).build().await.unwrap();
    world.open(5).await;
    assert_eq!((shards(&world.state(&session, 0)), at_port(&world)), (vec![1; 4], 0));
    drop(session);
    world.all_closed().await;
}

/// cql 6: connections to a shard that has enough wait aside, so that the server gives another, and are closed as soon as
/// every shard has one.
#[tokio::test(start_paused = true)]
async fn what_is_too_much_waits_aside() {
    let world = scylla(Scylla::new(3)).await;
    let other = crate::support::named(&world.network, [world.node(0).addr()]);
    let session = world.builder().build().await.unwrap();
    // Another client at the same time takes every second turn of the server's.
    let beside = other.build().await.unwrap();
    world.open_within(60 * SECOND, 8).await;
    tokio::time::sleep(120 * SECOND).await;
    for session in [&session, &beside] {
        let node = world.state(session, 0);
        assert_eq!(shards(&node), [1, 1, 1], "{node:?}");
        assert_eq!(node.connections.len(), 3, "nothing waits aside any more");
    }
    drop((session, beside));
    world.all_closed().await;
}

/// cql 6: a server that always gives the same shard is not asked without bound, and what waits aside is closed.
#[tokio::test(start_paused = true)]
async fn a_shard_that_is_never_given() {
    let world = scylla(Scylla::new(3)).await;
    let session = world.builder().build().await.unwrap();
    world.open(4).await;
    let stuck = world.cluster.node(0).clone();
    world.node(0).kill().await;
    stuck.fix_shard(Some(1));
    stuck.start();
    let before = world.network.dialled().len();
    tokio::time::sleep(600 * SECOND).await;
    let node = world.state(&session, 0);
    assert_eq!(shards(&node), [0, 1, 0]);
    let most = node.connections.iter().filter(|one| one.purpose == Purpose::Aside).count();
    assert!(most <= 6, "{most} wait aside");
    let dials = world.network.dialled().len() - before;
    assert!(dials < 150, "{dials} dials in ten minutes");
    session.execute(QUERY, ()).await.unwrap();
    stuck.fix_shard(None);
    tokio::time::sleep(120 * SECOND).await;
    assert_eq!(shards(&world.state(&session, 0)), [1, 1, 1]);
    drop(session);
}

/// report 49: where ports are translated the shard-aware port leads to other shards: it is not used for five minutes, and
/// every shard is reached all the same.
#[tokio::test(start_paused = true)]
async fn behind_a_translation_of_ports() {
    let world = scylla(Scylla::new(4).shard_aware()).await;
    world.network.translate_ports(true);
    let session = world.builder().build().await.unwrap();
    world.open_within(60 * SECOND, 5).await;
    settle().await;
    let node = world.state(&session, 0);
    assert_eq!(shards(&node), [1; 4], "{node:?}");
    let used = at_port(&world);
    assert!((1..=3).contains(&used), "{used}");
    let left = node.shard_port_blocked_for.unwrap();
    assert!(left > BLOCKED - 2 * SECOND && left <= BLOCKED, "{left:?}");

    // A lost connection is replaced by the ordinary port, until the five minutes are over.
    let lose_one = async |alive: usize| {
        world.node(0).fault(Stage::Query, Fault::Close.times(1));
        session.execute(QUERY, ()).await.unwrap_err();
        world.open_within(60 * SECOND, alive).await;
        settle().await;
        assert_eq!(shards(&world.state(&session, 0)), [1; 4]);
    };
    lose_one(5).await;
    assert_eq!(at_port(&world), used);
    world.network.translate_ports(false);
    tokio::time::sleep(BLOCKED).await;
    assert_eq!(world.state(&session, 0).shard_port_blocked_for, None);
    lose_one(5).await;
    assert_eq!(at_port(&world), used + 1);
    assert_eq!(world.state(&session, 0).shard_port_blocked_for, None);
    drop(session);
    world.all_closed().await;
}

/// report 49: a shard-aware port that nobody can reach costs one refused dial, then the ordinary port serves.
#[tokio::test(start_paused = true)]
async fn the_port_is_out_of_reach() {
    let mut facts = Scylla::new(3);
    facts.shard_aware_port = Some(1);
    let world = scylla(facts).await;
    let session = world.builder().build().await.unwrap();
    world.open(4).await;
    let node = world.state(&session, 0);
    assert_eq!(shards(&node), [1; 3]);
    assert!(node.shard_port_blocked_for.is_some());
    drop(session);
}

/// cql 6: a node may come back with another number of shards: the pool takes the new shape.
#[tokio::test(start_paused = true)]
async fn the_number_of_shards_changes() {
    let world = scylla(Scylla::new(4).shard_aware()).await;
    let session = world.builder().build().await.unwrap();
    world.open(5).await;
    for count in [2, 6] {
        tokio::time::sleep(2 * SECOND).await;
        world.node(0).kill().await;
        world.node(0).set(|facts| facts.scylla.as_mut().unwrap().shards = count);
        world.node(0).start();
        let wanted = 1 + usize::from(count);
        world.open_within(120 * SECOND, wanted).await;
        settle().await;
        assert_eq!(shards(&world.state(&session, 0)), vec![1; usize::from(count)]);
    }
    drop(session);
    world.all_closed().await;
}

/// report 49: ScyllaDB without shard keys, or sharded in a way that is not known, gets connections as any node.
#[tokio::test(start_paused = true)]
async fn shard_keys_are_absent() {
    for facts in [Scylla::new(0), Scylla::new(0).with("SCYLLA_NR_SHARDS", "4")] {
        let world = scylla(facts).await;
        let session = world.builder().connections_per_node(2, 1).build().await.unwrap();
        world.open(3).await;
        let node = world.state(&session, 0);
        assert_eq!((node.shards, node.scylla, node.connections.len()), (None, Some(true), 2));
        drop(session);
    }
}
