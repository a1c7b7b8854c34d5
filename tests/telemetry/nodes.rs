//! Series of nodes: one per host id, whatever happens to its addresses.

use std::time::Duration;

use messina::metrics;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::time::sleep;

use crate::{
    scene::{Load, Scene, WRITERS},
    scraped::{Scraped, recorder},
};

/// One info series per node says what it is called, and all others are told apart by host id alone.
fn only_infos_carry_addresses(scraped: &Scraped) {
    for series in scraped.series().filter(|series| !series.starts_with("messina_node_info")) {
        let address = ["10.9.", ".test", "9042", "9043"].iter().any(|part| series.contains(part));
        assert!(!address, "an address in {series}");
    }
}

/// Every node has gone on to be written to.
async fn all_count(scene: &Scene, handle: &PrometheusHandle, before: &Scraped) -> Scraped {
    sleep(Duration::from_millis(200)).await;
    let now = Scraped::now(handle);
    now.continues(before);
    for node in 0..3 {
        let id = scene.host_id(node);
        for name in [metrics::NODE_BYTES_SENT, metrics::NODE_BYTES_RECEIVED] {
            assert!(now.of(name, id) > before.of(name, id), "{name} of {id} stands still");
        }
        assert!(now.of(metrics::NODE_OPEN_CONNECTIONS, id) >= 1.0);
    }
    now
}

/// connect D32: node series are labelled by host id alone; a pin, a refresh and another address touch none of them.
/// connect 107: what a node is called names no series, so no other text for a proxy renames one.
/// connect 152: writes that go on while nodes are exchanged bring no old series back.
/// connect 118: a node that gets another endpoint keeps its series, and only the info series says how it is called.
/// connect 119: pinning a node changes no series.
/// connect 120: a node that was reached by a name and is listed by an address goes on in the same series.
/// connect 121: ten refreshes change no series.
/// connect 122: name to address: the old info is 0, the new one 1, and everything else goes on counting.
/// connect 123: seen through a real exporter.
/// scenario S28: a node reached by name and later listed by its address, under traffic, is one continuous series.
/// report 52: two nodes on one address with different ports are told apart.
/// report 53: reading what nodes are called between refreshes makes no series.
/// reviewer 62: no series vanishes and none is orphaned when a node's printed address changes.
/// reviewer 63: writes that go on during the change revive nothing.
#[tokio::test(start_paused = true)]
async fn one_series_per_node() {
    let (recorder, handle) = recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let scene = Scene::start().await;
    let session = scene.session().build().await.unwrap();
    let load = Load::on(&session);
    sleep(Duration::from_secs(2)).await;

    let first = Scraped::now(&handle);
    only_infos_carry_addresses(&first);
    let names = first.infos(1.0);
    assert_eq!(names.len(), 3, "{names:?}");
    for (node, port) in [(0, 9042), (1, 9043), (2, 9042)] {
        let info = format!(
            "messina_node_info{{host_id=\"{}\",endpoint=\"node{node}.test:{port}\",datacenter=\"datacenter1\",rack=\"rack1\"}}",
            scene.host_id(node)
        );
        assert!(names.contains(info.as_str()), "{info} is not among {names:?}");
    }
    let mut last = all_count(&scene, &handle, &first).await;

    // Ten refreshes, with somebody looking at names and addresses in between.
    for _ in 0..10 {
        scene.refresh(&session).await;
        let _text = format!("{:?} {session:?}", session.topology());
        let now = Scraped::now(&handle);
        assert_eq!(now.of_nodes(), first.of_nodes());
        assert_eq!((now.infos(1.0), now.infos(0.0)), (names.clone(), [].into()));
        last = all_count(&scene, &handle, &last).await;
    }

    // Connections are lost and come back to where the pin leads: what the names lead to by then does not matter.
    let written = load.written();
    let asked = [0, 1, 2].map(|node| scene.names.asked(&format!("node{node}.test")));
    for node in 0..3 {
        scene.names.set(&format!("node{node}.test"), [scene.network.refused()]);
        let before = scene.cluster.node(node).connections().len();
        scene.cluster.node(node).reset_connections();
        sleep(Duration::from_secs(3)).await;
        assert!(scene.cluster.node(node).connections().len() > before, "node {node} is connected to again");
        last = all_count(&scene, &handle, &last).await;
        let failures = [metrics::NODE_REQUEST_ERRORS, metrics::NODE_RETRIES];
        // What was on a lost connection failed and was tried again; nothing else is new.
        let new: Vec<_> = last.of_nodes().difference(&first.of_nodes()).map(|series| (*series).to_owned()).collect();
        assert!(new.iter().all(|series| failures.iter().any(|name| series.starts_with(name))), "{new:?}");
        assert_eq!((last.infos(1.0), last.infos(0.0)), (names.clone(), [].into()));
    }
    assert_eq!(
        [0, 1, 2].map(|node| scene.names.asked(&format!("node{node}.test"))),
        asked,
        "by the pin, not by the name"
    );

    let before = last.clone();
    scene.unname();
    scene.refresh(&session).await;
    last = all_count(&scene, &handle, &last).await;
    assert_eq!(last.of_nodes(), before.of_nodes(), "an address in place of the name starts no series");
    assert_eq!(last.infos(0.0), names, "the old names");
    let addresses = last.infos(1.0);
    assert_eq!(addresses.len(), 3, "{addresses:?}");
    for (node, endpoint) in [(0, "10.9.0.1:9042"), (1, "10.9.0.1:9043"), (2, "10.9.0.3:9042")] {
        let (id, endpoint) = (scene.host_id(node).to_string(), format!("endpoint=\"{endpoint}\""));
        assert!(addresses.iter().any(|info| info.contains(&id) && info.contains(&endpoint)), "{addresses:?}");
    }
    only_infos_carry_addresses(&last);

    // What was written after the change has revived nothing.
    last = all_count(&scene, &handle, &last).await;
    assert_eq!((last.infos(0.0), last.infos(1.0).len()), (names, 3));
    assert!(load.written() > written);
    let counted = last.get(metrics::REQUESTS);
    let done = load.written() as f64;
    assert!(counted >= done && counted <= done + WRITERS as f64, "{counted} requests counted, {done} done");
    assert_eq!(last.get(metrics::CONNECTED_NODES), 3.0);
}

/// connect D32: when a node is gone its gauges go to 0, and its counters stay what they were.
#[tokio::test(start_paused = true)]
async fn a_removed_node() {
    let (recorder, handle) = recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let scene = Scene::start().await;
    let session = scene.session().build().await.unwrap();
    let load = Load::on(&session);
    sleep(Duration::from_secs(2)).await;
    let before = Scraped::now(&handle);
    let gone = scene.host_id(1);
    assert!(before.of(metrics::NODE_OPEN_CONNECTIONS, gone) >= 1.0);

    scene.cluster.node(1).set(|facts| facts.listed = false);
    scene.refresh(&session).await;
    sleep(Duration::from_secs(1)).await;
    let after = Scraped::now(&handle);
    after.continues(&before);
    for gauge in [metrics::NODE_OPEN_CONNECTIONS, metrics::NODE_IN_FLIGHT, metrics::NODE_ORPHANS] {
        assert_eq!(after.of(gauge, gone), 0.0, "{gauge}");
    }
    assert_eq!((after.infos(1.0).len(), after.infos(0.0).len()), (2, 1));
    assert!(after.infos(0.0).iter().all(|info| info.contains(&gone.to_string())));
    assert_eq!(after.get(metrics::CONNECTED_NODES), 2.0);

    // The session ends: nothing is left but counters.
    drop(load);
    session.close().await;
    drop(session);
    sleep(Duration::from_secs(1)).await;
    let end = Scraped::now(&handle);
    for node in 0..3 {
        for gauge in [metrics::NODE_OPEN_CONNECTIONS, metrics::NODE_IN_FLIGHT, metrics::NODE_ORPHANS] {
            assert_eq!(end.of(gauge, scene.host_id(node)), 0.0, "{gauge} of {node}");
        }
    }
    assert_eq!((end.infos(1.0).len(), end.get(metrics::CONNECTED_NODES)), (0, 0.0));
}

/// scenario S23: contact points own no metrics, in every round: every host id in a series is a node's.
#[tokio::test(start_paused = true)]
async fn contact_points_own_none() {
    let (recorder, handle) = recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let scene = Scene::start().await;
    let session = scene.session().contact_point("nowhere.test").build().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    for _ in 0..3 {
        // Control connections go, and rounds come to the contact points.
        for node in 0..3 {
            scene.cluster.node(node).reset_connections();
        }
        sleep(Duration::from_secs(5)).await;
        let ids: Vec<_> = (0..3).map(|node| scene.host_id(node).to_string()).collect();
        for series in Scraped::now(&handle).series().filter(|series| series.contains("host_id")) {
            assert!(ids.iter().any(|id| series.contains(id)), "{series}");
        }
    }
    drop(session);
}
