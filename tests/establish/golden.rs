//! Every byte that a connection sends before its first request, written by hand from the protocol's specification.
//!
//! A change here changes what servers see of us: it needs a line in the changelog.

use messina::{
    protocol::ProtocolVersion,
    testkit::{Cluster, ClusterBuilder, Network, Stage},
};

use crate::support::{SOON, named};

/// Bytes from hexadecimal text in which quoted parts stand for themselves.
fn golden(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, part) in text.split('\'').enumerate() {
        if index % 2 == 1 {
            bytes.extend(part.replace("0.1.0", env!("CARGO_PKG_VERSION")).bytes());
            continue;
        }
        let digits: String = part.split_whitespace().collect();
        let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        bytes.extend(pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()));
    }
    bytes
}

/// OPTIONS, STARTUP, login, cluster name, keyspace: what every connection sends. `vv` is the version.
const V3_V4: &str = "
    vv 00 0000 05 00000000
    vv 00 0000 01 00000043  0003
        000b 'CQL_VERSION' 0005 '3.0.0'
        000b 'DRIVER_NAME' 0007 'Messina'
        000e 'DRIVER_VERSION' 0005 '0.1.0'
    vv 00 0000 0f 0000000d  00000009 00 'ada' 00 'pass'
    vv 00 0000 07 0000003e  00000037 'SELECT cluster_name FROM system.local WHERE key=' 27 'local' 27  0001 00
    vv 00 0000 07 0000000f  00000008 'USE ' 22 'Ks' 22  0001 00";

/// Who answered, REGISTER, the node list: what follows on a control connection to a contact point.
const V3_V4_CONTROL: &str = "
    vv 00 0000 07 00000033  0000002c 'SELECT * FROM system.local WHERE key=' 27 'local' 27  0001 00
    vv 00 0000 0b 00000031  0003 000f 'TOPOLOGY_CHANGE' 000d 'STATUS_CHANGE' 000d 'SCHEMA_CHANGE'
    vv 00 0000 07 00000024  0000001d 'SELECT * FROM system.peers_v2'  0001 00";

/// In v5 OPTIONS and STARTUP are bare, the rest is in segments: length and mark, CRC24, envelope, CRC32. `oo` is the
/// version of OPTIONS.
const V5: &str = "
    oo 00 0000 05 00000000
    05 00 0000 01 00000043  0003
        000b 'CQL_VERSION' 0005 '3.0.0'
        000b 'DRIVER_NAME' 0007 'Messina'
        000e 'DRIVER_VERSION' 0005 '0.1.0'
    160002 9d04f9
        05 00 0000 0f 0000000d  00000009 00 'ada' 00 'pass'
        d049dc75
    4a0002 2a003b
        05 00 0000 07 00000041  00000037 'SELECT cluster_name FROM system.local WHERE key=' 27 'local' 27  0001 00000000
        135975db
    1b0002 3835ca
        05 00 0000 07 00000012  00000008 'USE ' 22 'Ks' 22  0001 00000000
        5a48762a";

const V5_CONTROL: &str = "
    3f0002 00cedd
        05 00 0000 07 00000036  0000002c 'SELECT * FROM system.local WHERE key=' 27 'local' 27  0001 00000000
        4e9d383b
    3a0002 736183
        05 00 0000 0b 00000031  0003 000f 'TOPOLOGY_CHANGE' 000d 'STATUS_CHANGE' 000d 'SCHEMA_CHANGE'
        5293585b
    300002 953f3e
        05 00 0000 07 00000027  0000001d 'SELECT * FROM system.peers_v2'  0001 00000000
        44d14f54";

/// The bytes of the control connection and of the connection to the node, which is identified by then.
async fn sent(
    server: impl FnOnce(ClusterBuilder) -> ClusterBuilder,
    version: Option<ProtocolVersion>,
) -> (Vec<u8>, Vec<u8>) {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).user("ada", "pass");
    let cluster = server(cluster).start().await.unwrap();
    // The schema is read beside requests, later than all of this.
    let builder = named(&network, cluster.addrs()).credentials("ada", "pass").keyspace("Ks");
    let mut builder = builder.schema_metadata(false);
    if let Some(version) = version {
        builder = builder.protocol_version(version);
    }
    let session = builder.build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.count(Stage::Keyspace) == 2 && seen.count(Stage::Peers) > 0).await.unwrap();
    let connections = cluster.log().connections();
    assert_eq!(connections.len(), 2);
    drop(session);
    (connections[0].received_bytes().to_vec(), connections[1].received_bytes().to_vec())
}

#[track_caller]
fn same(seen: &[u8], expected: &[u8]) {
    let readable = |bytes: &[u8]| bytes.escape_ascii().to_string();
    assert_eq!(readable(seen), readable(expected));
}

/// connect 60: every byte in v3.
/// connect 59: OPTIONS, STARTUP, the login, the cluster's name, the keyspace; the handshake ends there.
/// connect 64: a connection to an identified node sends exactly these, no identity read and no REGISTER.
#[tokio::test(start_paused = true)]
async fn v3() {
    let (control, node) = sent(|server| server, Some(ProtocolVersion::V3)).await;
    same(&control, &golden(&[V3_V4, V3_V4_CONTROL].concat().replace("vv", "03")));
    same(&node, &golden(&V3_V4.replace("vv", "03")));
}

/// connect 60: every byte in v4, to a server that lists no versions.
/// connect 59: OPTIONS, STARTUP, the login, the cluster's name, the keyspace; the handshake ends there.
/// connect 64: a connection to an identified node sends exactly these.
/// connect 91: the connection to a node never registers.
#[tokio::test(start_paused = true)]
async fn v4() {
    let (control, node) = sent(ClusterBuilder::without_version_list, None).await;
    same(&control, &golden(&[V3_V4, V3_V4_CONTROL].concat().replace("vv", "04")));
    same(&node, &golden(&V3_V4.replace("vv", "04")));
}

/// connect 60: every byte in v5, agreed on by OPTIONS in v4; segments after the answer to STARTUP.
/// connect 64: a connection to an identified node speaks v5 at once.
#[tokio::test(start_paused = true)]
async fn v5() {
    let (control, node) = sent(|server| server, None).await;
    same(&control, &golden(&[V5, V5_CONTROL].concat().replace("oo", "04")));
    same(&node, &golden(&V5.replace("oo", "05")));
}

/// connect 60: a server without `peers_v2` is asked for `peers` after the same bytes.
#[tokio::test(start_paused = true)]
async fn v4_without_peers_v2() {
    let (control, _) = sent(|server| server.without_version_list().without_peers_v2(), None).await;
    let peers = "vv 00 0000 07 00000021  0000001a 'SELECT * FROM system.peers'  0001 00";
    same(&control, &golden(&[V3_V4, V3_V4_CONTROL, peers].concat().replace("vv", "04")));
}

/// driver 2.1: STARTUP tells of the application what the builder says, and nothing else.
/// connect 60: to the byte.
#[tokio::test(start_paused = true)]
async fn the_application() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).without_version_list().start().await.unwrap();
    let builder = named(&network, cluster.addrs()).schema_metadata(false).application("shop", "1.2");
    let client_id = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
    let session = builder.client_id(client_id.parse().unwrap()).build().await.unwrap();
    let startup = golden(
        "04 00 0000 01 000000a6  0006
        000b 'CQL_VERSION' 0005 '3.0.0'
        000b 'DRIVER_NAME' 0007 'Messina'
        000e 'DRIVER_VERSION' 0005 '0.1.0'
        0010 'APPLICATION_NAME' 0004 'shop'
        0013 'APPLICATION_VERSION' 0003 '1.2'
        0009 'CLIENT_ID' 0024 '0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0'",
    );
    let options = 9;
    for connection in cluster.log().connections() {
        same(&connection.received_bytes()[options..options + startup.len()], &startup);
    }
    drop(session);
}
