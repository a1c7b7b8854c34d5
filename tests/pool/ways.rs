//! By which address a node is reached: its own, the one that its name is held to, or the way in.

use std::net::SocketAddr;

use messina::{
    IdentifiedFallback,
    layers::HostAddr,
    session::{Purpose, Standing},
    testkit::{Cluster, Network, Scylla, Stage, rows},
    topology::SessionEvent,
};
use uuid::Uuid;

use crate::support::{Balancer, ByName, QUERY, Records, SECOND, SOON, World, named, settle, state_of};

/// connect D22: while the advertised address fails the node is reached by the way in, and as soon as it answers by that
/// alone; a request finds a connection all the time.
#[tokio::test(start_paused = true)]
async fn the_way_in_is_left_as_soon_as_it_may() {
    let network = Network::new();
    let advertised = "10.9.9.9:9042".parse().unwrap();
    let cluster = Cluster::builder().network(&network).node(0, move |facts| facts.address = Some(advertised));
    let cluster = cluster.start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    let (node, nowhere, balancer) = (cluster.node(0), network.refused(), Balancer::new(&network));
    balancer.lead(advertised, [nowhere]);
    let session = named(&network, [node.addr()]).connector(balancer.clone()).build().await.unwrap();
    let host_id = node.host_id().unwrap();
    for _ in 0..2 {
        tokio::time::sleep(30 * SECOND).await;
        let state = state_of(&session, host_id);
        assert_eq!((state.via, state.endpoint.to_string()), (Some(node.addr()), advertised.to_string()));
        assert_eq!(state.connections[0].purpose, Purpose::Provisional);
        assert!(matches!(state.standing, Standing::Up) && state.last_error.is_some());
        session.execute(QUERY, ()).await.unwrap();

        balancer.lead(advertised, [node.addr()]);
        // It is looked at again after a minute at the latest.
        for _ in 0..65 {
            tokio::time::sleep(SECOND).await;
            session.execute(QUERY, ()).await.unwrap();
        }
        let state = state_of(&session, host_id);
        assert_eq!((state.via, state.connections.len(), state.connections[0].peer), (None, 1, advertised));
        assert!(state.last_error.is_none());
        cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();

        balancer.lead(advertised, [nowhere]);
        node.kill().await;
        node.start();
    }
    drop(session);
}

/// connect D22: while no node answers at its own address one is reached by the way in; its own address is asked for
/// about every second, and once it answers the others, whose back-off had grown long, are asked for at once too.
#[tokio::test(start_paused = true)]
async fn nodes_that_return_together() {
    let network = Network::new();
    let advertised: [SocketAddr; 3] = [1, 2, 3].map(|last| ([10, 9, 9, last], 9042).into());
    let mut builder = Cluster::builder().network(&network).nodes(3);
    for (index, addr) in advertised.into_iter().enumerate() {
        builder = builder.node(index, move |facts| facts.address = Some(addr));
    }
    let cluster = builder.start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    let (nowhere, balancer) = (network.refused(), Balancer::new(&network));
    let lead = |home: bool| {
        for (index, addr) in advertised.into_iter().enumerate() {
            balancer.lead(addr, [if home { cluster.node(index).addr() } else { nowhere }]);
        }
    };
    lead(true);
    let session = named(&network, [cluster.node(0).addr()]).connector(balancer.clone()).build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 4).await.unwrap();
    lead(false);
    for node in cluster.nodes() {
        node.kill().await;
        node.start();
    }
    tokio::time::sleep(2 * SECOND).await;
    for _ in 0..38 {
        session.execute(QUERY, ()).await.unwrap();
        tokio::time::sleep(SECOND).await;
    }
    assert_eq!(session.nodes().iter().filter(|node| node.via.is_some()).count(), 1);
    assert_eq!(session.nodes().iter().filter(|node| node.connections.is_empty()).count(), 2);

    lead(true);
    tokio::time::sleep(SECOND * 3 / 2).await;
    for node in session.nodes() {
        assert!(node.via.is_none() && node.connections.len() == 1, "{node:?}");
    }
    drop(session);
}

/// scenario S27: two nodes behind one balancer address: who answered is told by host id, and no pool has a connection to
/// the other one.
/// connect D22: the way in is used only if the node that answers there is the one that is meant.
#[tokio::test(start_paused = true)]
async fn two_nodes_behind_one_balancer() {
    let network = Network::new();
    let hidden = [network.refused(), network.refused()];
    let mut builder = Cluster::builder().network(&network).nodes(2);
    for (index, addr) in hidden.into_iter().enumerate() {
        builder = builder.node(index, move |facts| facts.address = Some(addr));
    }
    let cluster = builder.start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    let (front, balancer) = ("10.9.9.9:9042".parse().unwrap(), Balancer::new(&network));
    // The second dial, which is the pool's, leads to the other node.
    balancer.lead(front, [0, 1, 1, 0].map(|index| cluster.node(index).addr()));
    let error = named(&network, [front]).connector(balancer.clone()).build().await.unwrap_err();
    assert_eq!(
        error.kind(),
        messina::error::Kind::NoConnection,
        "the node that answered second is not the one: {error}"
    );
    cluster.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();

    balancer.lead(front, [0, 0, 1, 0].map(|index| cluster.node(index).addr()));
    let session = named(&network, [front]).connector(balancer).connections_per_node(1, 1).build().await.unwrap();
    tokio::time::sleep(120 * SECOND).await;
    let first = cluster.node(0).host_id().unwrap();
    for node in session.nodes() {
        assert_eq!(node.via.is_some(), node.host_id == first, "{node:?}");
        assert_eq!(node.connections.len(), usize::from(node.host_id == first));
    }
    for _ in 0..10 {
        assert_eq!(session.execute(QUERY, ()).await.unwrap().served_by().host_id, first);
    }
    assert_eq!(cluster.node(1).count(Stage::Query), 0);
    drop(session);
}

/// scenario H5: a name leads to two nodes and its records change their order: every connection of a node is to that node,
/// also after its pool was made anew.
/// reviewer 40: a node is never filed under the name that it was found by.
/// report 54: nor is a contact point a node.
#[tokio::test(start_paused = true)]
async fn a_shared_name_changes_its_order() {
    let world = World::start(|cluster| cluster.nodes(2).scylla(Scylla::new(1))).await;
    let (x, y) = (world.node(0).addr(), world.node(1).addr());
    let records = Records::default();
    records.set([x, y]);
    let session = world.builder().resolver(records.clone()).connections_per_node(2, 1).build().await.unwrap();
    world.open(5).await;
    for order in [[y, x], [x, y], [y, x]] {
        records.set(order);
        tokio::time::sleep(2 * SECOND).await;
        world.node(0).kill().await;
        world.node(0).start();
        tokio::time::sleep(70 * SECOND).await;
        world.open(5).await;
        assert_eq!(session.nodes().len(), 2);
        for (index, addr) in [x, y].into_iter().enumerate() {
            let node = world.state(&session, index);
            assert_eq!(node.endpoint.to_string(), addr.to_string());
            assert!(node.connections.len() == 2 && node.connections.iter().all(|one| one.peer == addr), "{node:?}");
        }
    }
    drop(session);
}

/// A node that is dialled by a name, which leads elsewhere once the node has moved.
struct Moved {
    network: Network,
    cluster: Cluster,
    records: Records,
}

impl Moved {
    /// The first place is the node; the second is another node; the third is where the first one moves.
    async fn new() -> Self {
        let host_id = Some(Uuid::from_u128(0x42));
        let network = Network::new();
        let cluster = Cluster::builder().network(&network).nodes(3);
        let cluster = cluster
            .node(0, move |facts| facts.host_id = host_id)
            .node(1, |facts| facts.listed = false)
            .node(2, move |facts| (facts.host_id, facts.listed) = (host_id, false));
        let cluster = cluster.start().await.unwrap();
        cluster.prime(QUERY, rows!["id int"; (1,)]);
        let records = Records::default();
        records.set([cluster.node(0).addr()]);
        Self { network, cluster, records }
    }

    async fn session(&self, fallback: IdentifiedFallback) -> messina::Session {
        let builder = named(&self.network, []).resolver(self.records.clone());
        let builder = builder.topology_monitor(ByName::direct("node.test:9042")).identified_fallback(fallback);
        // Only the pool is to find the way, not the control connection.
        let session = builder.build().await.unwrap();
        self.cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
        settle().await;
        session
    }
}

/// connect D30: a node that is dialled by name is held to the address that it led to, and leaves it only where that is
/// allowed, for the address where the very node answers.
#[tokio::test(start_paused = true)]
async fn the_name_is_expanded_again_where_that_is_allowed() {
    for fallback in [IdentifiedFallback::Off, IdentifiedFallback::Verified] {
        let moved = Moved::new().await;
        let [first, other, third] = [0, 1, 2].map(|index| moved.cluster.node(index).addr());
        let session = moved.session(fallback).await;
        let mut events = session.events();
        let pin = |session: &messina::Session| session.nodes()[0].pin.map(|pin| pin.to_string());
        assert_eq!(pin(&session), Some(HostAddr::from(first).to_string()));
        moved.records.set([other, third]);
        moved.cluster.node(0).kill().await;
        tokio::time::sleep(30 * SECOND).await;
        let states = session.nodes();
        let state = &states[0];
        if fallback == IdentifiedFallback::Off {
            assert!(state.connections.is_empty(), "{state:?}");
            assert_eq!(pin(&session), Some(HostAddr::from(first).to_string()));
            continue;
        }
        assert_eq!(pin(&session), Some(HostAddr::from(third).to_string()), "{state:?}");
        assert_eq!(state.connections[0].peer, third);
        session.execute(QUERY, ()).await.unwrap();
        // The other node was asked who it is, and left; nothing was asked of it but that.
        let asked = moved.cluster.node(1).connections();
        assert!(asked.iter().any(|one| one.count(Stage::Identity) == 1 && !one.is_open()));
        assert_eq!(moved.cluster.node(1).count(Stage::Query), 0);
        let mut changed = 0;
        while let Some(event) = events.try_next() {
            changed +=
                usize::from(matches!(event, SessionEvent::PinChanged { to: Some(to), .. } if to == third.into()));
        }
        assert_eq!(changed, 1);
        drop(session);
    }
}

/// connect D23: what is not dialled itself keeps no address: each connect expands the name afresh.
#[tokio::test(start_paused = true)]
async fn a_proxy_is_expanded_at_each_connect() {
    let moved = Moved::new().await;
    let builder = named(&moved.network, []).resolver(moved.records.clone());
    let session = builder.topology_monitor(ByName::proxied("node.test:9042")).build().await.unwrap();
    moved.cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    settle().await;
    assert_eq!(session.nodes()[0].pin, None);
    moved.records.set([moved.cluster.node(2).addr()]);
    tokio::time::sleep(2 * SECOND).await;
    moved.cluster.node(0).kill().await;
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(session.nodes()[0].connections[0].peer, moved.cluster.node(2).addr());
    drop(session);
}
