//! The report as JSON: one object with stable keys.

use std::collections::BTreeSet;

use messina::testkit::{BareAddress, Cluster, Log, Scylla};
use serde_json::Value;

use crate::support::{Dns, all_closed, beside, cluster, probe};

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn set<const N: usize>(keys: [&'static str; N]) -> BTreeSet<&'static str> {
    keys.into()
}

/// driver 7.9: every key is there whether the address works or not, and whether it was reached or not.
#[tokio::test]
async fn keys_are_stable() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder().scylla(Scylla::new(2)).name("keys"), &log).await;
    let dead = beside(&nodes, &log, BareAddress::refused().unwrap());
    let dns = Dns::leading_to([nodes.node(0).addr(), dead.addr()]).await;
    let name = format!("db.test:{}", dead.addr().port());

    let ran = probe(&[&name, "nowhere.test", "--json", "--dns", &dns.addr, "--query", "SELECT nothing"]).await;

    assert_eq!(ran.code, 1, "{ran:?}");
    let json = ran.json();
    assert_eq!(keys(&json), set(["works", "ms", "contact_points", "query"]));
    let points = json["contact_points"].as_array().unwrap();
    for point in points {
        let expected = set(["contact_point", "works", "verdict", "advice", "resolve_ms", "resolve_error", "addresses"]);
        assert_eq!(keys(point), expected);
        for address in point["addresses"].as_array().unwrap() {
            let expected = set([
                "address",
                "works",
                "stage",
                "ms",
                "protocol",
                "server",
                "cluster",
                "host_id",
                "datacenter",
                "rack",
                "shards",
                "error",
            ]);
            assert_eq!(keys(address), expected);
            let steps = set([
                "tcp", "tls", "options", "startup", "auth", "cluster", "keyspace", "identity", "register", "total",
            ]);
            assert_eq!(keys(&address["ms"]), steps);
            let total = address["ms"]["total"].as_f64().unwrap();
            let longest = address["ms"].as_object().unwrap().values().filter_map(Value::as_f64).fold(0.0, f64::max);
            assert!(total >= longest, "{address}");
        }
    }
    assert_eq!(
        keys(&json["query"]),
        set(["cql", "contact_point", "address", "ms", "columns", "rows", "more", "error"])
    );

    let [live, dead] = points[0]["addresses"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!((&live["stage"], &live["works"], &live["error"]), (&"ready".into(), &true.into(), &Value::Null));
    assert_eq!((&live["protocol"], &live["shards"]), (&4.into(), &2.into()));
    assert_eq!((&live["cluster"], &live["server"]), (&"keys".into(), &"ScyllaDB".into()));
    assert!(
        live["ms"]["tcp"].is_number() && live["ms"]["register"].is_number() && live["ms"]["tls"].is_null(),
        "{live}"
    );
    assert_eq!((&dead["stage"], &dead["works"], &dead["host_id"]), (&"tcp".into(), &false.into(), &Value::Null));
    assert!(dead["ms"]["tcp"].is_number() && dead["ms"]["options"].is_null(), "{dead}");
    assert!(points[1]["resolve_error"].as_str().unwrap().contains("NXDOMAIN"), "{json}");
    all_closed(&log).await;
}
