//! A session that nobody uses.

use std::time::Duration;

use messina::testkit::Stage;
use tokio::{runtime::Handle, time::sleep};

use crate::{random::Random, world::World};

const HOUR: Duration = Duration::from_secs(3600);
const NODES: usize = 1000;

/// How often the only thread went to sleep: every time it was woken.
fn wakeups() -> u64 {
    Handle::current().metrics().worker_park_count(0)
}

/// Requests of each stage that servers got, but heartbeats; and those.
fn asked(world: &World) -> (usize, usize) {
    world.cluster.log().look(|seen| {
        let all: usize = seen.connections().iter().map(|one| one.requests().count()).sum();
        let heartbeats = seen.count(Stage::Heartbeat);
        (all - heartbeats, heartbeats)
    })
}

/// cql 4: a session of a thousand nodes that nobody uses wakes for its heartbeats alone.
#[tokio::test(start_paused = true)]
async fn nothing_is_busy() {
    // Without heartbeats in it, nothing wakes in most of an hour.
    let mut random = Random::new(1);
    let world = World::start_with(NODES, &mut random, |builder| builder.heartbeat(HOUR, Duration::from_secs(5))).await;
    world.full_within(Duration::from_secs(30)).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let (before, requests) = (wakeups(), asked(&world));
    sleep(HOUR / 2).await;
    let woken = wakeups() - before;
    println!("{woken} wakeups in half an hour without heartbeats");
    assert_eq!(asked(&world), requests, "nothing is asked");
    assert!(woken <= 10, "{woken} wakeups in half an hour");
    world.close().await.unwrap();
    drop(world);

    // With them, each connection asks that, and nothing else.
    let interval = HOUR / 6;
    let world =
        World::start_with(NODES, &mut random, |builder| builder.heartbeat(interval, Duration::from_secs(5))).await;
    world.full_within(Duration::from_secs(30)).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let (before, (others, heartbeats)) = (wakeups(), asked(&world));
    sleep(HOUR).await;
    let (woken, (others_later, later)) = (wakeups() - before, asked(&world));
    let sent = later - heartbeats;
    println!("{woken} wakeups and {sent} heartbeats of {} connections in an hour", NODES + 1);
    assert_eq!(others_later, others, "nothing else is asked");
    assert!(sent.abs_diff(6 * (NODES + 1)) <= NODES + 1, "{sent} heartbeats");
    assert!(woken <= 4 * u64::try_from(sent).unwrap(), "{woken} wakeups for {sent} heartbeats");
    world.close().await.unwrap();
}
