//! Pools follow the settings while the session runs.

use std::time::Duration;

use messina::{
    Session, Statement,
    session::Standing,
    testkit::{Answer, Scylla, Stage, rows},
};

use crate::support::{QUERY, SECOND, World, in_moving_time, settle, shards};

/// Another number of connections, everything else as before.
fn resize(world: &World, session: &Session, local: usize, remote: usize) {
    let config = world.builder().connections_per_node(local, remote).check().unwrap();
    session.reconfigure(config).unwrap();
}

/// driver 3: pools grow and shrink with the settings; what is in flight on a connection that goes is answered.
#[tokio::test(start_paused = true)]
async fn pools_are_resized() {
    let world = World::of(1).await;
    let session = world.builder().build().await.unwrap();
    world.open(2).await;
    for size in [4, 2, 3] {
        resize(&world, &session, size, 1);
        world.open(1 + size).await;
        let node = world.state(&session, 0);
        assert_eq!((node.connections.len(), node.wanted), (size, size));
    }
    world.cluster.prime(QUERY, Answer::from(rows!["id int"; (1,)]).delayed(3 * SECOND));
    let asked: Vec<_> = (0..3)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.execute(&Statement::new(QUERY), ()).await.map(drop) })
        })
        .collect();
    settle().await;
    resize(&world, &session, 1, 1);
    tokio::time::sleep(SECOND).await;
    assert_eq!(world.state(&session, 0).connections.len(), 1);
    for one in asked {
        one.await.unwrap().unwrap();
    }
    world.open(2).await;
    drop(session);
}

/// driver 3: per shard too; and nodes of other data centres can be left alone, and taken up again.
#[tokio::test(start_paused = true)]
async fn pools_are_resized_per_shard_and_by_data_centre() {
    let world = World::start(|cluster| {
        let cluster = cluster.nodes(2).scylla(Scylla::new(2).shard_aware());
        cluster.node(1, |facts| facts.data_center = Some("far".into()))
    });
    let world = world.await;
    let session = world.builder().build().await.unwrap();
    world.open(5).await;
    resize(&world, &session, 3, 0);
    in_moving_time(world.open(5)).await;
    assert_eq!(shards(&world.state(&session, 0)), [2, 2]);
    assert!(matches!(world.state(&session, 1).standing, Standing::Ignored));
    resize(&world, &session, 2, 2);
    world.open(5).await;
    assert_eq!((shards(&world.state(&session, 0)), shards(&world.state(&session, 1))), (vec![1, 1], vec![1, 1]));
    assert_eq!(world.node(1).count(Stage::Query), 0);
    tokio::time::sleep(Duration::from_millis(10)).await;
    drop(session);
}
