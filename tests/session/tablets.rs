//! Requests to tables whose data is in tablets.

use std::collections::{BTreeSet, HashMap};

use messina::protocol::ProtocolVersion;
use messina::testkit::{Answer, Cluster, Network, Prime, Push, Rows, Scylla, Stage, rows};
use messina::topology::{Murmur3, Tablet, Token};
use messina::{Batch, Prepared, Session};
use uuid::Uuid;

use crate::support::{SECOND, settle};

const READ: &str = "SELECT v FROM ks.t WHERE id = ?";

struct Nodes {
    cluster: Cluster,
    _network: Network,
}

/// A cluster of ScyllaDB nodes that tell of tablets, or only say that they could.
async fn start(nodes: usize, shards: u16, answer: impl Fn(usize, i32) -> Answer + Send + Sync + 'static) -> Nodes {
    let network = Network::new();
    let scylla = Scylla::new(shards).with("TABLETS_ROUTING_V1", "");
    let cluster = Cluster::builder().nodes(nodes).network(&network).scylla(scylla).start().await.unwrap();
    let prime = Prime::new(READ).of("ks", "t").params("id int").partition_key([0]).columns("v text");
    cluster.prime_with(prime, move |request| answer(request.node, request.value(0).unwrap()));
    Nodes { cluster, _network: network }
}

impl Nodes {
    async fn session(&self) -> (Session, Prepared) {
        let builder = Session::builder().connector(self._network.connector()).sequential();
        let session = builder.contact_addr(self.cluster.node(0).addr()).build().await.unwrap();
        // Each connection lands on the next shard, so that all are covered in the end.
        tokio::time::sleep(5 * SECOND).await;
        let prepared = session.prepare(READ).await.unwrap();
        (session, prepared)
    }

    fn ids(&self) -> Vec<Uuid> {
        self.cluster.nodes().iter().map(|node| node.host_id().unwrap()).collect()
    }
}

fn token(id: i32) -> i64 {
    Murmur3::token(&id.to_be_bytes()).0
}

/// The two halves of the ring, and who holds them.
fn half(id: i32) -> usize {
    usize::from(token(id) > 0)
}

/// Rows, with the tablet of the key where the node that was asked does not hold it: of four nodes the first two hold the
/// lower half, the others the upper one, each on its shard 1.
fn halves(ids: Vec<Uuid>) -> impl Fn(usize, i32) -> Answer {
    move |node, id| {
        let rows = Answer::from(rows!["v text"; ("x",)]);
        let holders = 2 * half(id)..2 * half(id) + 2;
        if holders.contains(&node) {
            return rows;
        }
        let (first, last) = [(i64::MIN, 0), (0, i64::MAX)][half(id)];
        rows.with_tablet(first, last, holders.map(|node| (ids[node], 1)))
    }
}

/// Host ids of the test kit are known once it runs.
async fn start_halves(shards: u16) -> Nodes {
    let ids = start(4, shards, |_, _| Answer::void()).await.ids();
    let nodes = start(4, shards, halves(ids.clone())).await;
    assert_eq!(nodes.ids(), ids, "host ids go by number");
    nodes
}

/// driver 2.1: a tablet that the server told of is followed: node and shard, and both of its replicas take their part.
/// cql 6: `TABLETS_ROUTING_V1` is negotiated, and the payload read.
#[tokio::test(start_paused = true)]
async fn requests_follow_the_tablets() {
    let nodes = start_halves(2).await;
    let (session, prepared) = nodes.session().await;
    // Each half is told of after at most a few requests that met the wrong node.
    for id in 0..50 {
        session.execute(&prepared, (id,)).await.unwrap();
    }
    assert_eq!(session.tablets("ks", "t").len(), 2);
    let queries = |index: usize| -> Vec<usize> {
        nodes.cluster.node(index).connections().iter().map(|one| one.count(Stage::Query)).collect()
    };
    let before: Vec<_> = (0..4).map(queries).collect();
    let mut served = HashMap::<_, usize>::new();
    for id in 50..250 {
        let node = session.execute(&prepared, (id,)).await.unwrap().served_by().host_id;
        assert!(nodes.ids()[2 * half(id)..][..2].contains(&node), "{id}");
        *served.entry(node).or_default() += 1;
    }
    assert!(served.len() == 4 && served.values().all(|count| *count > 20), "{served:?}");
    // All of them on one connection of each node, that to shard 1.
    for (index, before) in before.iter().enumerate() {
        let used = queries(index).iter().zip(before).filter(|(now, before)| now > before).count();
        assert_eq!(used, 1, "node {index}");
    }
}

/// cql 6: a server that does not offer tablets is not asked for them, and v3 has no payloads.
#[tokio::test(start_paused = true)]
async fn only_where_offered() {
    for (scylla, version, asked) in [
        (Scylla::new(1).with("TABLETS_ROUTING_V1", ""), ProtocolVersion::V4, true),
        (Scylla::new(1).with("TABLETS_ROUTING_V1", ""), ProtocolVersion::V3, false),
        (Scylla::new(1), ProtocolVersion::V4, false),
    ] {
        let network = Network::new();
        let cluster = Cluster::builder().network(&network).scylla(scylla).start().await.unwrap();
        let builder = Session::builder().connector(network.connector()).contact_addr(cluster.node(0).addr());
        let session = builder.protocol_version(version).build().await.unwrap();
        let startup = cluster.log().connections()[0].received_bytes().to_vec();
        let found = startup.windows(18).any(|window| window == b"TABLETS_ROUTING_V1");
        assert_eq!(found, asked);
        drop(session);
    }
}

/// driver 2.1: a tablet that moved is told of by the node that has it no more, and followed from then on.
#[tokio::test(start_paused = true)]
async fn a_tablet_that_moves() {
    let ids = start(2, 1, |_, _| Answer::void()).await.ids();
    let holder = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (now, told) = (std::sync::Arc::clone(&holder), ids.clone());
    let nodes = start(2, 1, move |node, _| {
        let holder = now.load(std::sync::atomic::Ordering::Relaxed);
        let rows = Answer::from(rows!["v text"; ("x",)]);
        if node == holder { rows } else { rows.with_tablet(i64::MIN, i64::MAX, [(told[holder], 0)]) }
    })
    .await;
    let (session, prepared) = nodes.session().await;
    for expected in [0, 1, 0] {
        holder.store(expected, std::sync::atomic::Ordering::Relaxed);
        for id in 0..4 {
            session.execute(&prepared, (id,)).await.unwrap();
        }
        for id in 0..10 {
            assert_eq!(session.execute(&prepared, (id,)).await.unwrap().served_by().host_id, ids[expected]);
        }
        let tablets = session.tablets("ks", "t");
        let known: Vec<_> = tablets.iter().map(Tablet::replicas).collect();
        assert_eq!(known, [[(ids[expected], 0)]]);
    }
}

/// driver 2.1: while no replica of a tablet can be had, any node is asked; a replica that nobody knows is passed over.
#[tokio::test(start_paused = true)]
async fn replicas_that_cannot_be_had() {
    let ids = start(3, 1, |_, _| Answer::void()).await.ids();
    let told = ids.clone();
    let nodes = start(3, 1, move |node, _| {
        let rows = Answer::from(rows!["v text"; ("x",)]);
        let replicas = [(Uuid::from_u128(77), 0), (told[1], 0)];
        if node == 1 { rows } else { rows.with_tablet(i64::MIN, i64::MAX, replicas) }
    })
    .await;
    let (session, prepared) = nodes.session().await;
    for id in 0..4 {
        session.execute(&prepared, (id,)).await.unwrap();
    }
    for id in 0..10 {
        assert_eq!(session.execute(&prepared, (id,)).await.unwrap().served_by().host_id, ids[1]);
    }
    nodes.cluster.node(1).kill().await;
    settle().await;
    let others: BTreeSet<_> = [ids[0], ids[2]].into();
    let mut asked = BTreeSet::new();
    for id in 0..10 {
        asked.insert(session.execute(&prepared, (id,)).await.unwrap().served_by().host_id);
    }
    assert_eq!(asked, others);
}

/// driver 2.1: what a node held that left the cluster is forgotten.
#[tokio::test(start_paused = true)]
async fn a_node_that_leaves() {
    let nodes = start_halves(1).await;
    let (session, prepared) = nodes.session().await;
    for id in 0..50 {
        session.execute(&prepared, (id,)).await.unwrap();
    }
    assert_eq!(session.tablets("ks", "t").len(), 2);
    nodes.cluster.node(3).set(|facts| facts.listed = false);
    nodes.cluster.node(0).push(&Push::topology("REMOVED_NODE", nodes.cluster.node(3).addr()));
    tokio::time::sleep(2 * SECOND).await;
    let tablets = session.tablets("ks", "t");
    let left: Vec<_> = tablets.iter().map(|tablet| (tablet.first(), tablet.last())).collect();
    assert_eq!(left, [(Token(i64::MIN), Token(0))], "the upper half was on the node that left");
}

fn keyspaces(name: &str) -> Rows {
    let options = HashMap::from([("class".to_owned(), "NetworkTopologyStrategy".to_owned())]);
    rows!["keyspace_name text, durable_writes boolean, replication frozen<map<text, text>>"; (name, true, options)]
}

fn tables(name: &str) -> Rows {
    rows!["keyspace_name text, table_name text, comment text"; ("ks", name, "")]
}

/// driver 2.1: the tablets of a table that was dropped are forgotten.
#[tokio::test(start_paused = true)]
async fn a_table_that_is_dropped() {
    let nodes = start_halves(1).await;
    for place in ["", " WHERE keyspace_name = 'ks'"] {
        nodes.cluster.prime(format!("SELECT * FROM system_schema.keyspaces{place}"), keyspaces("ks"));
        nodes.cluster.prime(format!("SELECT * FROM system_schema.tables{place}"), tables("t"));
    }
    let (session, prepared) = nodes.session().await;
    assert!(session.schema().table("ks", "t").is_some());
    for id in 0..50 {
        session.execute(&prepared, (id,)).await.unwrap();
    }
    nodes.cluster.push(&Push::schema(["UPDATED", "TABLE", "ks", "t"]));
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(session.tablets("ks", "t").len(), 2, "it is still there");
    nodes.cluster.prime("SELECT * FROM system_schema.tables WHERE keyspace_name = 'ks'", tables("other"));
    nodes.cluster.push(&Push::schema(["DROPPED", "TABLE", "ks", "t"]));
    tokio::time::sleep(2 * SECOND).await;
    assert!(session.tablets("ks", "t").is_empty());
}

/// driver 2.1: tablets of a table that the session's schema does not have, since other keyspaces are read, stay.
#[tokio::test(start_paused = true)]
async fn a_table_that_the_schema_does_not_have() {
    let nodes = start_halves(1).await;
    for place in ["", " WHERE keyspace_name = 'other'"] {
        nodes.cluster.prime(format!("SELECT * FROM system_schema.keyspaces{place}"), keyspaces("other"));
    }
    let (session, prepared) = nodes.session().await;
    for id in 0..50 {
        session.execute(&prepared, (id,)).await.unwrap();
    }
    nodes.cluster.push(&Push::schema(["UPDATED", "KEYSPACE", "other"]));
    tokio::time::sleep(2 * SECOND).await;
    assert!(session.schema().keyspace("other").is_some() && session.schema().keyspace("ks").is_none());
    assert_eq!(session.tablets("ks", "t").len(), 2);
}

/// cql 6: a payload that is no tablet changes nothing, and the rows are given all the same.
#[tokio::test(start_paused = true)]
async fn a_payload_that_is_no_tablet() {
    let nodes =
        start(1, 1, |_, _| Answer::from(rows!["v text"; ("x",)]).with_payload("tablets-routing-v1", [0, 0, 0, 8, 1]))
            .await;
    let (session, prepared) = nodes.session().await;
    assert_eq!(session.execute(&prepared, (1,)).await.unwrap().one::<(String,)>().await.unwrap().0, "x");
    assert!(session.tablets("ks", "t").is_empty());
}

/// driver 2.1: a batch is routed by the tablet of its first statement, and tells of it too.
#[tokio::test(start_paused = true)]
async fn batches_follow_the_tablets() {
    let nodes = start_halves(1).await;
    let (session, prepared) = nodes.session().await;
    for id in 0..50 {
        session.execute(&prepared, (id,)).await.unwrap();
    }
    for id in 0..20 {
        let batch = Batch::unlogged().with(&prepared, (id,));
        let node = session.execute(&batch, ()).await.unwrap().served_by().host_id;
        assert!(nodes.ids()[2 * half(id)..][..2].contains(&node), "{id}");
    }
}
