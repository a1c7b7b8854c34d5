//! What a failed build says: in one line, and as a table.

use std::time::Duration;

use messina::{
    Session,
    error::Kind,
    layers::{FixedResolver, Order, Resolved},
    testkit::{Cluster, Fault, Network, Stage},
};

use crate::support::{LIMIT, name, named};

/// connect 139: the one line names contact points, addresses, stages, times and causes.
/// connect D19: `report()` prints a line for each address.
/// report 23: per-address causes.
#[tokio::test(start_paused = true)]
async fn everything_in_one_line() {
    let network = Network::new();
    let slow = Fault::Delay(LIMIT + Duration::from_secs(1));
    let cluster = Cluster::builder().network(&network).nodes(3).user("ada", "pass");
    let cluster = cluster
        .fault(0, Stage::Startup, Fault::error(0x1001, "too much to do"))
        .fault(1, Stage::Identity, slow)
        .start()
        .await
        .unwrap();
    let addrs = cluster.addrs();
    let resolver = FixedResolver::new()
        .with(name("one.test"), addrs[..2].iter().copied().map(Resolved::from))
        .with(name("two.test"), [network.refused()].map(Resolved::from));
    let error = Session::builder()
        .contact_points(["one.test", "two.test", "three.test"])
        .resolver(resolver)
        .connector(network.connector())
        .candidate_order(Order::AsGiven)
        .credentials("ada", "pass")
        .build()
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "no contact point was reachable: \
         one.test:9042 (10.0.0.1:9042 startup after 0.0ns: the server answered that it is overloaded (code 0x1001): \
         too much to do, 10.0.0.2:9042 identity after 5.0s: no answer within 5s); \
         two.test:9042 (10.255.0.1:9042 tcp after 0.0ns: connection refused); \
         three.test:9042 (resolve after 0.0ns: the name three.test is not in the fixed table)"
    );
    let report = error.report().to_string();
    let lines: Vec<_> = report.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        lines,
        [
            "no contact point was reachable",
            "contact point one.test:9042: connecting to one.test:9042 failed at all of 2 addresses",
            "10.0.0.1:9042 startup 0.0ns the server answered that it is overloaded (code 0x1001): too much to do",
            "10.0.0.2:9042 identity 5.0s no answer within 5s",
            "contact point two.test:9042: connecting to two.test:9042 failed at its only address",
            "10.255.0.1:9042 tcp 0.0ns connection refused",
            "contact point three.test:9042: looking up three.test:9042 failed after 0.0ns: \
             the name three.test is not in the fixed table",
        ]
    );
    assert_eq!(error.kind(), Kind::Unreachable);
    assert!(format!("{error:?}").contains("one.test:9042"));
}

/// report 23: a server's text stays on its line and can be read to its end.
#[tokio::test(start_paused = true)]
async fn texts_of_servers() {
    let network = Network::new();
    let rude = format!("\u{1b}[2J\nno contact point\0{}", "x".repeat(60_000));
    let cluster = Cluster::builder().network(&network).fault(0, Stage::Startup, Fault::error(0x1001, &rude));
    let cluster = cluster.start().await.unwrap();
    let error = named(&network, cluster.addrs()).build().await.unwrap_err();
    let report = error.report().to_string();
    for text in [error.to_string(), report.replace('\n', "")] {
        assert!(text.contains("\\u{1b}[2J\\nno contact point\\u{0}xxx"), "{text:?}");
        assert!(!text.contains(char::is_control) && text.len() < 1500, "{text:?}");
        assert!(text.contains("... (the first 500 of 60"), "{text}");
    }
    assert_eq!(report.lines().count(), 3, "{report}");
}

/// connect 139: what the session logged before says the same, once per contact point.
#[tokio::test(start_paused = true)]
async fn the_log_has_the_table() {
    let events = crate::support::Events::watch();
    let network = Network::new();
    let dead = [network.refused(), network.closes()];
    named(&network, dead).build().await.unwrap_err();
    let told = events.warnings();
    assert_eq!(told.len(), 1, "{told:?}");
    for addr in dead {
        assert!(told[0].message.contains(&addr.to_string()), "{}", told[0].message);
    }
}

/// connect 139: a node list without a node that can be connected to says which nodes, and why.
#[tokio::test(start_paused = true)]
async fn no_node_can_be_connected_to() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
    for node in cluster.nodes() {
        // The control connection gets through; what comes after it does not.
        node.fault(Stage::Startup, Fault::error(0x1001, "too much to do").after(1));
    }
    cluster.node(1).fault(Stage::Tcp, Fault::Refuse);
    let error = named(&network, [cluster.node(0).addr()]).build().await.unwrap_err();
    assert_eq!(error.kind(), Kind::NoConnection);
    let line = error.to_string();
    for node in cluster.nodes() {
        let told = format!("node {} at {}", node.host_id().unwrap(), node.addr());
        assert!(line.contains(&told), "{told:?} is not in {line:?}");
    }
    assert!(line.contains("too much to do") && line.contains("refused"), "{line}");
}

/// connect 45: a session that could not be built leaves nothing behind.
#[tokio::test(start_paused = true)]
async fn nothing_is_left() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
    cluster.node(0).fault(Stage::Startup, Fault::error(0x1001, "too much to do").after(1));
    cluster.node(1).fault(Stage::Cluster, Fault::Silence);
    named(&network, cluster.addrs()).build().await.unwrap_err();
    crate::support::all_closed(cluster.log()).await;
    let dials = network.dialled().len();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(network.dialled().len(), dials);
}
