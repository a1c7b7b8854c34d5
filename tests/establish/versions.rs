//! Which protocol version a connection speaks, and how it is found.

use std::net::SocketAddr;

use messina::{
    establish::VersionRefused,
    layers::{Class, ConnectError},
    protocol::ProtocolVersion::{V3, V4, V5},
    testkit::{Answer, Cluster, ClusterBuilder, Fault, Network, Stage},
};

use crate::support::{Mode, TestStack, all_closed, named, stages, timed};

const UNREADABLE: &str = "Invalid or unsupported protocol version";

/// A node, and a stack whose `db.test` is that node.
async fn one(change: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> (Network, Cluster, TestStack) {
    let network = Network::new();
    let cluster = change(Cluster::builder().network(&network)).start().await.unwrap();
    let stack = TestStack::new(&network, [cluster.node(0).addr()], |builder| builder.sequential());
    (network, cluster, stack)
}

/// The version bytes with which each connection began, and those of all its bare envelopes.
fn first_bytes(cluster: &Cluster) -> Vec<u8> {
    cluster.log().connections().iter().map(|connection| connection.received_bytes()[0]).collect()
}

fn refused(error: &ConnectError, index: usize) -> &VersionRefused {
    error.failed()[index].error.find().unwrap()
}

/// connect D18: OPTIONS goes out as v4; the highest common listed version is spoken on the same connection.
#[tokio::test(start_paused = true)]
async fn listed_versions() {
    for (listed, spoken) in [(vec![3, 4, 5], V5), (vec![3, 4], V4), (vec![4], V4), (vec![4, 5], V5)] {
        let (network, cluster, stack) = one(|builder| builder.versions(listed)).await;
        let established = stack.connect(stack.open()).await.unwrap();
        assert_eq!(established.connection.dialect.version, spoken);
        assert_eq!(network.dialled().len(), 1);
        let bytes = cluster.log().connections()[0].received_bytes().to_vec();
        // OPTIONS is nine bytes; STARTUP follows.
        assert_eq!((bytes[0], bytes[9]), (4, spoken.as_u8()));
    }
}

/// connect D18: only a beta beyond what is spoken here is listed: that does not count.
#[tokio::test(start_paused = true)]
async fn listed_beta() {
    let listed = |entries: &[&str]| {
        let mut body = vec![0, 1, 0, 17];
        body.extend(b"PROTOCOL_VERSIONS");
        body.extend(u16::try_from(entries.len()).unwrap().to_be_bytes());
        for entry in entries {
            body.extend(u16::try_from(entry.len()).unwrap().to_be_bytes());
            body.extend(entry.bytes());
        }
        Fault::Answer(Answer::raw(0x06, body))
    };
    let (_network, cluster, stack) = one(|builder| builder).await;
    cluster.node(0).fault(Stage::Options, listed(&["4/v4", "5/v5-beta", "6/v6-beta"]));
    let established = stack.connect(stack.open()).await.unwrap();
    assert_eq!(established.connection.dialect.version, V4);

    cluster.node(0).fault(Stage::Options, listed(&["6/v6", "7/v7-beta"]));
    let error = stack.connect(stack.open()).await.unwrap_err();
    assert_eq!(error.failed()[0].error.stage().as_str(), "options");
    let refused = refused(&error, 0);
    assert!(refused.to_string().contains("6/v6, 7/v7-beta"), "{refused}");
}

/// connect D18: SUPPORTED lists no versions: v4.
#[tokio::test(start_paused = true)]
async fn no_list() {
    let (network, _cluster, stack) = one(|builder| builder.without_version_list()).await;
    let established = stack.connect(stack.open()).await.unwrap();
    assert_eq!(established.connection.dialect.version, V4);
    assert_eq!(network.dialled().len(), 1);
}

/// connect D18: v4 is refused with a readable range: its highest, on a new connection to the same address.
#[tokio::test(start_paused = true)]
async fn readable_range() {
    for (spoken, expected) in [(5, V5), (3, V3)] {
        let (network, cluster, stack) = one(|builder| builder.versions([spoken]).without_version_list()).await;
        let established = stack.connect(stack.open()).await.unwrap();
        assert_eq!(established.connection.dialect.version, expected);
        assert_eq!(network.dialled(), [cluster.node(0).addr(); 2]);
        assert_eq!(first_bytes(&cluster), [4, spoken]);
        assert!(established.failed.is_empty(), "a version is not an address");
    }
    // The older text, which names both ends.
    let (_network, cluster, stack) = one(|builder| builder).await;
    let text = "Invalid or unsupported protocol version (4); the lowest supported version is 2 and the greatest is 3";
    cluster.node(0).fault(Stage::Options, Fault::error(0x000A, text).times(1));
    let established = stack.connect(stack.open()).await.unwrap();
    assert_eq!(established.connection.dialect.version, V3);
    assert_eq!(first_bytes(&cluster), [4, 3]);
}

/// connect D18: v4 is refused with an unreadable range: v5, then v3, each on a new connection.
#[tokio::test(start_paused = true)]
async fn unreadable_range() {
    let (network, cluster, stack) = one(|builder| builder).await;
    let node = cluster.node(0);
    for (refusals, expected) in [(1, Some(V5)), (2, Some(V3)), (3, None)] {
        let before = network.dialled().len();
        node.fault(Stage::Options, Fault::error(0x000A, UNREADABLE).times(refusals));
        let result = stack.connect(stack.open()).await;
        let bytes = first_bytes(&cluster).split_off(before);
        match expected {
            Some(version) => {
                assert_eq!(result.unwrap().connection.dialect.version, version);
                assert_eq!(bytes, [4, 5, 3][..=refusals]);
            }
            None => {
                assert_eq!(refused(&result.unwrap_err(), 0).tried, [V4, V5, V3]);
                assert_eq!(bytes, [4, 5, 3]);
            }
        }
    }
    // Servers older than the code for protocol errors say "server error".
    node.fault(Stage::Options, Fault::error(0x0000, UNREADABLE).times(1));
    assert_eq!(stack.connect(stack.open()).await.unwrap().connection.dialect.version, V5);
    drop(stack);
    all_closed(cluster.log()).await;
}

/// connect D18: a version that was listed and is refused all the same: down the ladder, none left out.
#[tokio::test(start_paused = true)]
async fn listed_but_refused() {
    let (_network, cluster, stack) = one(|builder| builder).await;
    cluster.node(0).fault(Stage::Startup, Fault::error(0x000A, UNREADABLE).times(1));
    let established = stack.connect(stack.open()).await.unwrap();
    assert_eq!(established.connection.dialect.version, V4);
    assert_eq!(first_bytes(&cluster), [4, 4]);

    cluster.node(0).fault(Stage::Startup, Fault::error(0x000A, UNREADABLE));
    let error = stack.connect(stack.open()).await.unwrap_err();
    assert_eq!(refused(&error, 0).tried, [V5, V4, V3]);
}

/// connect D18: a configured version is the only one tried.
/// connect 44: there is no ladder for it: a refusal fails the candidate at once.
#[tokio::test(start_paused = true)]
async fn configured_version() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).versions([3, 4]).start().await.unwrap();
    for (version, works) in [(V3, true), (V4, true), (V5, false)] {
        let before = network.dialled().len();
        let stack = TestStack::new(&network, [cluster.node(0).addr()], |builder| builder.protocol_version(version));
        let result = stack.connect(stack.open()).await;
        assert_eq!(first_bytes(&cluster).split_off(before), [version.as_u8()]);
        match result {
            Ok(established) if works => assert_eq!(established.connection.dialect.version, version),
            Err(error) if !works => assert_eq!(refused(&error, 0).tried, [version]),
            other => panic!("{version}: {other:?}"),
        }
    }
}

/// connect D18: a latched version is the only one tried; a configured one is not overridden by it.
/// connect 44: rejection of the latched version fails the candidate at once.
#[tokio::test(start_paused = true)]
async fn latched_version() {
    let (network, cluster, stack) = one(|builder| builder.versions([3, 5])).await;
    let error = stack.connect(stack.open().with_version(V4)).await.unwrap_err();
    assert_eq!(refused(&error, 0).tried, [V4]);
    assert_eq!(network.dialled().len(), 1);
    let established = stack.connect(stack.open().with_version(V3)).await.unwrap();
    assert_eq!(established.connection.dialect.version, V3, "though v5 is listed");
    assert_eq!(first_bytes(&cluster), [4, 3]);

    let configured = TestStack::new(&network, [cluster.node(0).addr()], |builder| builder.protocol_version(V5));
    let established = configured.connect(configured.open().with_version(V3)).await.unwrap();
    assert_eq!(established.connection.dialect.version, V5);
}

/// connect D18: the session latches what its first connection settled: later ones go straight to it.
/// connect 62: the version is latched by the accepted connection.
#[tokio::test(start_paused = true)]
async fn session_latches_the_version() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).versions([5]).start().await.unwrap();
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    cluster.wait_for(crate::support::SOON, |seen| seen.open() == 3).await.unwrap();
    // Two for the control connection, then one for each node.
    assert_eq!(first_bytes(&cluster), [4, 5, 5, 5]);
    drop(session);
}

/// Three servers that refuse every version in a way that names none, then a good one.
async fn old_and_good(network: &Network, old: usize) -> (Cluster, Vec<SocketAddr>) {
    let mut builder = Cluster::builder().network(network).nodes(old + 1);
    for index in 0..old {
        let fault = Fault::error(0x000A, UNREADABLE);
        builder = builder.node(index, |facts| facts.listed = false).fault(index, Stage::Options, fault);
    }
    let cluster = builder.start().await.unwrap();
    let addrs = cluster.addrs();
    (cluster, addrs)
}

/// connect 42: a version rejection first goes down the ladder on the same address, then to the next one.
/// connect 47: by a contact point it is a failure of one address.
/// connect 116: a node of another version is passed over.
/// scenario S12: the unidentified target advances.
/// reviewer 30: final only for an identified node.
#[tokio::test(start_paused = true)]
async fn unidentified_advances() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let (_cluster, addrs) = old_and_good(&network, 1).await;
        let (result, _) = timed(mode.of(named(&network, addrs.clone()))).await;
        result.unwrap();
        assert_eq!(network.dialled()[..4], [addrs[0], addrs[0], addrs[0], addrs[1]]);
    }
}

/// connect 43: negotiation history is per address: two old servers, two histories of equal length.
/// reviewer 35: the history of one address does not leak into another's error.
#[tokio::test(start_paused = true)]
async fn histories_are_per_address() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let (_cluster, addrs) = old_and_good(&network, 2).await;
        let (result, _) = timed(mode.of(named(&network, addrs[..2].to_vec()))).await;
        let error = result.unwrap_err();
        assert_eq!(stages(&error), ["options", "options"]);
        for attempt in crate::support::attempts(&error) {
            let refused: &VersionRefused = attempt.error.find().unwrap();
            assert_eq!((refused.asked, &refused.tried[..]), (V3, &[V4, V5, V3][..]));
            assert_eq!(refused.to_string().matches("v5").count(), 1, "{refused}");
        }
        assert_eq!(error.contact_points()[0].error.class(), Class::ForcesDown);
    }
}

/// connect 46: an identified node's refusal ends the connect: every address of it is that node.
/// connect 55: a terminal failure still carries the earlier candidates' causes.
/// scenario S12: the identified target stops after one ladder.
#[tokio::test(start_paused = true)]
async fn identified_stops() {
    let network = Network::new();
    let (cluster, addrs) = old_and_good(&network, 1).await;
    let dead = network.refused();
    let all = [dead, addrs[0], addrs[1]];
    let stack = TestStack::new(&network, all, |builder| builder.sequential());
    let host_id = cluster.node(0).host_id().unwrap();
    let error = stack.connect(stack.open().expecting_host(host_id)).await.unwrap_err();

    assert_eq!(network.dialled(), [dead, addrs[0], addrs[0], addrs[0]]);
    assert_eq!((error.class(), error.untried()), (Class::Terminal, 1));
    let stages: Vec<_> = error.failed().iter().map(|failed| failed.error.stage().as_str()).collect();
    assert_eq!(stages, ["tcp", "options"]);
    assert_eq!(error.surfaced().unwrap().addr, addrs[0]);
    assert!(matches!(error, ConnectError::Rejected { .. }));
}

/// connect 48: whether a target is identified is what it was when the connect began, in each of its attempts.
#[tokio::test(start_paused = true)]
async fn identified_is_a_fact_of_the_target() {
    let network = Network::new();
    let (_cluster, addrs) = old_and_good(&network, 1).await;
    let stack = TestStack::new(&network, addrs.clone(), |builder| builder.sequential());
    let unidentified = stack.connect(stack.open()).await.unwrap();
    assert_eq!(unidentified.addr, addrs[1]);
    let host_id = unidentified.connection.node.unwrap().host_id;
    // The same name, identified: the first address already ends it.
    let error = stack.connect(stack.open().expecting_host(host_id)).await.unwrap_err();
    assert_eq!((error.failed().len(), error.untried()), (1, 1));
}
