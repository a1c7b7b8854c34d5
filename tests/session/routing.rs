//! Requests go to the nodes that hold their data.

use std::time::Duration;

use messina::testkit::{Cluster, Network, NodeFacts, Prime, Push, Rows, Scylla, Stage, rows};
use messina::topology::{Murmur3, Strategy, Token};
use messina::{Prepared, Session};
use uuid::Uuid;

use crate::support::settle;

const READ: &str = "SELECT v FROM ks.t WHERE id = ?";

fn keyspaces(replication: &str) -> Rows {
    let options = |text: &str| {
        let options = text.split(' ').map(|option| option.split_once('=').unwrap());
        options.map(|(key, value)| (key.to_owned(), value.to_owned())).collect::<std::collections::HashMap<_, _>>()
    };
    rows!["keyspace_name text, durable_writes boolean, replication frozen<map<text, text>>"; ("ks", true, options(replication))]
}

struct Nodes {
    cluster: Cluster,
    _network: Network,
}

/// A cluster whose keyspace `ks` is replicated like this, and a session that has read its schema.
async fn start(
    nodes: usize,
    replication: &str,
    change: impl Fn(usize, &mut NodeFacts) + Copy + Send + 'static,
) -> (Nodes, Session, Prepared) {
    let network = Network::new();
    let mut builder = Cluster::builder().nodes(nodes).network(&network);
    for index in 0..nodes {
        builder = builder.node(index, move |facts| change(index, facts));
    }
    let cluster = builder.start().await.unwrap();
    cluster.prime("SELECT * FROM system_schema.keyspaces", keyspaces(replication));
    cluster.prime("SELECT * FROM system_schema.keyspaces WHERE keyspace_name = 'ks'", keyspaces(replication));
    cluster.prime(Prime::new(READ).of("ks", "t").params("id int").partition_key([0]), rows!["v text"; ("x",)]);
    let builder = Session::builder().connector(network.connector()).contact_addr(cluster.node(0).addr()).sequential();
    let builder = builder.schema_metadata(true);
    let session = builder.build().await.unwrap();
    cluster.wait_for(Duration::from_secs(1), |log| log.logins() > nodes).await.unwrap();
    settle().await;
    assert!(session.schema().keyspace("ks").is_some(), "the schema was read");
    let prepared = session.prepare(READ).await.unwrap();
    (Nodes { cluster, _network: network }, session, prepared)
}

/// The nodes that the keys from 0 on are answered by, and those that hold them.
async fn asked(session: &Session, prepared: &Prepared, strategy: &Strategy, keys: i32) -> Vec<(Uuid, Vec<Uuid>)> {
    let snapshot = session.topology();
    let sets = snapshot.replica_sets(strategy);
    let mut all = Vec::new();
    for id in 0..keys {
        let result = session.execute(prepared, (id,)).await.unwrap();
        let replicas = sets.of(Murmur3::token(&id.to_be_bytes()));
        let replicas = replicas.iter().map(|index| snapshot.at(*index).unwrap().host_id).collect();
        all.push((result.served_by().host_id, replicas));
    }
    all
}

/// driver 2.1: a prepared statement goes to a replica of its partition, and all replicas take their part.
#[tokio::test(start_paused = true)]
async fn requests_go_to_replicas() {
    let (nodes, session, prepared) = start(5, "class=SimpleStrategy replication_factor=2", |_, _| {}).await;
    let asked = asked(&session, &prepared, &Strategy::Simple { replicas: 2 }, 200).await;
    let mut first = 0;
    for (served_by, replicas) in &asked {
        assert!(replicas.len() == 2 && replicas.contains(served_by), "{served_by} is none of {replicas:?}");
        first += usize::from(replicas[0] == *served_by);
    }
    assert!((60..=140).contains(&first), "{first} of 200 went to the first replica");
    for node in nodes.cluster.nodes() {
        assert!(node.count(Stage::Query) > 20, "{}", node.count(Stage::Query));
    }
}

/// driver 2.1: with replicas in two data centres, those of the local one are asked; without a local replica any local
/// node is.
#[tokio::test(start_paused = true)]
async fn local_replicas_come_first() {
    let datacenters = |index: usize, facts: &mut NodeFacts| {
        facts.data_center = Some(if index.is_multiple_of(2) { "here" } else { "there" }.into());
    };
    let (nodes, session, prepared) = start(6, "class=NetworkTopologyStrategy here=1 there=2", datacenters).await;
    let strategy = Strategy::parse([("class", "NetworkTopologyStrategy"), ("here", "1"), ("there", "2")]);
    let local: Vec<_> = [0, 2, 4].map(|index| nodes.cluster.node(index).host_id().unwrap()).into();
    for (served_by, replicas) in asked(&session, &prepared, &strategy, 60).await {
        let own: Vec<_> = replicas.iter().filter(|replica| local.contains(replica)).collect();
        assert_eq!(own, [&served_by]);
    }

    let (nodes, session, prepared) = start(4, "class=NetworkTopologyStrategy there=2", datacenters).await;
    let local: Vec<_> = [0, 2].map(|index| nodes.cluster.node(index).host_id().unwrap()).into();
    for (served_by, _) in asked(&session, &prepared, &Strategy::Local, 20).await {
        assert!(local.contains(&served_by));
    }
}

/// driver 2.1: the replica in the preferred rack is asked while it answers, and the others when it does not; without a
/// replica's place to go by, nodes of that rack are asked.
#[tokio::test(start_paused = true)]
async fn the_own_rack_comes_first() {
    let network = Network::new();
    let mut builder = Cluster::builder().nodes(6).network(&network);
    for index in 0..6 {
        builder = builder.node(index, move |facts| facts.rack = Some(format!("rack{}", index % 3)));
    }
    let cluster = builder.start().await.unwrap();
    cluster.prime("SELECT * FROM system_schema.keyspaces", keyspaces("class=NetworkTopologyStrategy datacenter1=3"));
    cluster.prime(Prime::new(READ).of("ks", "t").params("id int").partition_key([0]), rows!["v text"; ("x",)]);
    cluster.prime("SELECT v FROM ks.t", rows!["v text"; ("x",)]);
    let builder = Session::builder().connector(network.connector()).contact_addr(cluster.node(0).addr()).sequential();
    let session = builder.local_rack("rack1").build().await.unwrap();
    cluster.wait_for(Duration::from_secs(1), |log| log.logins() > 6).await.unwrap();
    settle().await;
    let prepared = session.prepare(READ).await.unwrap();
    let datacenter = cluster.node(0).host_id().and_then(|id| session.topology().node(id)?.datacenter.clone()).unwrap();
    assert_eq!(datacenter, "datacenter1");
    let own: Vec<_> = [1, 4].map(|index| cluster.node(index).host_id().unwrap()).into();
    let strategy = Strategy::parse([("class", "NetworkTopologyStrategy"), ("datacenter1", "3")]);
    for (served_by, replicas) in asked(&session, &prepared, &strategy, 60).await {
        assert!(own.contains(&served_by) && replicas.contains(&served_by));
    }
    for _ in 0..20 {
        let served_by = session.execute("SELECT v FROM ks.t", ()).await.unwrap().served_by().host_id;
        assert!(own.contains(&served_by));
    }

    // One of them hangs: its requests wait, those that come later go to the replicas of other racks.
    cluster.node(1).freeze();
    let keys: Vec<i32> = (0..60).collect();
    let mut hanging: Vec<_> = keys.iter().map(|id| Box::pin(session.execute(&prepared, (*id,)))).collect();
    for request in &mut hanging {
        let _ = futures_util::poll!(request.as_mut());
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    for id in keys {
        let served_by = session.execute(&prepared, (id,)).await.unwrap().served_by().host_id;
        assert_ne!(served_by, own[0]);
    }
}

/// driver 2.1: while a replica is gone its partitions go to the other one, and to any node when all are gone.
#[tokio::test(start_paused = true)]
async fn other_replicas_take_over() {
    let (nodes, session, prepared) = start(3, "class=SimpleStrategy replication_factor=2", |_, _| {}).await;
    let gone = nodes.cluster.node(1);
    gone.kill().await;
    settle().await;
    let strategy = Strategy::Simple { replicas: 2 };
    for (served_by, replicas) in asked(&session, &prepared, &strategy, 60).await {
        assert_ne!(Some(served_by), gone.host_id());
        assert!(replicas.contains(&served_by), "one of the two is left");
    }
}

/// driver 2.1: conditional writes go to the first replica, so that they do not contend.
#[tokio::test(start_paused = true)]
async fn conditional_writes_keep_the_order() {
    const WRITE: &str = "UPDATE ks.t SET v = 'x' WHERE id = ? IF EXISTS";
    let scylla = |_: usize, facts: &mut NodeFacts| {
        facts.versions.retain(|version| *version < 5);
        facts.scylla = Some(Scylla::new(0).with("SCYLLA_LWT_ADD_METADATA_MARK", "LWT_OPTIMIZATION_META_BIT_MASK=1024"));
    };
    let (nodes, session, _) = start(3, "class=SimpleStrategy replication_factor=3", scylla).await;
    let prime = Prime::new(WRITE).of("ks", "t").params("id int").partition_key([0]).conditional();
    nodes.cluster.prime(prime, rows!["[applied] boolean"; (true,)]);
    let prepared = session.prepare(WRITE).await.unwrap();
    assert!(prepared.is_lwt());
    let strategy = Strategy::Simple { replicas: 3 };
    for (served_by, replicas) in asked(&session, &prepared, &strategy, 30).await {
        assert_eq!(served_by, replicas[0]);
    }
    // A first replica that answers nothing is passed over.
    let key = 7;
    let sets = session.topology().replica_sets(&strategy);
    let first = session.topology().at(sets.of(Murmur3::token(&i32::to_be_bytes(key)))[0]).unwrap().host_id;
    let frozen = nodes.cluster.nodes().iter().find(|node| node.host_id() == Some(first)).unwrap();
    frozen.freeze();
    let mut hanging = Box::pin(session.execute(&prepared, (key,)));
    assert!(futures_util::poll!(hanging.as_mut()).is_pending());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let served_by = session.execute(&prepared, (key,)).await.unwrap().served_by();
    assert_ne!(served_by.host_id, first);
}

/// driver 2.1: a connection to the shard that holds the partition is used.
#[tokio::test(start_paused = true)]
async fn requests_go_to_the_shard() {
    let scylla = |_: usize, facts: &mut NodeFacts| {
        facts.versions.retain(|version| *version < 5);
        facts.scylla = Some(Scylla::new(4));
    };
    let (nodes, session, prepared) = start(1, "class=SimpleStrategy replication_factor=1", scylla).await;
    // Each connection lands on the next shard, so that all are covered in the end.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mut hit = std::collections::BTreeSet::new();
    for id in 0..40_i32 {
        let before: Vec<usize> =
            nodes.cluster.node(0).connections().iter().map(|one| one.count(Stage::Query)).collect();
        session.execute(&prepared, (id,)).await.unwrap();
        let connections = nodes.cluster.node(0).connections();
        let used = connections.iter().zip(before).position(|(one, before)| one.count(Stage::Query) > before).unwrap();
        let Token(token) = Murmur3::token(&id.to_be_bytes());
        let unsigned = (token as u64 ^ (1 << 63)) << 12;
        let shard = (u128::from(unsigned) * 4) >> 64;
        hit.insert((shard, used));
    }
    // Each shard has its one connection.
    assert_eq!(hit.len(), 4, "{hit:?}");
}

/// driver 2.1: a keyspace that changes is read again, and requests follow.
#[tokio::test(start_paused = true)]
async fn routing_follows_the_schema() {
    let (nodes, session, prepared) = start(3, "class=SimpleStrategy replication_factor=1", |_, _| {}).await;
    for (served_by, replicas) in asked(&session, &prepared, &Strategy::Simple { replicas: 1 }, 20).await {
        assert_eq!([served_by], replicas[..]);
    }
    let rows = keyspaces("class=SimpleStrategy replication_factor=3");
    nodes.cluster.prime("SELECT * FROM system_schema.keyspaces WHERE keyspace_name = 'ks'", rows);
    nodes.cluster.push(&Push::schema(["UPDATED", "KEYSPACE", "ks"]));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let strategy = Strategy::Simple { replicas: 3 };
    let asked = asked(&session, &prepared, &strategy, 60).await;
    assert!(asked.iter().any(|(served_by, replicas)| *served_by != replicas[0]), "all replicas take part");
}

/// driver 3: the schema of the keyspaces that are asked for is read, and nothing of others; those of the system are left
/// out unless they are named.
#[tokio::test(start_paused = true)]
async fn some_keyspaces_are_left_out() {
    let network = Network::new();
    let cluster = Cluster::builder().nodes(1).network(&network).start().await.unwrap();
    let columns = "keyspace_name text, durable_writes boolean, replication frozen<map<text, text>>";
    let local = std::collections::HashMap::from([("class".to_owned(), "LocalStrategy".to_owned())]);
    let row = |name: &'static str| (name, true, local.clone());
    let rows = rows![columns; row("app"), row("app_old"), row("o"), row("system"), row("system_auth")];
    cluster.prime("SELECT * FROM system_schema.keyspaces", rows);
    let asked = async |rules: Option<&[&str]>| {
        let before = cluster.node(0).count(Stage::Schema);
        let builder = Session::builder().connector(network.connector()).contact_addr(cluster.node(0).addr());
        let builder = match rules {
            Some(rules) => builder.schema_keyspaces(rules.iter().copied()),
            None => builder,
        };
        let session = builder.build().await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let names: Vec<String> = session.schema().keyspaces().map(|keyspace| keyspace.name.clone()).collect();
        let connections = cluster.log().connections();
        let reads = connections.iter().flat_map(|one| one.requests()).filter(|(stage, _)| *stage == Stage::Schema);
        let last = reads.last().unwrap().1.to_owned();
        (names.join(" "), cluster.node(0).count(Stage::Schema) - before, last)
    };
    let table = "SELECT * FROM system_schema.scylla_tables";
    let (names, count, last) = asked(None).await;
    assert_eq!((&*names, count), ("app app_old o", 10));
    assert_eq!(last, format!("{table} WHERE keyspace_name IN ('app', 'app_old', 'o')"));
    let (names, _, last) = asked(Some(&[])).await;
    assert_eq!((&*names, last), ("app app_old o system system_auth", table.to_owned()));
    for (rules, expected) in [
        (&["app"][..], "app"),
        (&["app*", "!app_old"], "app"),
        (&["system"], "system"),
        (&["!*", "o"], "o"),
        (&["*_*", "!system_*"], "app_old"),
        (&["*", "!app*d"], "app o system system_auth"),
    ] {
        assert_eq!(asked(Some(rules)).await.0, expected, "{rules:?}");
    }
    // Nothing is wanted: nothing but the names is read.
    let (names, count, _) = asked(Some(&["nothing"])).await;
    assert_eq!((&*names, count), ("", 1));
}

/// driver 2.1: after an event that cannot be read the whole schema is read again.
#[tokio::test(start_paused = true)]
async fn an_unreadable_event_reads_everything() {
    let (nodes, session, _) = start(1, "class=SimpleStrategy replication_factor=1", |_, _| {}).await;
    nodes
        .cluster
        .prime("SELECT * FROM system_schema.keyspaces", keyspaces("class=SimpleStrategy replication_factor=3"));
    nodes.cluster.push(&Push::raw("SCHEMA_CHANGE", [0xff]));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let replication = session.schema().keyspace("ks").unwrap().replication.clone();
    assert_eq!(replication.strategy(), Strategy::Simple { replicas: 3 });
}

/// driver 2.1: many events within the window are one look at each keyspace that they name; many keyspaces, one at
/// everything.
#[tokio::test(start_paused = true)]
async fn swarms_of_schema_events() {
    let (nodes, session, _) = start(1, "class=SimpleStrategy replication_factor=1", |_, _| {}).await;
    let looks = || nodes.cluster.node(0).count(Stage::Schema);
    let before = looks();
    for _ in 0..10 {
        nodes.cluster.push(&Push::schema(["UPDATED", "KEYSPACE", "ks"]));
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let one = looks() - before;
    assert!(one > 0 && one <= 10, "one look at ten tables, not {one}");
    for n in 0..19 {
        nodes.cluster.push(&Push::schema(["UPDATED", "KEYSPACE", &format!("ks{n}")]));
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(looks() - before, 2 * one);
    drop(session);
}
