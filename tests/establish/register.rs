//! REGISTER: after identity, narrowed once where a server does not know an event.

use messina::{
    protocol::response::ServerError,
    testkit::{Cluster, Fault, Network, Push, Stage},
};

use crate::support::{Events, LIMIT, Mode, SOON, TestStack, named, stages, timed};

const UNKNOWN: &str = "Invalid value 'SCHEMA_CHANGE' for Type";

async fn two(network: &Network, fault: impl Into<messina::testkit::Rule>) -> Cluster {
    let builder = Cluster::builder().network(network).nodes(2).node(0, |facts| facts.listed = false);
    builder.fault(0, Stage::Register, fault).start().await.unwrap()
}

/// The texts of the REGISTER requests on the first connection of a node.
fn registered(cluster: &Cluster, node: usize) -> Vec<String> {
    let connection = &cluster.node(node).connections()[0];
    let requests = connection.requests().filter(|(stage, _)| *stage == Stage::Register);
    requests.map(|(_, text)| text.to_owned()).collect()
}

/// connect D16: a refusal that names an event type: narrowed and retried once on the same connection, with a warning.
/// scenario S16: narrowed and retried once.
#[tokio::test(start_paused = true)]
async fn narrowed_once() {
    let events = Events::watch();
    let network = Network::new();
    let cluster = two(&network, Fault::error(0x000A, UNKNOWN).times(1)).await;
    let session = named(&network, cluster.addrs()).build().await.unwrap();
    let asked = registered(&cluster, 0);
    assert_eq!(asked, ["TOPOLOGY_CHANGE, STATUS_CHANGE, SCHEMA_CHANGE", "TOPOLOGY_CHANGE, STATUS_CHANGE"]);
    assert_eq!(network.dialled()[0], cluster.node(0).addr());
    assert_eq!(cluster.node(1).count(Stage::Register), 0);
    let warnings = events.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].message.contains("SCHEMA_CHANGE"));
    assert_eq!(warnings[0].field("server"), UNKNOWN);
    drop(session);
}

/// connect D16: what is still registered arrives.
#[tokio::test(start_paused = true)]
async fn events_arrive_after_narrowing() {
    let network = Network::new();
    let cluster = two(&network, Fault::error(0x000A, UNKNOWN).times(1)).await;
    let stack = TestStack::new(&network, [cluster.node(0).addr()], |builder| builder);
    let (open, mut events) = stack.control(&["STATUS_CHANGE", "SCHEMA_CHANGE"]);
    let established = stack.connect(open).await.unwrap();
    assert_eq!(established.connection.events, ["STATUS_CHANGE"]);
    cluster.node(0).push(&Push::status("UP", cluster.node(1).addr()));
    assert!(matches!(events.next().await, Some(messina::connection::Event::Envelope(_))));
}

/// connect D16: refused again: the candidate fails with the clear message.
/// scenario S16: refused again: the next candidate.
#[tokio::test(start_paused = true)]
async fn refused_again() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let cluster = two(&network, Fault::error(0x000A, "Invalid value 'STATUS_CHANGE' for Type")).await;
        let session = mode.of(named(&network, cluster.addrs())).build().await.unwrap();
        // Its second refusal names a type that was not asked for: that too ends the candidate.
        assert_eq!(registered(&cluster, 0).len(), 2);
        assert_eq!(network.dialled()[..2], cluster.addrs());
        drop(session);

        let error = mode.of(named(&network, [cluster.node(0).addr()])).build().await.unwrap_err();
        assert_eq!(stages(&error), ["register"]);
        assert!(error.to_string().contains("Invalid value 'STATUS_CHANGE' for Type"), "{error}");
    }
}

/// connect D16: each refusal names another type: the second one is not narrowed again.
#[tokio::test(start_paused = true)]
async fn two_unknown_types() {
    let network = Network::new();
    let cluster = two(&network, Fault::error(0x000A, UNKNOWN).times(1)).await;
    cluster.node(0).script(
        messina::testkit::Script::new()
            .at(Stage::Register, Fault::error(0x000A, UNKNOWN).times(1))
            .at(Stage::Register, Fault::error(0x000A, "Invalid value 'STATUS_CHANGE' for Type").times(1)),
    );
    let error = named(&network, [cluster.node(0).addr()]).build().await.unwrap_err();
    assert_eq!(registered(&cluster, 0).len(), 2);
    assert!(error.to_string().contains("STATUS_CHANGE"), "{error}");
}

/// connect D16: only a protocol error that names one of our types is narrowed.
#[tokio::test(start_paused = true)]
async fn other_refusals_are_not_narrowed() {
    for (code, text) in [(0x2200, UNKNOWN), (0x0000, UNKNOWN), (0x000A, "Invalid value 'NEWS' for Type")] {
        let network = Network::new();
        let cluster = two(&network, Fault::error(code, text)).await;
        let stack = TestStack::new(&network, [cluster.node(0).addr()], |builder| builder);
        let (open, _events) = stack.control(&["STATUS_CHANGE", "SCHEMA_CHANGE"]);
        let error = stack.connect(open).await.unwrap_err();
        assert_eq!(registered(&cluster, 0).len(), 1);
        assert_eq!(error.failed()[0].error.find::<ServerError>().unwrap().message, text);
    }
}

/// connect 89: a server too old for client routes: the warning says so, and the connection goes on without.
#[tokio::test(start_paused = true)]
async fn too_old_for_client_routes() {
    let events = Events::watch();
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let stack = TestStack::new(&network, cluster.addrs(), |builder| builder);
    // The node refuses the type by itself, as a real server does.
    let (open, _events) = stack.control(&["STATUS_CHANGE", "CLIENT_ROUTES_CHANGE"]);
    let established = stack.connect(open).await.unwrap();
    assert_eq!(established.connection.events, ["STATUS_CHANGE"]);
    assert_eq!(events.with("too old for client routes").len(), 1);

    // Nothing else is left to register for: an empty list is accepted.
    let (open, _events) = stack.control(&["CLIENT_ROUTES_CHANGE"]);
    assert!(stack.connect(open).await.unwrap().connection.events.is_empty());
}

/// connect 87: identity is checked before the connection registers; a rejected candidate never sees REGISTER.
/// connect 86: REGISTER is an ordinary request with the limit of a step.
#[tokio::test(start_paused = true)]
async fn after_identity() {
    let network = Network::new();
    let cluster = two(&network, Fault::Silence).await;
    cluster.node(0).set(|facts| facts.host_id = None);
    let error = named(&network, [cluster.node(0).addr()]).build().await.unwrap_err();
    assert_eq!(stages(&error), ["identity"]);
    assert_eq!(cluster.node(0).count(Stage::Register), 0);

    cluster.node(0).set(|facts| facts.host_id = Some(uuid::Uuid::from_u128(1)));
    let (result, took) = timed(named(&network, [cluster.node(0).addr()])).await;
    assert_eq!((stages(&result.unwrap_err()), took), (vec!["register"], LIMIT));
    let order = [Stage::Options, Stage::Startup, Stage::Cluster, Stage::Identity, Stage::Register];
    assert_eq!(cluster.node(0).connections()[1].stages(), order);
}

/// connect 90: between the handshake and REGISTER the connection is live but not registered: the list of nodes is read
/// after it, so that nothing is missed.
#[tokio::test(start_paused = true)]
async fn a_refresh_follows() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
    let builder = named(&network, [cluster.node(0).addr()]).schema_metadata(false);
    let session = builder.build().await.unwrap();
    let stages = cluster.node(0).connections()[0].stages();
    assert_eq!(stages[4..], [Stage::Register, Stage::Peers]);
    drop(session);
}

/// connect 91: only the control connection registers.
#[tokio::test(start_paused = true)]
async fn nodes_do_not_register() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(3).start().await.unwrap();
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 4).await.unwrap();
    let counts = cluster.nodes().iter().map(|node| node.count(Stage::Register));
    assert_eq!(counts.collect::<Vec<_>>(), [1, 0, 0]);
    drop(session);
}
