//! Options that may change while a session runs: what is made after the change follows it, what was made before does not.

use std::{net::SocketAddr, time::Duration};

use messina::{
    Session,
    testkit::{Answer, Cluster, Fault, NameAnswer, Network, Stage, rows},
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::misled::{QUERY, SECOND, SECOND_NODE, World, until};

/// An option with another value, what befalls the second node, and how a connect to it fails with the default and with
/// that value.
struct Row {
    option: &'static str,
    value: &'static str,
    befalls: fn(&World),
    before: &'static str,
    after: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        option: "advanced.connection.connect-timeout",
        value: "1 s",
        befalls: |world| world.node().fault(Stage::Tcp, Fault::Silence),
        before: "10.0.0.2 tcp 5s",
        after: "10.0.0.2 tcp 1s",
    },
    Row {
        option: "advanced.connection.tls-handshake-timeout",
        value: "1 s",
        befalls: |world| world.node().fault(Stage::Tls, Fault::Silence),
        before: "10.0.0.2 tls 5s",
        after: "10.0.0.2 tls 1s",
    },
    Row {
        option: "advanced.connection.init-query-timeout",
        value: "1 s",
        befalls: |world| world.node().fault(Stage::Cluster, Fault::Silence),
        before: "10.0.0.2 cluster 5s",
        after: "10.0.0.2 cluster 1s",
    },
    Row {
        option: "advanced.connection.resolve-timeout",
        value: "1 s",
        befalls: |world| world.names.answer(SECOND_NODE, NameAnswer::Silence),
        before: "resolve 5s",
        after: "resolve 1s",
    },
    Row {
        option: "advanced.connection.max-candidate-addresses",
        value: "2",
        befalls: |world| world.names.set(SECOND_NODE, world.refused.clone()),
        before: "10.255.0.1 tcp, 10.255.0.2 tcp, 10.255.0.3 tcp, 10.255.0.4 tcp, 10.255.0.5 tcp",
        after: "10.255.0.1 tcp, 10.255.0.2 tcp",
    },
    Row {
        option: "advanced.connection.connect-budget",
        value: "100 ms",
        befalls: |world| world.names.set(SECOND_NODE, world.silent.clone()),
        before: "10.255.0.7 tcp 5s, 10.255.0.8 tcp 5s, 10.255.0.9 tcp 5s",
        after: "10.255.0.7 tcp 5s, 2 untried",
    },
    Row {
        option: "advanced.connection.max-auth-failures",
        value: "1",
        befalls: |world| {
            world.cluster.nodes()[1..].iter().for_each(|node| node.fault(Stage::Auth, Fault::error(0x0100, "no")));
            world.names.set(SECOND_NODE, world.cluster.addrs().into_iter().skip(1));
        },
        before: "10.0.0.2 auth, 10.0.0.3 auth",
        after: "10.0.0.2 auth, 1 untried",
    },
];

/// connect 132: options that may change at run time, one by one: connects before the change go as it was, connects after
/// it as it is.
#[tokio::test(start_paused = true)]
async fn connects() {
    let mut wrong = Vec::new();
    for Row { option, value, befalls, before, after } in ROWS {
        let world = World::new(option.contains("tls"), false).await;
        for expected in [before, after] {
            befalls(&world);
            let seen = world.fails().await;
            if seen != *expected {
                wrong.push(format!("{option}: {seen}, expected {expected}"));
            }
            world.heals().await;
            world.reconfigure(option, value);
        }
        world.session.execute(QUERY, ()).await.unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// connect 132: the order in which addresses are tried.
#[tokio::test(start_paused = true)]
async fn the_order() {
    let world = World::new(false, false).await;
    let six = SocketAddr::new("2001:db8::1".parse().unwrap(), 9042);
    // As given it is the last; with the families in turn it stands between the others.
    for place in [2, 1] {
        world.names.set(SECOND_NODE, [world.refused[0], world.refused[1], six]);
        let seen = world.fails().await;
        assert_eq!(seen.split(", ").position(|one| one.starts_with("2001:")), Some(place), "{seen}");
        world.heals().await;
        world.reconfigure("advanced.connection.candidate-order", "interleave-families");
    }
}

/// connect 132: how soon the next address is tried beside one that does not answer.
#[tokio::test(start_paused = true)]
async fn the_attempt_delay() {
    let world = World::new(false, false).await;
    world.names.set(SECOND_NODE, [world.silent[0], world.node().addr()]);
    for (value, millis) in [("250 ms", 250), ("1 s", 1000), ("0 s", 5000)] {
        world.reconfigure("advanced.connection.attempt-delay", value);
        let took = world.comes_back().await;
        let least = Duration::from_millis(millis);
        assert!((least..least + Duration::from_millis(10)).contains(&took), "{value}: {took:?}");
        sleep(5 * SECOND).await;
    }
}

/// connect 132: what becomes of a connection to somebody else than expected.
#[tokio::test(start_paused = true)]
async fn the_host_id_check() {
    let world = World::new(false, true).await;
    let id = world.node().host_id();
    world.node().set(|facts| facts.host_id = Some(Uuid::from_u128(7)));
    world.node().reset_connections();
    sleep(20 * SECOND).await;
    assert!(world.network.held().iter().all(|(_, server)| *server != world.node().addr()));
    world.reconfigure("advanced.connection.host-id-check", "off");
    until(|| world.network.held().iter().any(|(_, server)| *server == world.node().addr())).await;
    world.node().set(|facts| facts.host_id = id);
}

/// connect 132: connections that are opened after the change are checked, filled and read as it says; those that are open
/// stay what they are.
#[tokio::test(start_paused = true)]
async fn connections() {
    let world = World::new(false, false).await;
    let node = world.node();
    let anew = async |option, value| {
        world.reconfigure(option, value);
        let checks = node.count(Stage::Heartbeat);
        sleep(20 * SECOND).await;
        assert_eq!(node.count(Stage::Heartbeat), checks, "{option}: what is open stays what it is");
        world.comes_back().await;
    };

    // Checks, and how long one may take.
    anew("advanced.heartbeat.interval", "2 s").await;
    let checks = node.count(Stage::Heartbeat);
    sleep(20 * SECOND).await;
    assert!((8..=10).contains(&(node.count(Stage::Heartbeat) - checks)), "{}", node.count(Stage::Heartbeat) - checks);
    let builder = world.builder.clone().set("advanced.heartbeat.interval", "2 s");
    world.session.reconfigure(builder.set("advanced.heartbeat.timeout", "1 s").check().unwrap()).unwrap();
    world.comes_back().await;
    sleep(5 * SECOND).await;
    node.fault(Stage::Heartbeat, Fault::Silence);
    let (held, started) = (world.network.held(), Instant::now());
    until(|| world.network.held() != held).await;
    assert!(started.elapsed() <= 3 * SECOND + Duration::from_millis(10), "{:?}", started.elapsed());
    world.heals().await;
}

/// connect 132: how many requests a connection takes at a time.
#[tokio::test(start_paused = true)]
async fn requests_per_connection() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    cluster.prime(QUERY, Answer::from(rows!["id int"; (1,)]).delayed(SECOND));
    let builder = Session::builder().contact_addr(cluster.node(0).addr()).connector(network.connector());
    let session = builder.clone().build().await.unwrap();
    until(|| network.held().len() == 2).await;
    sleep(5 * SECOND).await;
    for (value, at_once) in [("1024", 5), ("2", 2)] {
        let options = [
            ("advanced.connection.max-requests-per-connection", value),
            ("advanced.connection.max-orphan-requests", "1"),
        ];
        let builder = options.into_iter().fold(builder.clone(), |builder, (option, value)| builder.set(option, value));
        session.reconfigure(builder.check().unwrap()).unwrap();
        let held = network.held();
        cluster.node(0).reset_connections();
        until(|| network.held().iter().all(|one| !held.contains(one))).await;
        until(|| network.held().len() == 2 && session.nodes()[0].connections.len() == 1).await;
        let before = cluster.node(0).count(Stage::Query);
        let asked: Vec<_> = (0..5)
            .map(|_| {
                let session = session.clone();
                tokio::spawn(async move { session.execute(QUERY, ()).await.map(drop) })
            })
            .collect();
        sleep(SECOND / 2).await;
        assert_eq!(cluster.node(0).count(Stage::Query) - before, at_once, "{value}");
        for one in asked {
            one.await.unwrap().unwrap();
        }
        sleep(5 * SECOND).await;
    }
}
