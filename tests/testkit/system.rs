//! What nodes say about themselves and each other.

use messina::testkit::{Cluster, Fault, Push, Scylla, Stage, rows};
use uuid::Uuid;

use crate::client::{Body, Client, OPTIONS, QUIET, REGISTER, Table, error, string};

/// cql 7: `system.local`, whole or in part, with and without a condition.
#[tokio::test]
async fn local() {
    let cluster = Cluster::builder().nodes(3).name("metal").start().await.unwrap();
    let node = cluster.node(1);
    let mut client = Client::ready(node.addr()).await;
    let whole = Table::read(&client.query("SELECT * FROM system.local").await);
    assert_eq!(whole, Table::read(&client.query("select * from system.local where key='local'").await));
    assert_eq!(whole.rows.len(), 1);
    assert_eq!(whole.text(0, "cluster_name"), "metal");
    assert_eq!(whole.cell(0, "host_id"), Some(&node.host_id().unwrap().as_bytes()[..]));
    assert_eq!(whole.cell(0, "rpc_address"), Some(&[127, 0, 0, 1][..]));
    assert_eq!(whole.cell(0, "rpc_port"), Some(&u32::from(node.addr().port()).to_be_bytes()[..]));

    let text = "SELECT rack, data_center FROM system.local WHERE key = 'local' USING TIMEOUT 5s";
    let part = Table::read(&client.query(text).await);
    assert_eq!((part.text(0, "rack"), part.text(0, "data_center")), ("rack1", "datacenter1"));
    assert_eq!(part.columns[0].0, "rack", "in the order asked for");
    let (code, text) = error(&client.query("SELECT colour FROM system.local").await);
    assert_eq!((code, text.as_str()), (0x2200, "Undefined column name colour in table system.local"));
}

/// cql 7: the peers, in both tables; the old one alone where the new one is missing.
#[tokio::test]
async fn peers() {
    let cluster = Cluster::builder().nodes(3).start().await.unwrap();
    let mut client = Client::ready(cluster.node(0).addr()).await;
    let peers = Table::read(&client.query("SELECT * FROM system.peers_v2").await);
    let ids: Vec<_> = (0..2).map(|row| Uuid::from_slice(peers.cell(row, "host_id").unwrap()).unwrap()).collect();
    assert_eq!(ids, [cluster.node(1).host_id().unwrap(), cluster.node(2).host_id().unwrap()]);
    let port = u32::from(cluster.node(2).addr().port()).to_be_bytes();
    assert_eq!(peers.cell(1, "native_port"), Some(&port[..]));
    assert_eq!(Table::read(&client.query("SELECT peer FROM system.peers").await).rows.len(), 2);

    cluster.node(2).set(|facts| facts.listed = false);
    cluster.node(0).set(|facts| facts.has_peers_v2 = false);
    let (code, text) = error(&client.query("SELECT * FROM system.peers_v2").await);
    assert_eq!((code, text.as_str()), (0x2200, "unconfigured table peers_v2"));
    assert_eq!(Table::read(&client.query("SELECT * FROM system.peers").await).rows.len(), 1);
}

/// testkit: on addresses of their own, one peer can be asked for.
#[tokio::test]
async fn one_peer() {
    let cluster = Cluster::builder().nodes(3).own_addresses().start().await.unwrap();
    let mut client = Client::ready(cluster.node(0).addr()).await;
    let ip = cluster.node(2).addr().ip();
    let text = format!("SELECT peer, host_id FROM system.peers WHERE peer = '{ip}'");
    let table = Table::read(&client.query(&text).await);
    assert_eq!(table.rows.len(), 1);
    assert_eq!(table.cell(0, "host_id"), Some(&cluster.node(2).host_id().unwrap().as_bytes()[..]));
}

/// testkit: facts change at run time; an id can be null, malformed, or no row be there at all.
#[tokio::test]
async fn facts_change() {
    let cluster = Cluster::builder().node(0, |facts| facts.rack = None).start().await.unwrap();
    let node = cluster.node(0);
    let mut client = Client::ready(node.addr()).await;
    let select = "SELECT rack, host_id FROM system.local";
    assert_eq!(Table::read(&client.query(select).await).cell(0, "rack"), None);
    node.set(|facts| facts.host_id = None);
    assert_eq!(Table::read(&client.query(select).await).cell(0, "host_id"), None);
    node.fault(Stage::Identity, Fault::Answer(rows!["rack text, host_id uuid"].into()));
    assert!(Table::read(&client.query(select).await).rows.is_empty());
    node.clear_faults();
    cluster.prime(select, rows!["rack text, host_id blob"; ("r", &[1_u8, 2, 3][..])]);
    assert_eq!(Table::read(&client.query(select).await).cell(0, "host_id"), Some(&[1, 2, 3][..]));
}

/// cql 8: USE of a keyspace that exists, that does not, in quotes.
#[tokio::test]
async fn keyspaces() {
    let cluster = Cluster::builder().keyspaces(["ks", "Odd"]).start().await.unwrap();
    let mut client = Client::ready(cluster.node(0).addr()).await;
    for (text, name) in [("USE ks", "ks"), ("use KS;", "ks"), ("USE \"Odd\"", "Odd")] {
        assert_eq!(client.query(text).await.body, [&[0, 0, 0, 3], &string(name)[..]].concat());
    }
    let (code, text) = error(&client.query("USE Odd").await);
    assert_eq!((code, text.as_str()), (0x2200, "Keyspace 'odd' does not exist"));
}

fn register(kinds: &[&str]) -> Vec<u8> {
    let mut body = (kinds.len() as u16).to_be_bytes().to_vec();
    kinds.iter().for_each(|kind| body.extend(string(kind)));
    body
}

/// cql 5: events come on stream -1, to those who registered for their type, and to no one else.
#[tokio::test]
async fn events() {
    let cluster = Cluster::builder().start().await.unwrap();
    let addr = cluster.node(0).addr();
    let mut status = Client::ready(addr).await;
    let mut schema = Client::ready(addr).await;
    let mut nothing = Client::ready(addr).await;
    assert_eq!(status.ask(REGISTER, &register(&["STATUS_CHANGE", "TOPOLOGY_CHANGE"])).await.opcode, 0x02);
    assert_eq!(schema.ask(REGISTER, &register(&["SCHEMA_CHANGE"])).await.opcode, 0x02);
    assert_eq!(nothing.ask(REGISTER, &register(&[])).await.opcode, 0x02);

    assert_eq!(cluster.push(&Push::status("DOWN", ([10, 0, 0, 9], 9042))), 1);
    let event = status.receive().await.unwrap();
    assert_eq!((event.stream, event.opcode), (-1, 0x0C));
    let mut body = Body(&event.body);
    assert_eq!((body.string(), body.string()), ("STATUS_CHANGE".to_owned(), "DOWN".to_owned()));
    assert_eq!(body.0, [4, 10, 0, 0, 9, 0, 0, 0x23, 0x52]);

    assert_eq!(cluster.push(&Push::schema(["CREATED", "TABLE", "ks", "t"])), 1);
    assert_eq!(
        schema.receive().await.unwrap().body,
        ["SCHEMA_CHANGE", "CREATED", "TABLE", "ks", "t"].map(string).concat()
    );
    assert!(tokio::time::timeout(QUIET, nothing.receive()).await.is_err());
    drop(status);
    cluster.wait_for(QUIET * 10, |seen| seen.open() == 2).await.unwrap();
    assert_eq!(cluster.push(&Push::topology("NEW_NODE", addr)), 0);
}

/// cql 8: an event type that the server does not know is refused by its name, on its own stream.
#[tokio::test]
async fn unknown_events() {
    let cluster = Cluster::builder().start().await.unwrap();
    let mut client = Client::ready(cluster.node(0).addr()).await;
    let kinds = register(&["STATUS_CHANGE", "CLIENT_ROUTES_CHANGE"]);
    let frame = client.ask(REGISTER, &kinds).await;
    assert_eq!(frame.stream, 7);
    assert_eq!(error(&frame), (0x000A, "Invalid value 'CLIENT_ROUTES_CHANGE' for Type".to_owned()));
    cluster.node(0).set(|facts| facts.events.push("CLIENT_ROUTES_CHANGE".into()));
    assert_eq!(client.ask(REGISTER, &kinds).await.opcode, 0x02);
}

fn supported(body: &[u8]) -> Vec<(String, Vec<String>)> {
    let mut body = Body(body);
    (0..body.short()).map(|_| (body.string(), (0..body.short()).map(|_| body.string()).collect())).collect()
}

/// cql 6: a Scylla node's keys: its host id, its shards, one shard after the other, others on request.
#[tokio::test]
async fn scylla_keys() {
    let scylla = Scylla::new(3).with("TABLETS_ROUTING_V1", "");
    let cluster = Cluster::builder().scylla(scylla).start().await.unwrap();
    let mut shards = Vec::new();
    for _ in 0..4 {
        let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
        let options = supported(&client.ask(OPTIONS, &[]).await.body);
        let value = |key: &str| {
            let found = options.iter().find(|(name, _)| name == key);
            found.map(|(_, values)| values[0].clone())
        };
        shards.push(value("SCYLLA_SHARD").unwrap());
        assert_eq!(value("SCYLLA_NR_SHARDS").as_deref(), Some("3"));
        assert_eq!(value("SCYLLA_HOST_ID"), cluster.node(0).host_id().map(|id| id.to_string()));
        assert_eq!(value("TABLETS_ROUTING_V1").as_deref(), Some(""));
        assert_eq!(value("PROTOCOL_VERSIONS"), None);
    }
    assert_eq!(shards, ["0", "1", "2", "0"]);
    let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
    client.version = 5;
    assert_eq!(error(&client.ask(OPTIONS, &[]).await).0, 0x000A);
}

/// cql 6: on the shard-aware port the client's own port chooses the shard.
#[tokio::test]
async fn shard_aware_port() {
    let cluster = Cluster::builder().scylla(Scylla::new(5).shard_aware()).start().await.unwrap();
    let addr = cluster.node(0).addr();
    let mut client = Client::dial(addr).await.unwrap();
    let options = supported(&client.ask(OPTIONS, &[]).await.body);
    let port = &options.iter().find(|(name, _)| name == "SCYLLA_SHARD_AWARE_PORT").unwrap().1[0];
    for _ in 0..8 {
        let mut client = Client::dial((addr.ip(), port.parse().unwrap()).into()).await.unwrap();
        let options = supported(&client.ask(OPTIONS, &[]).await.body);
        let shard = &options.iter().find(|(name, _)| name == "SCYLLA_SHARD").unwrap().1[0];
        assert_eq!(*shard, (client.stream.local_addr().unwrap().port() % 5).to_string());
    }
    cluster.node(0).kill().await;
    assert!(Client::dial((addr.ip(), port.parse().unwrap()).into()).await.is_err());
}
