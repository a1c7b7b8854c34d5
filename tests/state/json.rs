//! State and plan as JSON: stable keys.

use std::collections::BTreeSet;

use messina::testkit::{Fault, Stage};
use serde_json::{Value, to_value};

use crate::support::{World, until};

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// report 55: every key is there, whatever the node is like.
/// driver 7.10, 7.11: pins and the plan are among them.
#[tokio::test(start_paused = true)]
async fn keys_are_stable() {
    let world = World::new(|cluster| cluster.nodes(2).fault(1, Stage::Tcp, Fault::Refuse)).await;
    let session = world.builder().build().await.unwrap();
    let state = until(&session, |state| state.nodes.iter().any(|node| node.last_error.is_some())).await;

    let json = to_value(&state).unwrap();
    let expected = ["cluster", "protocol", "contact_points", "closed", "control", "told", "nodes", "skipped"];
    assert_eq!(keys(&json), expected.into());
    assert_eq!(keys(&json["control"]), ["host_id", "address", "age_ms", "events"].into());
    assert_eq!(keys(&json["told"]), ["host_id", "address", "age_ms"].into());
    let nodes = json["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 2);
    for node in nodes {
        let expected = [
            "host_id",
            "endpoint",
            "pin",
            "pinned_for_ms",
            "via",
            "datacenter",
            "rack",
            "local",
            "scylla",
            "state",
            "forced_down_because",
            "shards",
            "wanted",
            "opening",
            "connections",
            "shard_port_blocked_for_ms",
            "next_attempt_in_ms",
            "last_error",
        ];
        assert_eq!(keys(node), expected.into());
        for connection in node["connections"].as_array().unwrap() {
            let expected = [
                "address",
                "shard",
                "use",
                "protocol",
                "compression",
                "in_flight",
                "orphans",
                "age_ms",
                "last_answer_ms",
            ];
            assert_eq!(keys(connection), expected.into());
        }
    }
    let down = nodes.iter().find(|node| node["state"] == "down").unwrap();
    assert!(down["last_error"].as_str().unwrap().contains("refused"), "{json}");

    let plan = to_value(session.explain_plan()).unwrap();
    assert_eq!(keys(&plan), ["entries", "left_out"].into());
    for entry in plan["entries"].as_array().unwrap() {
        assert_eq!(keys(entry), ["host_id", "endpoint", "contact_point", "connected", "why"].into());
    }
    session.close().await;
    assert_eq!(keys(&to_value(session.state()).unwrap()).len(), 8);
}
