//! Which nodes hold a key: what the session computes is what the server says.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use messina::{Consistency, Prepared, Session, Statement};

use crate::support::case::{Case, Clusters, case};
use crate::support::cluster::Cluster;
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

/// Keys of each keyspace.
const KEYS: i32 = 10_000;
/// Keys of several columns.
const SEVERAL: i32 = 1_000;

pub(crate) fn cases() -> Vec<Case> {
    vec![case("replicas::as_the_server_says", [Spec::racks()], as_the_server_says).limit(Duration::from_secs(600))]
}

/// What a node says over JMX of the keys from 0 on, each followed by `suffix`: the holders, the first one first.
fn asked(cluster: &Cluster, keyspace: &str, table: &str, keys: i32, suffix: &str) -> Result<Vec<Vec<IpAddr>>, String> {
    let keys = keys.to_string();
    let mut order = vec![keyspace, table, &keys];
    order.extend(Some(suffix).filter(|suffix| !suffix.is_empty()));
    let text = cluster.java(0, "Endpoints.java", &order)?;
    let address = |text: &str| text.rsplit_once(':').and_then(|(ip, _)| ip.parse().ok());
    let holders = |line: &str| line.split(',').map(address).collect::<Option<Vec<IpAddr>>>();
    text.lines().map(|line| holders(line).ok_or_else(|| format!("no endpoints: {line:?}"))).collect()
}

/// The same by the session's own computation.
fn computed(
    session: &Session,
    keyspace: &str,
    tokens: impl Iterator<Item = messina::topology::Token>,
) -> Vec<Vec<IpAddr>> {
    let (topology, schema) = (session.topology(), session.schema());
    let sets = topology.replica_sets(&schema.keyspace(keyspace).unwrap().replication.strategy());
    let address = |index| topology.at(index).and_then(|node| node.address).unwrap().ip();
    tokens.map(|token| sets.of(token).iter().map(|index| address(*index)).collect()).collect()
}

async fn prepared(session: &Session, keyspace: &str, replication: &str) -> Prepared {
    for statement in [
        format!("CREATE KEYSPACE {keyspace} WITH replication = {{{replication}}}"),
        format!("CREATE TABLE {keyspace}.t (id int PRIMARY KEY, v text)"),
    ] {
        let result = session.execute(statement, ()).await.unwrap();
        assert!(result.schema_agreement().unwrap().agreed);
    }
    // A level that any replica can meet, in whichever data centre.
    let read = Statement::new(format!("SELECT v FROM {keyspace}.t WHERE id = ?")).with_consistency(Consistency::One);
    session.prepare(read).await.unwrap()
}

/// cassandra: for 10,000 keys of each of five keyspaces in two data centres with racks, and for keys of several columns,
/// tokens and replicas are those that the server itself gives, in its order; and requests are answered by such nodes.
async fn as_the_server_says(clusters: Clusters) {
    let addresses: Vec<_> = clusters[0].nodes.iter().map(|node| node.native()).collect();
    let way = Way::through(Mode::Delay, &addresses).await;
    // Five nodes that were just started take their time.
    let patient = way.builder().schema_agreement(Duration::from_millis(200), Duration::from_secs(60));
    let session = patient.local_datacenter("north").build().await.unwrap();
    let mut different = BTreeSet::new();
    for (keyspace, replication) in [
        ("simple_one", "'class': 'SimpleStrategy', 'replication_factor': 1"),
        ("simple_three", "'class': 'SimpleStrategy', 'replication_factor': 3"),
        ("one_each", "'class': 'NetworkTopologyStrategy', 'north': 1, 'south': 1"),
        ("two_and_one", "'class': 'NetworkTopologyStrategy', 'north': 2, 'south': 1"),
        ("three_and_two", "'class': 'NetworkTopologyStrategy', 'north': 3, 'south': 2"),
    ] {
        let prepared = prepared(&session, keyspace, replication).await;
        let told = clusters[0].beside(move |cluster| asked(cluster, keyspace, "t", KEYS, "")).await.unwrap();
        let tokens = (0..KEYS).map(|id| prepared.bind((id,)).unwrap().token().unwrap());
        let computed = computed(&session, keyspace, tokens);
        assert_eq!(told.len(), computed.len());
        for (key, (told, computed)) in told.iter().zip(&computed).enumerate() {
            assert_eq!(told, computed, "{keyspace}, key {key}");
        }
        different.extend(told.iter().cloned());
        for (id, told) in (0..100).zip(&told) {
            let served_by = session.execute(&prepared, (id,)).await.unwrap().served_by();
            let here = told.iter().any(|ip| addresses[..3].iter().any(|local| local.ip() == *ip));
            assert!(told.contains(&served_by.addr.ip()) || !here, "{keyspace}, key {id}: {served_by} of {told:?}");
        }
    }
    assert!(different.len() >= 20, "{} different answers", different.len());

    session
        .execute("CREATE TABLE three_and_two.several (a int, b text, v int, PRIMARY KEY ((a, b)))", ())
        .await
        .unwrap();
    let several = session.prepare("SELECT v FROM three_and_two.several WHERE b = ? AND a = ?").await.unwrap();
    let told =
        clusters[0].beside(|cluster| asked(cluster, "three_and_two", "several", SEVERAL, ":Straße")).await.unwrap();
    let tokens = (0..SEVERAL).map(|id| several.bind(("Straße", id)).unwrap().token().unwrap());
    assert_eq!(told, computed(&session, "three_and_two", tokens));
    session.close().await;
}
