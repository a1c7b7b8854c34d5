//! Sessions whose nodes are reached by client routes.

use std::{sync::Arc, time::Duration};

use messina::{
    Session,
    config::TlsSettings,
    endpoint::{Endpoint, RouteEndpoint, RouteTable},
    establish::{self, Open, Seams},
    layers::{Class, ConnectError},
    testkit::{Cluster, Fault, Push, Stage, TestCa},
};
use tokio::time::{Instant, sleep};
use tower::{ServiceExt, util::BoxCloneSyncService};

use crate::{
    routed::World,
    support::{Events, SOON, connected, serves},
};

/// connect 108: nodes are dialled by their routes, `host:port` unresolved, through the one resolver.
/// connect 148: what is looked at is the host's text, not an address.
/// connect 110: the resolver of the session is asked for the routes' names; there is no other hook for that.
/// connect 10: it serves contact points and routes alike.
/// connect 111: a route's host is a name, and no IP is needed anywhere.
#[tokio::test(start_paused = true)]
async fn nodes_by_their_routes() {
    let world = World::new(3).await;
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, 0..3, SOON).await;
    let asked = world.names.asked();
    for name in ["r0.test:9000", "r1.test:9001", "r2.test:9002"] {
        assert!(asked.iter().any(|one| one == name), "{name} in {asked:?}");
    }
    for addr in &world.advertised {
        assert_eq!(world.network.dials(*addr), 0, "nobody dials what is advertised");
    }
    let [read] = &world.reads()[..] else { panic!("one read: {:?}", world.reads()) };
    assert!(read.ends_with("FROM system.client_routes WHERE connection_id IN ('vpc-1')"), "{read}");
    for node in session.topology().nodes() {
        let endpoint = node.endpoint().unwrap();
        assert_eq!(endpoint.to_string(), format!("client route of {}", node.host_id));
        assert!(endpoint.host().ends_with(".test") && endpoint.ip().is_none());
    }
}

/// connect 109: a node without a route is dialled at its own address.
/// report 47: unless routes alone are allowed: then nobody dials it, and the error says why.
#[tokio::test(start_paused = true)]
async fn a_node_without_a_route() {
    let world = World::new(3).await;
    let own = world.cluster.node(2).addr();
    world.cluster.node(2).set(|facts| facts.address = Some(own));
    world.cluster.set_client_routes([world.route(0), world.route(1)]);
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, 0..3, SOON).await;
    let dials = world.network.dials(own);
    assert!(dials > 0);
    drop(session);

    let session = world.builder().client_routes_proxy_only().build().await.unwrap();
    connected(&world.cluster, 0..2, SOON).await;
    sleep(Duration::from_secs(200)).await;
    assert_eq!(world.network.dials(own), dials, "not once");
    assert!(world.names.asked().iter().all(|name| !name.contains("invalid")), "nor is a name made up for it looked up");
    drop(session);
}

/// report 47: no route, and nothing else allowed: the connect fails at once, saying so, and nobody is asked or dialled.
/// connect 16: nothing waits for a route that may never come.
#[tokio::test(start_paused = true)]
async fn a_connect_without_a_way() {
    let world = World::new(1).await;
    let config = Arc::new(world.builder().check().unwrap());
    let names = world.names.clone().map_err(Into::into);
    let stack = establish::connect(&config, Seams::new(BoxCloneSyncService::new(names)));
    let routes = RouteTable::new();
    let open =
        |own| Open::new(Endpoint::ClientRoute(RouteEndpoint::new(world.id(0), routes.clone(), own)), config.clone());
    let error = stack.clone().oneshot(open(None)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Resolve { .. }) && error.class() == Class::Ordinary, "{error:?}");
    let text = messina::layers::error::chain(&error).to_string();
    assert!(text.contains("no client route leads to host") && text.contains(&world.id(0).to_string()), "{text}");
    assert!(world.names.asked().is_empty() && world.network.dialled().is_empty());
}

/// scenario S35: a node is reached directly, and its route is published later: the next connect uses the route.
/// reviewer 72: nothing holds it to the address that stood in.
#[tokio::test(start_paused = true)]
async fn a_route_published_later() {
    let world = World::new(2).await;
    let own = world.cluster.node(1).addr();
    world.cluster.node(1).set(|facts| facts.address = Some(own));
    world.cluster.set_client_routes([world.route(0)]);
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, 0..2, SOON).await;
    world.cluster.set_client_routes([world.route(0), world.route(1)]);
    assert_eq!(world.cluster.push(&Push::client_routes(["vpc-1"], [world.id(1)])), 1);
    world.has_read(2).await.unwrap();
    assert!(!world.names.asked().iter().any(|name| name.starts_with("r1.test")), "what is open stays");
    world.cluster.node(1).kill().await;
    world.cluster.node(1).start();
    let seen = world.cluster.node(1).wait_for(SOON * 2, |all| all.iter().any(|one| serves(one))).await;
    seen.unwrap_or_else(|seen| panic!("{seen}"));
    assert!(world.names.asked().iter().any(|name| name == "r1.test:9001"), "{:?}", world.names.asked());
    drop(session);
}

/// The pool of a node whose route changes connects at once: its back-off begins anew.
/// reviewer 72: routes are consulted at each connect.
#[tokio::test(start_paused = true)]
async fn a_changed_route_resets_the_back_off() {
    let world = World::new(2).await;
    let wrong = world.route(1).with(|route| route.address = Some("wrong.test".into()));
    world.names.set("wrong.test", [world.network.refused()]);
    world.cluster.set_client_routes([world.route(0), wrong]);
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, [0], SOON).await;
    // By now it is tried about once a minute.
    sleep(Duration::from_secs(300)).await;
    let before = world.names.asked().iter().filter(|name| name.starts_with("wrong.test")).count();
    assert!((5..20).contains(&before), "{before}");
    world.cluster.set_client_routes([world.route(0), world.route(1)]);
    world.cluster.push(&Push::client_routes(["vpc-1"], [world.id(1)]));
    let started = Instant::now();
    connected(&world.cluster, [1], SOON).await;
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    drop(session);
}

/// connect D28: a server that does not know the event is warned of, in row 89's words, and the table is read again every
/// 60 s.
/// connect 89: the message says that the server is too old for client routes.
/// report 47: REGISTER is tried again without that event.
/// reviewer 74: narrowed and tried again once, on the same connection.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_know_the_event() {
    let world = World::of(2, |builder| builder).await;
    world.cluster.set_client_routes([world.route(0)]);
    let log = Events::watch();
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, [0], SOON).await;
    assert_eq!(log.warned("the server is too old for client routes"), 1);
    let registers: Vec<usize> =
        world.cluster.log().connections().iter().map(|connection| connection.count(Stage::Register)).collect();
    assert_eq!(registers.iter().filter(|count| **count == 2).count(), 1, "{registers:?}");
    assert_eq!(world.reads().len(), 1);
    let started = Instant::now();
    world.cluster.set_client_routes([world.route(0), world.route(1)]);
    assert_eq!(world.cluster.push(&Push::client_routes(["vpc-1"], [world.id(1)])), 0, "nobody listens");
    connected(&world.cluster, [1], Duration::from_secs(100)).await;
    let took = started.elapsed();
    assert!((Duration::from_secs(50)..Duration::from_secs(70)).contains(&took), "{took:?}");
    let reads = world.reads().len();
    sleep(Duration::from_secs(600)).await;
    assert!((9..=11).contains(&(world.reads().len() - reads)), "{}", world.reads().len() - reads);
    drop(session);

    // One that knows it is not asked in vain.
    let world = World::new(1).await;
    let session = world.builder().build().await.unwrap();
    sleep(Duration::from_secs(600)).await;
    assert_eq!(world.reads().len(), 1);
    drop(session);
}

/// A server without the table, or that does not let us read it: nodes are dialled as if there were no route, with one
/// warning.
#[tokio::test(start_paused = true)]
async fn no_table() {
    let world = World::of(2, |builder| builder).await;
    for (index, addr) in world.cluster.addrs().into_iter().enumerate() {
        world.cluster.node(index).set(|facts| facts.address = Some(addr));
    }
    world.cluster.drop_client_routes();
    let log = Events::watch();
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, 0..2, SOON).await;
    sleep(Duration::from_secs(300)).await;
    let warnings = log.warnings();
    let told: Vec<_> = warnings.iter().filter(|event| event.message.contains("client routes cannot be read")).collect();
    assert_eq!(told.len(), 1, "{warnings:?}");
    assert!(told[0].message.contains("system.client_routes") && told[0].message.contains("unconfigured table"));
    drop(session);
}

/// With TLS the port for TLS is taken, and the route's host is the name that is verified.
#[tokio::test(start_paused = true)]
async fn with_tls() {
    let ca = TestCa::new();
    let world = World::of(2, |builder| builder.client_routes().tls(ca.server(["db.test", "r0.test", "r1.test"]))).await;
    let routes = (0..2).map(|index| world.route(index).with(|route| (route.port, route.tls_port) = (None, Some(9142))));
    world.cluster.set_client_routes(routes);
    let session = world.builder().tls(TlsSettings::new(ca.client())).build().await.unwrap();
    connected(&world.cluster, 0..2, SOON).await;
    let asked = world.names.asked();
    assert!(["r0.test:9142", "r1.test:9142"].iter().all(|name| asked.iter().any(|one| one == name)), "{asked:?}");
    drop(session);
}

/// A host of one's own replaces the table's addresses, and is the contact point where none is given.
#[tokio::test(start_paused = true)]
async fn a_host_of_ones_own() {
    let world = World::new(2).await;
    let addrs = world.cluster.addrs();
    // One host, its ports lead to different nodes: the network knows addresses only, so each port is told by the table.
    world.names.set("own.test", [(addrs[0].ip(), 0).into()]);
    let route = |index: usize| world.route(index).with(|route| route.port = Some(addrs[index].port().into()));
    world.cluster.set_client_routes([route(0)]);
    let session = Session::builder()
        .client_routes_via("vpc-1", "own.test")
        .client_routes_proxy_only()
        .resolver(world.names.clone())
        .connector(world.network.connector())
        .build()
        .await
        .unwrap();
    connected(&world.cluster, [0], SOON).await;
    assert!(world.names.asked().iter().all(|name| name == "own.test:9042"), "{:?}", world.names.asked());
    drop(session);
}

/// reviewer 73: a control node that advertises nothing and has no route is unreachable; the address by which it was
/// reached is that of a balancer, and never becomes a node's.
#[tokio::test(start_paused = true)]
async fn the_balancers_address_is_no_nodes() {
    let world = World::new(2).await;
    world.cluster.node(0).set(|facts| facts.address = None);
    world.cluster.set_client_routes([world.route(1)]);
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, [1], SOON).await;
    let snapshot = session.topology();
    let node = snapshot.node(world.id(0)).unwrap();
    assert_eq!(node.address, None);
    assert!(node.endpoint().unwrap().ip().is_none(), "{:?}", node.endpoint());
    drop(session);
}

/// connect 136: contact points are held back only while every known node has a live route: of three, none may miss.
/// connect 135: and never without routes.
#[tokio::test(start_paused = true)]
async fn contact_points_are_held_back_while_all_have_routes() {
    for (routes, held_back) in [(0..3, true), (0..2, false)] {
        let world = World::new(3).await;
        world.cluster.set_client_routes(routes.map(|index| world.route(index)));
        let session = world.builder().sequential().build().await.unwrap();
        connected(&world.cluster, 0..2, SOON).await;
        let before = world.names.asked().len();
        for node in world.cluster.nodes() {
            node.fault(Stage::Tcp, Fault::Refuse);
        }
        for node in world.cluster.nodes() {
            node.kill().await;
        }
        // The first round over the plan; the one after an exhausted round asks contact points in any case.
        sleep(Duration::from_millis(500)).await;
        let asked = world.names.asked().split_off(before);
        assert_eq!(!asked.iter().any(|name| name.starts_with("db.test")), held_back, "{asked:?}");
        assert!(asked.iter().any(|name| name.starts_with("r0.test")), "{asked:?}");
        drop(session);
    }
}

/// scenario H10: all nodes vanish, the contact name moves to a new set, and the route table is complete but stale: the
/// control connection comes back by the original name, without a restart.
/// connect D5: a complete but stale route table costs one round, not the cluster.
#[tokio::test(start_paused = true)]
async fn complete_but_stale_routes() {
    let world = World::new(3).await;
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, 0..3, SOON).await;

    // The same hosts elsewhere: the old routes lead nowhere, the new ones are told by the nodes alone.
    let moved = Cluster::builder().nodes(3).network(&world.network).client_routes();
    let ids: Vec<_> = (0..3).map(|index| world.id(index)).collect();
    let mut moved = moved.name(world.cluster.name());
    for (index, id) in ids.iter().copied().enumerate() {
        let addr = world.advertised[index];
        moved = moved.node(index, move |facts| (facts.host_id, facts.address) = (Some(id), Some(addr)));
    }
    let moved = moved.start().await.unwrap();
    for node in world.cluster.nodes() {
        node.kill().await;
    }
    for index in 0..3 {
        world.names.set(&format!("n{index}.test"), [moved.node(index).addr()]);
    }
    let route = |index: usize| world.route(index).with(|route| route.address = Some(format!("n{index}.test")));
    moved.set_client_routes((0..3).map(route));
    world.names.set("db.test", [moved.node(0).addr()]);
    connected(&moved, 0..3, Duration::from_secs(10)).await;
    assert!((0..3).all(|index| !world.served(index)));
    drop(session);
}
