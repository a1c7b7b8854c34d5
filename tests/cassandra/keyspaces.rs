//! The keyspace of unqualified names, and what was prepared in another one.

use std::collections::BTreeSet;
use std::time::Duration;

use messina::Session;
use messina::error::Kind;
use messina::protocol::ProtocolVersion;

use crate::support::case::{Case, Clusters, case};
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("keyspaces::prepared_in_another_one", [Spec::three()], prepared_in_another_one)
            .limit(Duration::from_secs(120)),
    ]
}

async fn session(clusters: &Clusters, version: ProtocolVersion) -> Session {
    let nodes: Vec<_> = clusters[0].nodes.iter().map(|node| node.native()).collect();
    let way = Way::through(Mode::Delay, &nodes).await;
    let builder = way.builder().protocol_version(version).keyspace("before").prepare_ahead(false, false);
    let session = builder.build().await.unwrap();
    // Statements that go to replicas would stay on few nodes.
    session.execute("SELECT v FROM t WHERE id = 1", ()).await.unwrap();
    session
}

/// cassandra: a statement stays in the keyspace that it was prepared in: on v5 nodes are told of it in that one, though
/// the session has another by now; before, that is an error which says so.
async fn prepared_in_another_one(clusters: Clusters) {
    let nodes: Vec<_> = clusters[0].nodes.iter().map(|node| node.native()).collect();
    let setup = Way::through(Mode::Delay, &nodes).await.builder().build().await.unwrap();
    for keyspace in ["before", "after"] {
        let replicated = "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}";
        setup.execute(format!("CREATE KEYSPACE {keyspace} {replicated}"), ()).await.unwrap();
        setup.execute(format!("CREATE TABLE {keyspace}.t (id int PRIMARY KEY, v text)"), ()).await.unwrap();
        setup.execute(format!("INSERT INTO {keyspace}.t (id, v) VALUES (1, '{keyspace}')"), ()).await.unwrap();
    }
    let text = "SELECT v FROM t WHERE id = ?";

    let session_v5 = session(&clusters, ProtocolVersion::V5).await;
    let prepared = session_v5.prepare(text).await.unwrap();
    session_v5.use_keyspace("after").await.unwrap();
    let mut served_by = BTreeSet::new();
    for _ in 0..60 {
        let result = session_v5.execute(&prepared, (1,)).await.unwrap();
        served_by.insert(result.served_by().host_id);
        assert_eq!(result.one::<(String,)>().await.unwrap().0, "before");
        // What is prepared now is in the new one.
        let (v,) = session_v5.execute(text, (1,)).await.unwrap().one::<(String,)>().await.unwrap();
        assert_eq!(v, "after");
    }
    assert_eq!(served_by.len(), 3, "every node was asked");

    let text = "SELECT v, id FROM t WHERE id = ?";
    let session_v4 = session(&clusters, ProtocolVersion::V4).await;
    let prepared = session_v4.prepare(text).await.unwrap();
    session_v4.use_keyspace("after").await.unwrap();
    let mut refused = 0;
    for _ in 0..60 {
        match session_v4.execute(&prepared, (1,)).await {
            Ok(result) => assert_eq!(result.one::<(String, i32)>().await.unwrap().0, "before"),
            Err(error) => {
                assert_eq!(error.kind(), Kind::Statement);
                let cause = error.tries().last().unwrap().error.to_string();
                assert!(cause.contains("prepare it again"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "some node did not know it");
}
