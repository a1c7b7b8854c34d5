//! Which cluster answers: taken from the first accepted connection, compared by all later ones.

use std::time::Duration;

use messina::{
    establish::WrongCluster,
    layers::{Class, Scope},
    testkit::{Cluster, Fault, Network, Stage},
};

use crate::support::{Mode, SOON, TestStack, named};

/// connect 62: later connections compare; a mismatch names expected and actual.
/// connect 51: a mismatch is one address's, for identified and unidentified targets.
/// scenario S13: advances in both cases.
/// reviewer 32: a stale record into another cluster does not end the connect.
#[tokio::test(start_paused = true)]
async fn a_foreign_record_is_passed_over() {
    for identified in [false, true] {
        let network = Network::new();
        let foreign = Cluster::builder().network(&network).name("theirs").start().await.unwrap();
        let ours = Cluster::builder().network(&network).name("ours").start().await.unwrap();
        let addrs = [foreign.node(0).addr(), ours.node(0).addr()];
        let stack = TestStack::new(&network, addrs, |builder| builder.sequential());
        let mut open = stack.open().expecting_cluster("ours".into());
        if identified {
            open = open.expecting_host(ours.node(0).host_id().unwrap());
        }
        let established = stack.connect(open).await.unwrap();
        assert_eq!((established.addr, &*established.connection.cluster_name), (addrs[1], "ours"));
        let failed = &established.failed[0].error;
        assert_eq!((failed.stage().as_str(), failed.scope()), ("cluster", Scope::Candidate));
        let wrong = failed.find::<WrongCluster>().unwrap();
        assert_eq!((&*wrong.expected, &*wrong.actual), ("ours", "theirs"));
        let text = wrong.to_string();
        assert!(text.contains("\"ours\"") && text.contains("\"theirs\""), "{text}");
        // Neither read nor registered.
        assert_eq!(foreign.node(0).connections()[0].stages(), [Stage::Options, Stage::Startup, Stage::Cluster]);
    }
}

/// connect 57: a mismatch at every address is of the class that forces the node down.
#[tokio::test(start_paused = true)]
async fn foreign_at_every_address() {
    let network = Network::new();
    let foreign = Cluster::builder().network(&network).name("theirs").nodes(3).start().await.unwrap();
    let stack = TestStack::new(&network, foreign.addrs(), |builder| builder);
    let error = stack.connect(stack.open().expecting_cluster("ours".into())).await.unwrap_err();
    assert_eq!((error.class(), error.failed().len()), (Class::ForcesDown, 3));
}

/// connect 63: an address that is refused after its handshake latches nothing.
/// connect D7: only the accepted connection does.
/// connect 151: not the name of its cluster, nor its version.
/// scenario H4: no imprint of another cluster's name and lower version, and a later node of ours is accepted.
/// reviewer 37: shared facts are written on acceptance only.
#[tokio::test(start_paused = true)]
async fn a_rejected_candidate_latches_nothing() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let foreign = Cluster::builder().network(&network).name("theirs").versions([3]);
        let foreign = foreign.node(0, |facts| facts.host_id = None).start().await.unwrap();
        let ours = Cluster::builder().network(&network).name("ours").nodes(3).start().await.unwrap();
        let addrs = [foreign.node(0).addr(), ours.node(0).addr()];
        let session = mode.of(named(&network, addrs)).build().await.unwrap();
        ours.wait_for(SOON, |seen| seen.of(ours.node(2).addr()).any(|one| one.count(Stage::Cluster) == 1))
            .await
            .unwrap();
        let later = ours.node(2).connections();
        assert_eq!((later[0].received_bytes()[0], later[0].is_open()), (5, true));
        drop(session);
    }
}

/// connect 62: the session's later connections are held to the name that the first one latched.
#[tokio::test(start_paused = true)]
async fn the_session_latches_the_name() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).node(1, |facts| facts.cluster_name = "theirs".into());
    let cluster = cluster.start().await.unwrap();
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    let node = cluster.node(1);
    node.wait_for(SOON, |seen| seen.first().is_some_and(|one| !one.is_open())).await.unwrap();
    assert_eq!(node.connections()[0].stages().last(), Some(&Stage::Cluster));
    drop(session);
}

/// connect D7: a connect that was cancelled latched nothing either: the next one starts afresh.
#[tokio::test(start_paused = true)]
async fn a_cancelled_connect_latches_nothing() {
    let network = Network::new();
    let old = Cluster::builder().network(&network).name("theirs").versions([3]).start().await.unwrap();
    let ours = Cluster::builder().network(&network).name("ours").start().await.unwrap();
    let stack = TestStack::new(&network, [], |builder| builder);
    old.node(0).fault(Stage::Identity, Fault::Silence);
    let connect = stack.connect(stack.open_at(old.node(0).addr()));
    assert!(tokio::time::timeout(Duration::from_secs(1), connect).await.is_err());
    let established = stack.connect(stack.open_at(ours.node(0).addr())).await.unwrap();
    assert_eq!(established.connection.cluster_name, "ours");
    assert_eq!(established.connection.dialect.version.as_u8(), 5);
}

/// connect 51: told beforehand which cluster is meant, the first connect passes over a foreign one already.
#[tokio::test(start_paused = true)]
async fn the_first_connect_may_expect_a_cluster() {
    let network = Network::new();
    let foreign = Cluster::builder().network(&network).name("theirs").start().await.unwrap();
    let ours = Cluster::builder().network(&network).name("ours").start().await.unwrap();
    let addrs = [foreign.node(0).addr(), ours.node(0).addr()];
    let session = named(&network, addrs).sequential().expected_cluster("ours").build().await.unwrap();
    assert_eq!(foreign.node(0).connections().len(), 1);
    ours.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    drop(session);

    let error = named(&network, addrs).sequential().expected_cluster("nobody's").build().await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("\"theirs\"") && text.contains("\"ours\"") && text.contains("nobody's"), "{text}");
}
