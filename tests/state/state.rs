//! Nodes, pins, connections and the control connection, in health and under partial failure.

use messina::{
    endpoint::Advertised,
    layers::{Address, Class, HostAddr},
    session::{Purpose, Standing},
    testkit::{Fault, Scylla, Stage},
};

use crate::support::{SOON, World, full, until};

/// report 55: in health every node has its connections, and each says where it leads.
#[tokio::test(start_paused = true)]
async fn in_health() {
    let world = World::new(|cluster| cluster.nodes(3).name("healthy")).await;
    let session = world.builder().build().await.unwrap();
    let state = until(&session, full).await;
    assert_eq!((state.cluster.as_deref(), state.protocol.unwrap().as_u8()), (Some("healthy"), 5));
    assert_eq!((state.contact_points.as_slice(), state.closed), (["db.test:9042".to_owned()].as_slice(), false));
    let control = state.control.as_ref().unwrap();
    assert_eq!(
        (control.host_id, control.addr),
        (world.cluster.node(0).host_id().unwrap(), world.cluster.node(0).addr())
    );
    assert_eq!(control.events, ["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"]);
    assert_eq!(state.told.unwrap().addr, world.cluster.node(0).addr());
    assert_eq!(state.nodes.len(), 3);
    for (index, server) in world.cluster.nodes().iter().enumerate() {
        let node = world.node(&state, index);
        assert_eq!(node.endpoint.to_string(), server.addr().to_string());
        assert!(matches!(node.standing, Standing::Up) && node.last_error.is_none(), "{state}");
        assert_eq!((node.datacenter.as_deref(), node.rack.as_deref()), (Some("datacenter1"), Some("rack1")));
        let [connection] = node.connections.as_slice() else { panic!("{state}") };
        assert_eq!((connection.peer, connection.purpose, connection.in_flight), (server.addr(), Purpose::Serving, 0));
    }
}

/// report 55: under partial failure each node says what is wrong with it, and the others are told as they are.
/// driver 7.11: while a node's own address fails, the address by which it is reached is shown beside it.
#[tokio::test(start_paused = true)]
async fn under_partial_failure() {
    let world = World::new(|cluster| {
        cluster
            .nodes(4)
            .name("partial")
            // One that nobody answers for, one that lets nobody in, one of another cluster.
            .fault(1, Stage::Tcp, Fault::Refuse)
            .fault(2, Stage::Startup, Fault::error(0x1001, "too much to do"))
            .node(3, |facts| facts.cluster_name = "foreign".into())
    })
    .await;
    let session = world.builder().build().await.unwrap();
    let tried = |state: &messina::session::SessionState| {
        state.nodes.iter().filter(|node| node.last_error.is_some()).count() == 3
    };
    let state = until(&session, tried).await;

    assert!(matches!(world.node(&state, 0).standing, Standing::Up), "{state}");
    let refused = world.node(&state, 1);
    assert!(matches!(refused.standing, Standing::Down) && refused.connections.is_empty(), "{state}");
    assert_eq!(refused.last_error.as_ref().unwrap().failed()[0].error.stage().as_str(), "tcp");
    assert!(refused.next_attempt_in.is_some(), "{state}");
    let overloaded = world.node(&state, 2);
    assert!(matches!(overloaded.standing, Standing::Down), "{state}");
    let foreign = world.node(&state, 3);
    let Standing::ForcedDown { reason, .. } = &foreign.standing else { panic!("{state}") };
    assert_eq!(reason.class(), Class::ForcesDown);

    let text = state.to_string();
    for said in
        ["cluster \"partial\"", "control connection to node", "forced down", "too much to do", "0 of 1", "1 of 1"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    // It answers again, and the state says so.
    world.cluster.node(1).clear_faults();
    until(&session, |state| matches!(world.node(state, 1).standing, Standing::Up)).await;
}

/// report 55: shards are in the state: how many, which connection leads to which.
#[tokio::test(start_paused = true)]
async fn shards() {
    let world = World::new(|cluster| cluster.scylla(Scylla::new(3))).await;
    let session = world.builder().build().await.unwrap();
    let state = until(&session, full).await;
    let node = world.node(&state, 0);
    assert_eq!((node.shards, node.scylla), (Some(3), Some(true)));
    let mut shards: Vec<_> =
        node.connections.iter().filter(|one| one.purpose == Purpose::Serving).filter_map(|one| one.shard).collect();
    shards.sort_unstable();
    assert_eq!(shards, [0, 1, 2], "{state}");
}

/// report 55: a control connection that is lost is told as lost, and its successor as its successor; after close nothing is there.
#[tokio::test(start_paused = true)]
async fn the_control_connection() {
    let world = World::new(|cluster| cluster.nodes(2)).await;
    let session = world.builder().build().await.unwrap();
    until(&session, full).await;
    world.cluster.node(0).kill().await;
    let other = world.cluster.node(1).host_id();
    let state = until(&session, |state| state.control.as_ref().map(|control| control.host_id) == other).await;
    assert_eq!(state.told.unwrap().host_id, other.unwrap());

    world.cluster.node(1).kill().await;
    let state = until(&session, |state| state.control.is_none()).await;
    assert!(state.to_string().contains("no control connection; one is looked for"), "{state}");

    session.close_within(SOON).await;
    let state = session.state();
    assert!(state.closed && state.control.is_none() && state.to_string().contains("\nclosed\n"), "{state}");
    assert!(state.nodes.iter().all(|node| node.connections.is_empty()), "{state}");
}

/// driver 7.11: a node that is dialled by a name shows the name and the address it is held to, since when and by which
/// connection.
#[tokio::test(start_paused = true)]
async fn pins() {
    let world = World::new(|cluster| cluster.nodes(2)).await;
    let name = |host_id: uuid::Uuid| format!("{host_id}.nodes.test");
    for node in world.cluster.nodes() {
        world.names.set(&name(node.host_id().unwrap()), [node.addr()]);
    }
    let translate = move |node: &Advertised<'_>| Address::parse(&name(node.host_id), node.address.port()).unwrap();
    let session = world.builder().address_translator(translate).build().await.unwrap();
    until(&session, full).await;
    tokio::time::sleep(SOON).await;

    let state = session.state();
    for (index, server) in world.cluster.nodes().iter().enumerate() {
        let node = world.node(&state, index);
        assert_eq!(node.endpoint.to_string(), format!("{}.nodes.test:{}", node.host_id, server.addr().port()));
        assert_eq!(node.pin, Some(HostAddr::from(server.addr())), "{state}");
        assert_eq!(node.connections[0].peer, server.addr());
        assert!(node.pinned_for().unwrap() >= SOON, "{state}");
        assert!(state.to_string().contains(&server.addr().ip().to_string()), "{state}");
    }
}
