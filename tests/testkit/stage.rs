//! Requests at each stage, and clients brought there.

use messina::testkit::{Cluster, Node, Rule, Stage, rows};

use crate::client::{
    AUTH_RESPONSE, Client, Frame, OPTIONS, PREPARE, QUERY, REGISTER, SOON, STARTUP, Stream, long_string, query, string,
};

/// The stages at which a request is answered.
pub(crate) const STAGES: [Stage; 12] = [
    Stage::Options,
    Stage::Startup,
    Stage::Auth,
    Stage::Cluster,
    Stage::Keyspace,
    Stage::Identity,
    Stage::Register,
    Stage::Heartbeat,
    Stage::Peers,
    Stage::Schema,
    Stage::Prepare,
    Stage::Query,
];

pub(crate) async fn cluster() -> Cluster {
    let cluster = Cluster::builder().user("ada", "secret").start().await.unwrap();
    cluster.prime("SELECT 1", rows!["one int"; (1,)]);
    cluster
}

/// Opcode and body of the request that stands at a stage.
pub(crate) fn request(stage: Stage) -> (u8, Vec<u8>) {
    match stage {
        Stage::Options | Stage::Heartbeat => (OPTIONS, vec![]),
        Stage::Startup => {
            let mut body = vec![0, 1];
            body.extend(string("CQL_VERSION"));
            body.extend(string("3.0.0"));
            (STARTUP, body)
        }
        Stage::Auth => (AUTH_RESPONSE, b"\0\0\0\x0b\0ada\0secret".to_vec()),
        Stage::Cluster => (QUERY, query("SELECT cluster_name FROM system.local")),
        Stage::Keyspace => (QUERY, query("USE ks")),
        Stage::Identity => (QUERY, query("SELECT * FROM system.local WHERE key='local'")),
        Stage::Peers => (QUERY, query("SELECT * FROM system.peers_v2")),
        Stage::Schema => (QUERY, query("SELECT * FROM system_schema.tables")),
        Stage::Register => {
            let mut body = vec![0, 1];
            body.extend(string("STATUS_CHANGE"));
            (REGISTER, body)
        }
        Stage::Prepare => (PREPARE, long_string("SELECT 1")),
        _ => (QUERY, query("SELECT 1")),
    }
}

/// The opcode of the right answer.
pub(crate) fn right(stage: Stage) -> u8 {
    match stage {
        Stage::Options | Stage::Heartbeat => 0x06,
        Stage::Startup => 0x03,
        Stage::Auth => 0x10,
        Stage::Register => 0x02,
        _ => 0x08,
    }
}

/// A client that has done everything before the stage, right before the request.
pub(crate) async fn before(node: &Node, stage: Stage) -> Client {
    let mut client = Client::dial(node.addr()).await.unwrap();
    advance(&mut client, stage).await;
    client
}

pub(crate) async fn advance<S: Stream>(client: &mut Client<S>, stage: Stage) {
    for earlier in [Stage::Startup, Stage::Auth] {
        if stage > earlier {
            let (opcode, body) = request(earlier);
            assert_eq!(client.ask(opcode, &body).await.opcode, right(earlier));
        }
    }
}

pub(crate) async fn ask<S: Stream>(client: &mut Client<S>, stage: Stage) {
    let (opcode, body) = request(stage);
    client.send(21, opcode, &body).await;
}

/// A client that has sent the request of a stage to a node with this fault.
pub(crate) async fn struck(node: &Node, stage: Stage, fault: impl Into<Rule>) -> Client {
    let mut client = before(node, stage).await;
    node.fault(stage, fault);
    ask(&mut client, stage).await;
    client
}

pub(crate) async fn answer<S: Stream>(client: &mut Client<S>) -> Frame {
    tokio::time::timeout(SOON, client.receive()).await.unwrap().unwrap()
}
