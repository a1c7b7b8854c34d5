//! A statement on the first address that works.

use messina::testkit::{Answer, BareAddress, Cluster, Log, Stage, rows};

use crate::support::{Dns, all_closed, beside, cluster, probe};

/// driver 7.9: the statement is executed once, on an address that works, and its rows are printed.
#[tokio::test]
async fn rows_are_printed() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder().nodes(2), &log).await;
    nodes.prime("SELECT id, name FROM ks.users", rows!["id int, name text"; (7, "Ada"), (8, "Grace")]);
    let dead = beside(&nodes, &log, BareAddress::refused().unwrap());
    let dns = Dns::leading_to([dead.addr()].into_iter().chain(nodes.addrs())).await;
    let name = format!("db.test:{}", dead.addr().port());
    let args = [&name, "--dns", &dns.addr, "--query", "SELECT id, name FROM ks.users"];

    let ran = probe(&args).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let after = ran.out.split("SELECT id, name FROM ks.users on ").nth(1).unwrap();
    let lines: Vec<_> = after.lines().collect();
    assert!(lines[0].contains(": 2 rows in "), "{ran:?}");
    assert_eq!(lines[1..], ["id  name", "7   'Ada'", "8   'Grace'"], "{ran:?}");
    assert_eq!(nodes.nodes().iter().map(|node| node.count(Stage::Query)).sum::<usize>(), 1);

    let json = probe(&[args.as_slice(), &["--json"]].concat()).await.json();
    assert_eq!(json["query"]["columns"], serde_json::json!(["id", "name"]));
    assert_eq!(json["query"]["rows"], serde_json::json!([["7", "'Ada'"], ["8", "'Grace'"]]));
    all_closed(&log).await;
}

/// driver 7.9: a statement that fails says why, and is exit code 1; one that gives no rows is no failure; one that
/// could not be executed says so.
#[tokio::test]
async fn failures_are_told() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder(), &log).await;
    nodes.prime("TRUNCATE ks.users", Answer::void());
    nodes.prime("SELECT broken", Answer::error(0x2000, "line 1: no viable alternative"));
    let addr = nodes.node(0).addr().to_string();

    let ran = probe(&[&addr, "--query", "SELECT broken"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.out.matches("no viable alternative").count(), 1, "{ran:?}");

    let ran = probe(&[&addr, "--query", "TRUNCATE ks.users"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains(": 0 rows in "), "{ran:?}");

    let dead = BareAddress::refused().unwrap();
    let ran = probe(&[&dead.addr().to_string(), "--query", "TRUNCATE ks.users"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("TRUNCATE ks.users: not executed, since no address works"), "{ran:?}");
    all_closed(&log).await;
}

/// driver 7.9: the limit of each step is that of the statement too.
#[tokio::test]
async fn limited() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder(), &log).await;
    nodes.prime("SELECT slow", Answer::void().delayed(std::time::Duration::from_secs(60)));
    let addr = nodes.node(0).addr().to_string();
    let ran = probe(&[&addr, "--query", "SELECT slow", "--timeout", "0.5"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("500ms"), "{ran:?}");
}
