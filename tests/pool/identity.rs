//! Who answers on a connection of a pool.

use std::net::SocketAddr;

use messina::{
    HostIdCheck,
    session::Standing,
    testkit::{ConnectionLog, Scylla, Stage},
};
use uuid::Uuid;

use crate::support::{Balancer, QUERY, SECOND, World, settle, shards};

fn got_no_further(connection: &ConnectionLog) -> bool {
    connection.stages() == [Stage::Options]
}

/// connect D20: a node that tells another host id than the expected one is noticed from SUPPORTED, before anything else is
/// asked; what happens then is a setting.
/// scenario S29: without a keyspace too.
/// report 50: it is acted on, not only logged.
/// reviewer 42: a connection to the wrong node is never used.
#[tokio::test(start_paused = true)]
async fn the_wrong_host_answers() {
    for check in [HostIdCheck::Reject, HostIdCheck::Warn, HostIdCheck::Off] {
        let world = World::start(|cluster| cluster.nodes(2).scylla(Scylla::new(1))).await;
        let session = world.builder().host_id_check(check).build().await.unwrap();
        world.open(3).await;
        // The second node's address leads to a node of the same cluster that is another one.
        world.node(1).kill().await;
        world.node(1).set(|facts| facts.host_id = Some(Uuid::from_u128(7)));
        world.node(1).start();
        let before = world.node(1).connections().len();
        tokio::time::sleep(10 * SECOND).await;
        let state = session.nodes().into_iter().find(|node| node.host_id != world.node(0).host_id().unwrap()).unwrap();
        let connections = &world.node(1).connections()[before..];
        if check == HostIdCheck::Reject {
            assert!(!connections.is_empty() && connections.iter().all(got_no_further));
            assert!(state.connections.is_empty() && matches!(state.standing, Standing::Down));
            assert!(
                state
                    .last_error
                    .unwrap()
                    .report()
                    .to_string()
                    .contains("node 00000000-0000-0000-0000-000000000007 answers")
            );
        } else {
            assert_eq!(state.connections.len(), 1, "{check}");
        }
        for _ in 0..10 {
            session.execute(QUERY, ()).await.unwrap();
        }
        let served: usize = connections.iter().map(|one| one.count(Stage::Query)).sum();
        assert_eq!(served == 0, check == HostIdCheck::Reject || served == 0);
        drop(session);
    }
}

/// connect D20: the shard-aware port is checked like the ordinary one.
/// report 8: an address that leads to another node by now gives it no connection.
#[tokio::test(start_paused = true)]
async fn the_wrong_host_answers_at_the_shard_aware_port() {
    let world = World::start(|cluster| cluster.nodes(2).scylla(Scylla::new(3).shard_aware())).await;
    let balancer = Balancer::new(&world.network);
    let at_port = |index: usize| SocketAddr::new(world.node(index).addr().ip(), 19_042);
    balancer.lead(at_port(0), [at_port(1)]);
    let session = world.builder().connector(balancer).build().await.unwrap();
    world.open_within(60 * SECOND, 7).await;
    settle().await;
    for index in 0..2 {
        let state = world.state(&session, index);
        assert_eq!(shards(&state), [1, 1, 1]);
        // Whatever it claims, each connection is to the node itself: nothing of it was logged in by mistake.
        let logged_in = world.node(index).connections().iter().filter(|one| one.is_open()).count();
        assert_eq!(logged_in, if index == 0 { 4 } else { 3 });
    }
    let strays: Vec<_> = world.node(1).connections().into_iter().filter(|one| !one.is_open()).collect();
    assert!(!strays.is_empty() && strays.iter().all(got_no_further), "{strays:?}");
    drop(session);
}
