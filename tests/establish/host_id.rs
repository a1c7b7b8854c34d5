//! The host id that a server tells in SUPPORTED, compared with the expected one before anything costs.

use messina::{
    config::HostIdCheck,
    establish::WrongHost,
    testkit::{Cluster, Network, Scylla, Stage, rows},
};
use uuid::Uuid;

use crate::support::{Events, SOON, TestStack, all_closed, named};

const OTHER: Uuid = Uuid::from_u128(0x0123_4567);

async fn scylla(network: &Network) -> Cluster {
    Cluster::builder().network(network).nodes(2).scylla(Scylla::new(2)).start().await.unwrap()
}

/// connect D20: reject, the default: closed after OPTIONS, before it costs the server anything.
#[tokio::test(start_paused = true)]
async fn reject() {
    let network = Network::new();
    let cluster = scylla(&network).await;
    let stack = TestStack::new(&network, cluster.addrs(), |builder| builder.sequential());
    // The second address is the node that is meant.
    let expected = cluster.node(1).host_id().unwrap();
    let established = stack.connect(stack.open().expecting_host(expected)).await.unwrap();
    assert_eq!(established.addr, cluster.node(1).addr());
    let failed = &established.failed[0].error;
    let actual = cluster.node(0).host_id().unwrap();
    assert_eq!(failed.find::<WrongHost>(), Some(&WrongHost::Other { expected, actual }));
    assert_eq!(failed.stage().as_str(), "options");
    assert_eq!(cluster.node(0).connections()[0].stages(), [Stage::Options]);
    for id in [expected, actual] {
        assert!(failed.cause().to_string().contains(&id.to_string()), "{}", failed.cause());
    }
}

/// connect D20: warn: used all the same, and the log says so.
/// connect D20: off: used, and nothing is said.
#[tokio::test(start_paused = true)]
async fn warn_and_off() {
    for (check, warnings) in [(HostIdCheck::Warn, 1), (HostIdCheck::Off, 0)] {
        let events = Events::watch();
        let network = Network::new();
        let cluster = scylla(&network).await;
        let stack = TestStack::new(&network, cluster.addrs(), |builder| builder.host_id_check(check));
        let established = stack.connect(stack.open().expecting_host(OTHER)).await.unwrap();
        assert_eq!(established.addr, cluster.node(0).addr());
        let told = events.with(&OTHER.to_string());
        assert_eq!(told.len(), warnings, "{told:?}");
        assert_eq!(events.warnings().len(), warnings);
        drop(established);
    }
}

/// connect D20: where the server does not tell its id nothing is compared, and a contact point expects nobody.
#[tokio::test(start_paused = true)]
async fn nothing_to_compare() {
    let network = Network::new();
    let cassandra = Cluster::builder().network(&network).start().await.unwrap();
    let stack = TestStack::new(&network, cassandra.addrs(), |builder| builder);
    stack.connect(stack.open().expecting_host(OTHER)).await.unwrap();

    let told_nothing = Scylla::new(0).with("SCYLLA_HOST_ID", "not an id");
    let cluster = Cluster::builder().network(&network).node(0, |facts| facts.host_id = None).scylla(told_nothing);
    let cluster = cluster.start().await.unwrap();
    let stack = TestStack::new(&network, cluster.addrs(), |builder| builder);
    stack.connect(stack.open().expecting_host(OTHER)).await.unwrap();

    let cluster = scylla(&network).await;
    let stack = TestStack::new(&network, cluster.addrs(), |builder| builder);
    assert!(stack.connect(stack.open()).await.unwrap().connection.node.is_some());
}

/// scenario S29: another node answers at a node's address: seen before the connection is used, without a keyspace, and
/// the policy is honoured.
#[tokio::test(start_paused = true)]
async fn another_node_answers_a_pool() {
    for (check, used) in [(HostIdCheck::Reject, false), (HostIdCheck::Warn, true), (HostIdCheck::Off, true)] {
        let events = Events::watch();
        let network = Network::new();
        let cluster = scylla(&network).await;
        let ip = cluster.node(1).addr().ip();
        cluster
            .prime("SELECT * FROM system.peers", rows!["peer inet, host_id uuid, rpc_address inet"; (ip, OTHER, ip)]);
        let session = named(&network, [cluster.node(0).addr()]).host_id_check(check).build().await.unwrap();
        let node = cluster.node(1);
        node.wait_for(SOON, |seen| match seen.first() {
            Some(connection) if used => connection.count(Stage::Cluster) == 1,
            Some(connection) => !connection.is_open(),
            None => false,
        })
        .await
        .unwrap();
        let stages = node.connections()[0].stages();
        let expected: &[_] = if used { &[Stage::Options, Stage::Startup, Stage::Cluster] } else { &[Stage::Options] };
        assert_eq!(stages, expected);
        let warned = check != HostIdCheck::Off;
        let told = events.warnings();
        assert_eq!(told.iter().any(|event| event.message.contains(&OTHER.to_string())), warned, "{told:?}");
        drop(session);
        all_closed(cluster.log()).await;
    }
}
