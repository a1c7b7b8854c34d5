//! What an event about client routes leads to.

use std::{sync::Arc, time::Duration};

use messina::testkit::{Answer, ClientRoute, Fault, Push, Stage, rows};
use tokio::time::sleep;

use crate::{
    routed::World,
    support::{Events, SOON, connected},
};

/// The reads after the first, once `count` of them have come and nothing more does.
async fn later_reads(world: &World, count: usize) -> Vec<String> {
    world.has_read(count + 1).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let mut reads = world.reads();
    reads.remove(0);
    reads
}

fn hosts(read: &str) -> Vec<String> {
    let (_, list) = read.split_once("host_id IN (").unwrap();
    list.trim_end_matches(')').split(", ").map(str::to_owned).collect()
}

fn connections(read: &str) -> &str {
    let (_, rest) = read.split_once("connection_id IN (").unwrap();
    rest.split_once(')').unwrap().0
}

/// scenario S32: a route event for a foreign connection id: nothing changes, and nothing is asked.
/// reviewer 69: events about other tenants' connections do not change our routes.
/// report 48: an event for a foreign id.
#[tokio::test(start_paused = true)]
async fn foreign_events_are_ignored() {
    let world = World::new(2).await;
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, 0..2, SOON).await;
    let known = session.topology();
    world.cluster.set_client_routes([]);
    world.cluster.push(&Push::client_routes(["vpc-2"], [world.id(0)]));
    world.cluster.push(&Push::client_routes(["vpc-2", "VPC-1"], [world.id(0), world.id(1)]));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(world.reads().len(), 1);
    assert!(Arc::ptr_eq(&known, &session.topology()), "what is known is not even published again");
    drop(session);
}

/// Two lists of one length are pairs: a foreign id takes its host with it. What is read covers each of our ids with each
/// of the hosts, so that of two ids and two hosts nothing is missed, whichever reading the server meant.
#[tokio::test(start_paused = true)]
async fn both_readings() {
    let world = World::new(3).await;
    let mut ids: Vec<_> = (0..3).map(|index| world.id(index)).collect();
    ids.sort_unstable();
    let session = world.builder().client_routes("vpc-2").build().await.unwrap();
    connected(&world.cluster, 0..3, SOON).await;
    let log = Events::watch();
    world.cluster.push(&Push::client_routes(["vpc-1", "foreign"], [ids[0], ids[1]]));
    let reads = later_reads(&world, 1).await;
    assert_eq!((reads.len(), connections(&reads[0]), hosts(&reads[0])), (1, "'vpc-1'", vec![ids[0].to_string()]));

    // Two and two: changed are (1, A) and (2, B) in one reading, all four in the other. The routes of A and B lead by vpc-1.
    for changed in ["pairs", "all"] {
        let port = if changed == "pairs" { 9500 } else { 9600 };
        let route = |connection: &str, index: usize| {
            let id = ids[index];
            let name = (0..3).find(|node| world.id(*node) == id).unwrap();
            ClientRoute::new(connection, id, format!("r{name}.test"), port)
        };
        let mut table = vec![route("vpc-1", 0), route("vpc-2", 1)];
        let old = |connection: &str, index: usize| route(connection, index).with(|route| route.port = Some(9100));
        let others = [("vpc-1", 1), ("vpc-2", 0)];
        table.extend(others.map(|(id, index)| if changed == "all" { route(id, index) } else { old(id, index) }));
        table.push(old("vpc-1", 2));
        world.cluster.set_client_routes(table);
        world.cluster.push(&Push::client_routes(["vpc-1", "vpc-2"], [ids[0], ids[1]]));
        sleep(Duration::from_secs(5)).await;
        let snapshot = session.topology();
        let ports = ids
            .iter()
            .map(|id| messina::layers::Dial::address(&snapshot.node(*id).unwrap().endpoint().unwrap()).port());
        let expected = if changed == "pairs" { [9500, 9100] } else { [9600, 9600] };
        assert_eq!(ports.take(2).collect::<Vec<_>>(), expected, "{changed}");
    }
    assert_eq!(log.warned("lists of different lengths"), 0);

    // One and two: every connection with every host, and a warning.
    let before = world.reads().len() - 1;
    world.cluster.push(&Push::client_routes(["vpc-1"], [ids[0], ids[1]]));
    let reads = later_reads(&world, before + 1).await;
    let read = reads.last().unwrap();
    assert_eq!((connections(read), hosts(read)), ("'vpc-1'", vec![ids[0].to_string(), ids[1].to_string()]));
    assert_eq!(log.warned("lists of different lengths"), 1);
    drop(session);
}

/// An event that names no host asks for everything; so does one of a kind that came after this driver.
#[tokio::test(start_paused = true)]
async fn an_event_without_hosts_reads_all() {
    let world = World::new(2).await;
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, 0..2, SOON).await;
    let nobody: [uuid::Uuid; 0] = [];
    world.cluster.push(&Push::client_routes(["vpc-1"], nobody));
    let reads = later_reads(&world, 1).await;
    assert_eq!((reads.len(), reads[0].contains("host_id IN")), (1, false), "{reads:?}");
    drop(session);
}

/// Events that come while a read is under way are merged into the next; a full read answers all before it.
#[tokio::test(start_paused = true)]
async fn one_read_at_a_time() {
    let world = World::new(3).await;
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, 0..3, SOON).await;
    world.cluster.fault(Stage::Query, Fault::Delay(Duration::from_secs(2)));
    world.cluster.push(&Push::client_routes(["vpc-1"], [world.id(0)]));
    world.has_read(2).await.unwrap();
    for _ in 0..5 {
        world.cluster.push(&Push::client_routes(["vpc-1"], [world.id(1)]));
        world.cluster.push(&Push::client_routes(["vpc-1"], [world.id(2)]));
    }
    let reads = later_reads(&world, 2).await;
    assert_eq!(reads.len(), 2, "{reads:?}");
    let mut both = vec![world.id(1).to_string(), world.id(2).to_string()];
    both.sort_unstable();
    assert_eq!(hosts(&reads[1]), both);
    drop(session);
}

/// reviewer 68: a malformed host id in an event is passed over with a warning; the others are read, and so are later ones.
/// scenario S31: one malformed row costs one route and is named; the next refresh still runs.
#[tokio::test(start_paused = true)]
async fn malformed_things_cost_themselves_alone() {
    let world = World::new(3).await;
    let broken = world.route(1).with(|route| route.port = Some(123_456));
    world.cluster.set_client_routes([world.route(0), broken, world.route(2)]);
    let log = Events::watch();
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, [0, 2], SOON).await;
    let told = log.warnings();
    let told: Vec<_> = told.iter().filter(|event| event.message.contains("cannot be used")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    for part in ["system.client_routes", "\"vpc-1\"", &world.id(1).to_string(), "port: 123456 is no port"] {
        assert!(told[0].message.contains(part), "{part} in {}", told[0].message);
    }

    world.cluster.set_client_routes((0..3).map(|index| world.route(index)));
    world.cluster.push(&Push::client_routes(["vpc-1", "vpc-1"], ["no host id".to_owned(), world.id(1).to_string()]));
    connected(&world.cluster, [1], SOON).await;
    assert_eq!(log.warned("names a host id that is none"), 1);
    let reads = later_reads(&world, 1).await;
    assert_eq!(hosts(&reads[0]), [world.id(1).to_string()]);

    // Nothing but a malformed id: nothing is read, and nothing is stuck.
    world.cluster.push(&Push::client_routes(["vpc-1"], ["no host id"]));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(world.reads().len(), 2);
    world.cluster.push(&Push::client_routes(["vpc-1"], [world.id(2)]));
    assert_eq!(later_reads(&world, 2).await.len(), 2);
    drop(session);
}

/// scenario S34: a blank address is rejected at refresh, naming the row, and not dialled.
/// scenario S33: a route that a refresh proves absent is dropped.
#[tokio::test(start_paused = true)]
async fn a_refresh_drops_what_is_absent() {
    let world = World::new(2).await;
    let session = world.builder().client_routes("vpc-2").build().await.unwrap();
    connected(&world.cluster, 0..2, SOON).await;
    let log = Events::watch();
    let blank = ClientRoute::new("vpc-2", world.id(1), "  ", 9042);
    world.cluster.set_client_routes([world.route(0), blank]);
    world.cluster.push(&Push::client_routes(["vpc-1", "vpc-2"], [world.id(1), world.id(1)]));
    later_reads(&world, 1).await;
    let own = world.advertised[1];
    let topology = session.topology();
    let endpoint = topology.node(world.id(1)).unwrap().endpoint().unwrap();
    assert_eq!(messina::layers::Dial::address(&endpoint), own.into(), "its own address stands in");
    assert_eq!(log.warned("address: is blank"), 1);
    drop(session);
}

/// A table that is another than the server's is read where it is.
#[tokio::test(start_paused = true)]
async fn another_table() {
    let world = World::new(1).await;
    let id = world.id(0);
    let answer: Answer =
        rows!["connection_id text, host_id uuid, address text, port int"; ("it's", id, "r0.test", 9042)].into();
    let text = "SELECT connection_id, host_id, address, port, tls_port FROM ks.routes WHERE connection_id IN ('it''s')";
    world.cluster.prime(text, answer);
    let builder = messina::Session::builder()
        .contact_point("db.test")
        .client_routes("it's")
        .client_routes_table("ks.routes")
        .resolver(world.names.clone())
        .connector(world.network.connector());
    let session = builder.build().await.unwrap();
    connected(&world.cluster, [0], SOON).await;
    assert!(world.names.asked().iter().any(|name| name == "r0.test:9042"));
    drop(session);
}
