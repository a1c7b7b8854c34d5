//! One after the other, or side by side with one login at a time.

use std::time::Duration;

use messina::testkit::{Cluster, ClusterBuilder, EventKind, Fault, Network, Stage};

use crate::support::{DELAY, LIMIT, Mode, SOON, all_closed, attempts, named, stages, timed};

const SECOND: Duration = Duration::from_secs(1);

/// Nodes of which none lists another, each as `change` makes it.
async fn alone(network: &Network, nodes: usize, change: impl Fn(ClusterBuilder, usize) -> ClusterBuilder) -> Cluster {
    let mut builder = Cluster::builder().network(network).nodes(nodes);
    for index in 0..nodes {
        builder = change(builder.node(index, |facts| facts.listed = false), index);
    }
    builder.start().await.unwrap()
}

/// connect 32: one attempt at a time.
/// connect 35: a failed attempt's connection is closed before the next is opened.
/// connect D33: overlap of connections is 0 in the sequential mode, and is not side by side.
#[tokio::test(start_paused = true)]
async fn overlap_of_connections() {
    for stage in [Stage::Options, Stage::Startup, Stage::Identity, Stage::Register] {
        for fault in [Fault::Silence, Fault::Close, Fault::error(0x1001, "busy")] {
            let network = Network::new();
            let cluster = alone(&network, 4, |builder, index| builder.fault(index, stage, fault.clone())).await;
            let (result, _) = timed(named(&network, cluster.addrs()).sequential()).await;
            result.unwrap_err();
            let seen = cluster.log().now();
            assert_eq!((seen.opened(), seen.most_open_at_once()), (4, 1));
            for pair in seen.connections().windows(2) {
                let closed = pair[0].events().iter().find(|event| matches!(event.kind, EventKind::Closed(_)));
                assert!(closed.unwrap().order < pair[1].events()[0].order, "{} then {}", pair[0], pair[1]);
            }
        }
        let network = Network::new();
        let cluster = alone(&network, 4, |builder, index| builder.fault(index, stage, Fault::Silence)).await;
        timed(named(&network, cluster.addrs())).await.0.unwrap_err();
        assert_eq!(cluster.log().now().most_open_at_once(), 4, "side by side they overlap");
    }
}

/// connect D33: overlap of logins is 0 in both modes: at most one attempt of a connect is past OPTIONS.
#[tokio::test(start_paused = true)]
async fn overlap_of_logins() {
    for mode in Mode::BOTH {
        for slow in [Stage::Startup, Stage::Auth, Stage::Cluster, Stage::Identity, Stage::Register] {
            let network = Network::new();
            let cluster = alone(&network, 5, |builder, index| {
                let builder = builder.user("ada", "pass").fault(index, slow, Fault::Delay(SECOND));
                // All but the last are slow and then fail.
                if index < 4 { builder.fault(index, Stage::Register, Fault::error(0x1001, "busy")) } else { builder }
            })
            .await;
            let builder = mode.of(named(&network, cluster.addrs()).credentials("ada", "pass"));
            let (result, _) = timed(builder).await;
            result.unwrap();
            let seen = cluster.log().now();
            assert_eq!(seen.most_logins_at_once(), 1, "{mode:?} {slow:?}");
            let together = if mode == Mode::Beside { 5 } else { 1 };
            // The node's own connection comes after the control connection.
            assert!(seen.most_open_at_once() >= together, "{mode:?} {slow:?}");
        }
    }
}

/// connect D33: a black hole or a mute port costs the delay instead of a limit.
#[tokio::test(start_paused = true)]
async fn what_a_silent_address_costs() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    for silent in [network.black_hole(), network.mute()] {
        for (mode, cost) in [(Mode::Sequential, LIMIT), (Mode::Beside, DELAY)] {
            let (result, took) = timed(mode.of(named(&network, [silent, cluster.node(0).addr()]))).await;
            result.unwrap();
            assert_eq!(took, cost);
        }
        let three = [silent, network.black_hole(), network.mute(), cluster.node(0).addr()];
        let (result, took) = timed(named(&network, three)).await;
        result.unwrap();
        assert_eq!(took, 3 * DELAY);
    }
}

/// connect D33: the one that holds the turn wins, if it gets through, over one that waits for it.
#[tokio::test(start_paused = true)]
async fn the_holder_of_the_turn_wins() {
    let network = Network::new();
    let cluster = alone(&network, 2, |builder, index| match index {
        0 => builder.fault(0, Stage::Startup, Fault::Delay(SECOND).times(1)),
        _ => builder,
    })
    .await;
    let (result, took) = timed(named(&network, cluster.addrs())).await;
    let session = result.unwrap();
    assert_eq!(took, SECOND);
    // The other got as far as OPTIONS, was dialled beside, and is closed.
    let beside = cluster.node(1).connections();
    assert_eq!((beside.len(), beside[0].stages(), beside[0].is_open()), (1, vec![Stage::Options], false));
    drop(session);
}

/// connect D33: whoever waits for the turn takes it when the holder fails, and is not too late for its own limits.
#[tokio::test(start_paused = true)]
async fn the_turn_goes_on() {
    let network = Network::new();
    let cluster = alone(&network, 3, |builder, index| match index {
        0 | 1 => builder.fault(index, Stage::Startup, Fault::Silence),
        _ => builder,
    })
    .await;
    let (result, took) = timed(named(&network, cluster.addrs())).await;
    let session = result.unwrap();
    assert_eq!(took, 2 * LIMIT, "a login may take its limit, the next begins then");
    assert_eq!(cluster.log().now().most_logins_at_once(), 1);
    drop(session);
}

/// connect D33: a connection that ends while it waits for the turn makes room for the next address at once.
#[tokio::test(start_paused = true)]
async fn ended_while_waiting() {
    let network = Network::new();
    let cluster = alone(&network, 3, |builder, index| match index {
        0 => builder.fault(0, Stage::Startup, Fault::Silence),
        _ => builder,
    })
    .await;
    let started = tokio::time::Instant::now();
    let build = tokio::spawn(named(&network, cluster.addrs()).attempt_delay(2 * SECOND).build());
    cluster.node(1).wait_for(SOON, |seen| seen.iter().any(|one| one.count(Stage::Options) == 1)).await.unwrap();
    tokio::time::sleep(SECOND / 2).await;
    assert_eq!(network.dials(cluster.node(2).addr()), 0);
    cluster.node(1).kill().await;
    cluster.node(2).wait_for(SOON, |seen| seen.iter().any(|one| one.count(Stage::Options) == 1)).await.unwrap();
    assert_eq!(started.elapsed(), 2 * SECOND + SECOND / 2);
    let session = build.await.unwrap().unwrap();
    assert_eq!(started.elapsed(), LIMIT, "then the turn is free");
    drop(session);
}

/// connect D33: turned off, the delay is never looked at.
/// connect 40: the worst case of one name is the cap times the limits of one attempt.
#[tokio::test(start_paused = true)]
async fn the_worst_case() {
    let network = Network::new();
    let holes: Vec<_> = (0..9).map(|_| network.black_hole()).collect();
    let (result, took) = timed(named(&network, holes.clone()).sequential()).await;
    assert_eq!((attempts(&result.unwrap_err()).len(), took), (5, 5 * LIMIT));
    let (result, took) = timed(named(&network, holes)).await;
    assert_eq!((stages(&result.unwrap_err()), took), (vec!["tcp"; 5], 4 * DELAY + LIMIT));
}

/// connect 33: the first success ends the walk: later addresses see nothing.
#[tokio::test(start_paused = true)]
async fn later_addresses_see_nothing() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let cluster = alone(&network, 3, |builder, _| builder).await;
        let session = mode.of(named(&network, cluster.addrs())).build().await.unwrap();
        cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
        assert!(network.dialled().iter().all(|addr| *addr == cluster.node(0).addr()));
        drop(session);
        all_closed(cluster.log()).await;
    }
}
