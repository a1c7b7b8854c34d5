//! Many connects at once, and servers that cannot take them.

use std::{collections::BTreeMap, time::Duration};

use messina::{
    Session,
    testkit::{EventKind, Fault, Script, Scylla, Stage},
};
use tokio::time::Instant;

use crate::support::{QUERY, SECOND, World, most_opening, named, shards};

/// driver 7.12: no more connects at a time than the session may have; an open connection does not count.
/// reviewer 22: nor does a limit on connects hold up what is open.
#[tokio::test(start_paused = true)]
async fn so_many_at_a_time_for_the_session() {
    for limit in [1, 3] {
        let world = World::of(12).await;
        world.cluster.fault(Stage::Options, Fault::Delay(Duration::from_millis(50)));
        let session = world.builder().max_concurrent_connects(limit, None).build().await.unwrap();
        world.open(13).await;
        let connections = world.cluster.log().connections();
        assert_eq!(most_opening(&connections), limit);
        drop(session);
    }
}

/// driver 7.12: nor more to one node than one node may have.
#[tokio::test(start_paused = true)]
async fn so_many_at_a_time_for_a_node() {
    let world = World::start(|cluster| cluster.scylla(Scylla::new(8).shard_aware())).await;
    world.cluster.fault(Stage::Options, Fault::Delay(Duration::from_millis(50)));
    let session = world.builder().max_concurrent_connects(64, Some(2)).build().await.unwrap();
    world.open(9).await;
    assert_eq!(most_opening(&world.cluster.log().connections()), 2);
    assert_eq!(shards(&world.state(&session, 0)), [1; 8]);
    drop(session);
}

/// report 40: four sessions open three shards each on a server that shakes hands one after the other, slowly: none gives up.
#[tokio::test(start_paused = true)]
async fn a_slow_server_and_four_sessions() {
    let world = World::start(|cluster| cluster.scylla(Scylla::new(3).shard_aware())).await;
    world.cluster.fault(Stage::Options, Fault::InLine(Duration::from_millis(700)));
    let build = || world.builder().max_concurrent_connects(64, Some(1)).build();
    let sessions = tokio::join!(build(), build(), build(), build());
    let sessions: Vec<Session> = <[_; 4]>::from(sessions).into_iter().map(Result::unwrap).collect();
    world.open_within(60 * SECOND, 16).await;
    assert_eq!(world.cluster.log().now().opened(), 16, "no connect was given up");
    assert!(sessions.iter().all(|session| shards(&world.state(session, 0)) == [1; 3]));
    drop(sessions);
}

/// report 32: a server that sheds four of five connects gets its pool all the same, and no storm.
#[tokio::test(start_paused = true)]
async fn a_server_that_sheds() {
    let world = World::start(|cluster| cluster.nodes(3)).await;
    let session = world.builder().connections_per_node(4, 1).build().await.unwrap();
    world.open(13).await;
    tokio::time::sleep(2 * SECOND).await;
    for node in world.cluster.nodes() {
        let shed = (0..100).fold(Script::new(), |script, _| script.at(Stage::Startup, Fault::Close.times(4).after(1)));
        node.kill().await;
        node.script(shed);
        node.start();
    }
    let before = world.network.dialled().len();
    tokio::time::sleep(600 * SECOND).await;
    let dials = world.network.dialled().len() - before;
    world.cluster.clear_faults();
    tokio::time::sleep(70 * SECOND).await;
    for index in 0..3 {
        assert_eq!(world.state(&session, index).connections.len(), 4);
    }
    assert!(dials < 400, "{dials} dials in ten minutes");
    drop(session);
}

/// report 39: two hundred clients lose a node at the same moment and come back to it: not in the same tenth of a second.
#[tokio::test(start_paused = true)]
async fn two_hundred_clients() {
    let world = World::of(1).await;
    let mut sessions = Vec::new();
    for _ in 0..200 {
        sessions.push(named(&world.network, [world.node(0).addr()]).build().await.unwrap());
    }
    world.open(400).await;
    tokio::time::sleep(2 * SECOND).await;
    world.node(0).kill().await;
    tokio::time::sleep(20 * SECOND).await;
    let start = Instant::now();
    world.node(0).start();
    world.open_within(60 * SECOND, 400).await;
    let mut per_tenth: BTreeMap<u128, usize> = BTreeMap::new();
    for connection in world.cluster.log().connections() {
        let opened = connection.events().iter().find(|event| event.kind == EventKind::Opened).unwrap().at;
        if opened >= start {
            *per_tenth.entry((opened - start).as_millis() / 100).or_default() += 1;
        }
    }
    let most = per_tenth.values().max().unwrap();
    assert!(*most <= 120, "{per_tenth:?}");
    for session in &sessions {
        session.execute(QUERY, ()).await.unwrap();
    }
    drop(sessions);
}

/// driver 7.12: when a session has many connections to open at once they do not all begin in the same millisecond.
#[tokio::test(start_paused = true)]
async fn many_begin_one_after_the_other() {
    let world = World::of(100).await;
    let session = world.builder().build().await.unwrap();
    world.open(101).await;
    let mut begun: BTreeMap<Instant, usize> = BTreeMap::new();
    for connection in world.cluster.log().connections() {
        *begun.entry(connection.events()[0].at).or_default() += 1;
    }
    let most = *begun.values().max().unwrap();
    let (first, last) = (begun.keys().next().unwrap(), begun.keys().last().unwrap());
    assert!(most <= 20, "{most} at the same moment");
    assert!(*last - *first <= Duration::from_millis(260));
    drop(session);
}
