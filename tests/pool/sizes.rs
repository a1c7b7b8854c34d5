//! How many connections a node gets.

use messina::{error::Kind, session::Standing};

use crate::support::{QUERY, SECOND, World, in_moving_time, settle};

/// driver 3: one connection to each node by default; more where the settings say so, by data centre.
#[tokio::test(start_paused = true)]
async fn so_many_per_node() {
    let far = |cluster: messina::testkit::ClusterBuilder| {
        cluster.nodes(3).node(2, |facts| facts.data_center = Some("far".into()))
    };
    for (local, remote, open) in [(1, 1, 4), (3, 1, 8), (2, 3, 8)] {
        let world = World::start(far).await;
        let session = world.builder().connections_per_node(local, remote).build().await.unwrap();
        world.open(open).await;
        let [first, _, third] = [0, 1, 2].map(|index| world.state(&session, index));
        assert_eq!((first.connections.len(), first.wanted, first.local), (local, local, true));
        assert_eq!((third.connections.len(), third.wanted, third.local), (remote, remote, false));
        drop(session);
        world.all_closed().await;
    }
}

/// driver 3: with a remote size of 0 nodes of other data centres are left alone, and no request goes there.
#[tokio::test(start_paused = true)]
async fn remote_nodes_are_left_alone() {
    let world = World::start(|cluster| cluster.nodes(2).node(1, |facts| facts.data_center = Some("far".into()))).await;
    let session = in_moving_time(world.builder().connections_per_node(1, 0).build()).await.unwrap();
    in_moving_time(world.open(2)).await;
    in_moving_time(tokio::time::sleep(120 * SECOND)).await;
    assert_eq!(world.network.dials(world.node(1).addr()), 0);
    assert!(matches!(world.state(&session, 1).standing, Standing::Ignored));
    world.node(0).kill().await;
    settle().await;
    let error = session.execute(QUERY, ()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::NoConnection);
    assert_eq!(world.network.dials(world.node(1).addr()), 0);
    drop(session);
}

/// driver 3: requests use all connections of a node.
#[tokio::test(start_paused = true)]
async fn requests_use_all_connections() {
    let world = World::of(1).await;
    let session = world.builder().connections_per_node(4, 1).build().await.unwrap();
    world.open(5).await;
    for _ in 0..40 {
        session.execute(QUERY, ()).await.unwrap();
    }
    let served: Vec<_> =
        world.node(0).connections().iter().map(|one| one.count(messina::testkit::Stage::Query)).collect();
    assert_eq!(served.iter().sum::<usize>(), 40);
    assert_eq!(served.iter().filter(|count| **count > 0).count(), 4, "{served:?}");
    drop(session);
    world.all_closed().await;
}

/// design 4.1: a saturated connection is passed over while another of the node has room; beyond that one waits for room.
#[tokio::test(start_paused = true)]
async fn a_second_connection_gives_more_room() {
    let world = World::of(1).await;
    world.cluster.prime(QUERY, messina::testkit::Answer::from(messina::testkit::rows!["id int"; (1,)]).delayed(SECOND));
    let session = world.builder().connections_per_node(2, 1).requests_per_connection(2, 0).build().await.unwrap();
    world.open(3).await;
    let started = tokio::time::Instant::now();
    let requests: Vec<_> = (0..8)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move {
                session.execute(QUERY, ()).await.unwrap();
                started.elapsed().as_secs()
            })
        })
        .collect();
    let mut ended = Vec::new();
    for request in requests {
        ended.push(request.await.unwrap());
    }
    ended.sort_unstable();
    assert_eq!(ended, [1, 1, 1, 1, 2, 2, 2, 2]);
    drop(session);
}
