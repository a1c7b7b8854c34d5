//! What is read from the system tables, and what is skipped.

use std::net::IpAddr;

use messina::{
    Session,
    testkit::{Cluster, Network, Rows, rows},
    topology::Skipped,
};
use uuid::Uuid;

async fn session(network: &Network, cluster: &Cluster) -> Session {
    let builder = Session::builder().connector(network.connector()).contact_addr(cluster.node(0).addr());
    builder.build().await.unwrap()
}

/// What is skipped when the peers table has these rows beside the control node.
async fn skipped(rows: impl FnOnce(&Cluster) -> Rows) -> (usize, Vec<Skipped>) {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    cluster.prime("SELECT * FROM system.peers_v2", rows(&cluster));
    let session = session(&network, &cluster).await;
    let topology = session.topology();
    (topology.nodes().len(), topology.skipped().to_vec())
}

fn ip(last: u8) -> IpAddr {
    [10, 9, 0, last].into()
}

/// report 31: a row without host id, one without address, one of 0.0.0.0 and no way round it, a port that is none, a
/// value of the wrong type: each is skipped, naming host, column and value.
#[tokio::test(start_paused = true)]
async fn rows_that_are_skipped() {
    let id = Uuid::from_u128(5);
    let zero = IpAddr::from([0, 0, 0, 0]);
    let (nodes, skipped) = skipped(|_| {
        rows!["peer inet, host_id uuid, native_address inet, native_port int";
            (ip(1), None::<Uuid>, ip(1), 9042),
            (ip(2), Some(id), None::<IpAddr>, 9042),
            (zero, Some(id), zero, 9042),
            (ip(4), Some(id), ip(4), 70000)]
    })
    .await;
    assert_eq!(nodes, 1);
    let told: Vec<_> = skipped.iter().map(|row| (row.host.clone(), row.column.clone(), row.value.clone())).collect();
    let told: Vec<_> =
        told.iter().map(|(host, column, value)| (host.as_str(), column.as_str(), value.as_str())).collect();
    let id = id.to_string();
    assert_eq!(
        told,
        [
            ("10.9.0.1", "host_id", "null"),
            (&id, "native_address", "null"),
            (&id, "native_address", "0.0.0.0"),
            (&id, "native_port", "70000"),
        ]
    );
    assert!(skipped.iter().all(|row| row.table == "system.peers_v2" && !row.reason.is_empty()));
}

/// cql 7: 0.0.0.0 means every interface: the address by which its peers know the node is one of them.
#[tokio::test(start_paused = true)]
async fn the_unspecified_address() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let (id, zero) = (Uuid::from_u128(5), IpAddr::from([0, 0, 0, 0]));
    let rows = rows!["peer inet, host_id uuid, native_address inet, native_port int"; (ip(3), Some(id), zero, 9043)];
    cluster.prime("SELECT * FROM system.peers_v2", rows);
    let session = session(&network, &cluster).await;
    assert_eq!(session.topology().node(id).unwrap().address, Some((ip(3), 9043).into()));
}

/// reviewer 51: a row that is the control node itself is ignored with a reason, be it by host id or by address.
#[tokio::test(start_paused = true)]
async fn the_control_node_among_its_peers() {
    let (nodes, skipped) = skipped(|cluster| {
        let (own, addr) = (cluster.node(0).host_id(), cluster.node(0).addr());
        rows!["peer inet, host_id uuid, native_address inet, native_port int";
            (ip(1), own, ip(1), 9042),
            (addr.ip(), Some(Uuid::from_u128(6)), addr.ip(), i32::from(addr.port()))]
    })
    .await;
    assert_eq!(nodes, 1);
    let [by_id, by_address] = &skipped[..] else { panic!("{skipped:?}") };
    assert!(by_id.reason.contains("the control node itself") && by_id.column == "host_id", "{by_id}");
    assert!(by_address.reason.contains("the control node itself") && by_address.column == "native_address");
}

/// cql 7: a server without peers_v2 is asked once, and for peers from then on.
#[tokio::test(start_paused = true)]
async fn peers_for_good() {
    for (code, text) in
        [(0x2200, "unconfigured table peers_v2"), (0x0000, "Unknown keyspace/cf pair (system.peers_v2)")]
    {
        let network = Network::new();
        let cluster = Cluster::builder().network(&network).nodes(3).start().await.unwrap();
        let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = std::sync::Arc::clone(&asked);
        cluster.prime_with("SELECT * FROM system.peers_v2", move |_| {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            messina::testkit::Answer::error(code, text)
        });
        let session = session(&network, &cluster).await;
        assert_eq!(session.topology().nodes().len(), 3);
        session.refresh_topology().await.unwrap();
        session.reconnect_control().await.unwrap();
        assert_eq!(session.topology().nodes().len(), 3);
        assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1);
    }
}

/// cql 7: what the rows say is what the snapshot says, the control node's own row included.
#[tokio::test(start_paused = true)]
async fn columns() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).name("zoo").nodes(2).start().await.unwrap();
    cluster.node(1).set(|facts| (facts.data_center, facts.rack) = (Some("far".into()), Some("left".into())));
    let session = session(&network, &cluster).await;
    let topology = session.topology();
    assert_eq!(topology.cluster_name(), Some("zoo"));
    assert_eq!(topology.partitioner(), Some("org.apache.cassandra.dht.Murmur3Partitioner"));
    let told = topology.told().unwrap();
    assert_eq!((Some(told.host_id), told.addr), (cluster.node(0).host_id(), cluster.node(0).addr()));
    for node in cluster.nodes() {
        let seen = topology.node(node.host_id().unwrap()).unwrap();
        assert_eq!(seen.address, Some(node.addr()));
        assert_eq!(seen.tokens.len(), 4);
        assert_eq!(seen.release_version.as_deref(), Some("5.0.4"));
    }
    let far = topology.node(cluster.node(1).host_id().unwrap()).unwrap();
    assert_eq!((far.datacenter.as_deref(), far.rack.as_deref()), (Some("far"), Some("left")));
    assert_eq!(topology.ring().len(), 8);
}

/// report 31: tokens that are no numbers of 64 bits are skipped one by one, naming host, column and value.
/// cql 7: a node that has not changed is the same value after a refresh.
#[tokio::test(start_paused = true)]
async fn odd_tokens_and_refreshes() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let id = Uuid::from_u128(5);
    let tokens = || vec!["17".to_owned(), "170141183460469231731687303715884105727".to_owned()];
    let rows = rows!["peer inet, host_id uuid, native_address inet, native_port int, tokens list<text>";
        (ip(3), Some(id), ip(3), 9042, tokens())];
    cluster.prime("SELECT * FROM system.peers_v2", rows);
    let session = session(&network, &cluster).await;
    let topology = session.topology();
    assert_eq!(*topology.node(id).unwrap().tokens, [messina::topology::Token(17)]);
    let [odd] = topology.skipped() else { panic!("{:?}", topology.skipped()) };
    assert_eq!((odd.host.as_str(), odd.column.as_str()), (id.to_string().as_str(), "tokens"));
    assert_eq!(odd.value, "170141183460469231731687303715884105727");
    let again = session.refresh_topology().await.unwrap();
    assert!(!std::sync::Arc::ptr_eq(&topology, &again));
    for (before, after) in topology.nodes().iter().zip(again.nodes()) {
        assert!(std::sync::Arc::ptr_eq(before, after));
    }
}
