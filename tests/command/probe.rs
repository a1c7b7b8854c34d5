//! What is tried, what is printed, what is left.

use messina::testkit::{BareAddress, Cluster, Fault, Log, Scylla, Stage};

use crate::support::{Dns, all_closed, beside, cluster, messina_with, probe};

/// driver 7.9: every address of a name is tried through every step, those behind one that works and beyond the cap of
/// a session as well; each leaves a row; nothing stays open.
/// driver 7.1: the row of an address names step, times and cause.
#[tokio::test]
async fn every_address_is_tried() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder().nodes(6).name("six"), &log).await;
    nodes.node(4).fault(Stage::Startup, Fault::error(0x1001, "too much to do"));
    let dead = beside(&nodes, &log, BareAddress::refused().unwrap());
    let hangs_up = beside(&nodes, &log, BareAddress::closes().unwrap());
    let addrs = [dead.addr(), hangs_up.addr()].into_iter().chain(nodes.addrs());
    let dns = Dns::leading_to(addrs).await;
    let name = format!("db.test:{}", dead.addr().port());

    let ran = probe(&[&name, "--dns", &dns.addr]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.err, "", "no progress without a terminal");
    assert!(!ran.out.contains('\u{1b}'), "no colours either");
    for node in nodes.nodes().iter().filter(|node| node.index() != 4) {
        let row = ran.row(node.addr());
        assert!(row.contains(" ready ") && row.contains(" v5 ") && row.contains("Cassandra"), "{row}");
        assert!(row.contains(&node.host_id().unwrap().to_string()), "{row}");
        assert!(row.contains("datacenter1") && row.contains("rack1"), "{row}");
    }
    assert!(ran.row(dead.addr()).contains("tcp") && ran.row(dead.addr()).contains("refused"), "{ran:?}");
    assert!(ran.row(hangs_up.addr()).contains("options"), "{ran:?}");
    let overloaded = ran.row(nodes.node(4).addr());
    assert!(overloaded.contains("startup") && overloaded.contains("too much to do"), "{overloaded}");
    assert!(ran.verdict(&name).starts_with("works, at 5 of 8 addresses"), "{ran:?}");
    all_closed(&log).await;
    // Each address is dialled once, and each login is one that a control connection would make.
    for node in nodes.nodes() {
        assert_eq!(node.connections().len(), 1);
        let registered = usize::from(node.index() != 4);
        assert_eq!((node.count(Stage::Startup), node.count(Stage::Register)), (1, registered));
    }
}

/// driver 7.9: several contact points, one of which leads nowhere, are exit code 1 and one line of verdict each.
#[tokio::test]
async fn each_contact_point_has_its_verdict() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder(), &log).await;
    let dead = BareAddress::refused().unwrap();
    let dns = Dns::leading_to(nodes.addrs()).await;
    let (good, bad) = (nodes.node(0).addr().to_string(), dead.addr().to_string());

    let ran = probe(&[&good, &bad, "nowhere.test", "--dns", &dns.addr]).await;

    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.verdict(&good), "works");
    assert!(ran.verdict(&bad).starts_with("does not work: its only address fails; "), "{ran:?}");
    let nowhere = ran.verdict("nowhere.test:9042");
    assert!(nowhere.starts_with("does not work: the lookup failed; check the spelling"), "{ran:?}");
    assert!(ran.out.contains("DNS knows no name nowhere.test (NXDOMAIN)"), "{ran:?}");
    all_closed(&log).await;
}

/// driver 7.2: an address that hangs costs its own limit, not that of the others.
#[tokio::test]
async fn a_limit_for_each_step() {
    let log = Log::new();
    let nodes = cluster(Cluster::builder(), &log).await;
    let mute = beside(&nodes, &log, BareAddress::mute().unwrap());
    let dns = Dns::leading_to([mute.addr(), nodes.node(0).addr()]).await;
    let name = format!("db.test:{}", mute.addr().port());

    let ran = probe(&[&name, "--dns", &dns.addr, "--timeout", "0.2", "--concurrency", "1"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.row(mute.addr()).contains("no answer within 200ms"), "{ran:?}");
    all_closed(&log).await;
}

/// driver 7.9: what a server tells before anybody logs in is in the row of an address that refuses the login; the
/// password is nowhere.
#[tokio::test]
async fn a_refused_login_tells_what_is_known_and_no_password() {
    let log = Log::new();
    let builder = Cluster::builder().user("ada", "right-one").scylla(Scylla::new(3));
    let nodes = cluster(builder, &log).await;
    let addr = nodes.node(0).addr().to_string();
    let host_id = nodes.node(0).host_id().unwrap().to_string();
    let args = ["probe", &addr, "--user", "ada", "--password-env", "MESSINA_TEST_PASSWORD"];

    let ran = messina_with(args, &[("MESSINA_TEST_PASSWORD", "wrong-one")]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    let row = ran.row(nodes.node(0).addr());
    assert!(
        row.contains(" auth ") && row.contains("ScyllaDB") && row.contains(&host_id) && row.contains(" 3 "),
        "{row}"
    );
    assert!(ran.verdict(&addr).contains("user name or password is wrong"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("wrong-one"), "{ran:?}");

    for json in [None, Some("--json")] {
        let ran = messina_with(args.into_iter().chain(json), &[("MESSINA_TEST_PASSWORD", "right-one")]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!format!("{ran:?}").contains("right-one"), "{ran:?}");
    }
    all_closed(&log).await;
}
