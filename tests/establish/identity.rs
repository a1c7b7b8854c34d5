//! Who answered: read once, inside the attempt, before anything registers.

use std::{
    future::{pending, ready},
    time::Duration,
};

use messina::{
    establish::{Accepted, BoxAttempt, IdentityRequest, SystemLocal},
    layers::error::BoxError,
    protocol::response,
    testkit::{Cluster, ClusterBuilder, Fault, Network, Stage, Wrong, rows},
    topology::NodeInfo,
};
use tower::{ServiceExt, layer::layer_fn, service_fn};

use crate::support::{LIMIT, Mode, SOON, TestStack, all_closed, attempts, named, stages, timed};

/// Two nodes behind one name, of which the first is left out of the list that the second gives.
async fn two(network: &Network, change: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> Cluster {
    let builder = Cluster::builder().network(network).nodes(2).node(0, |facts| facts.listed = false);
    change(builder).start().await.unwrap()
}

/// connect 80: one contact point, its first address unidentifiable, its second healthy: the session opens.
/// connect 75: a node that reports no host id is rejected.
/// connect 116: a node that cannot identify itself is passed over.
/// connect 87: the rejected address never sees REGISTER.
/// scenario S15: the candidate is closed, the next is tried.
/// reviewer 39: one bad address does not write the name off.
/// reviewer 46: a node without host id is rejected.
#[tokio::test(start_paused = true)]
async fn no_host_id_on_the_first_address() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let cluster = two(&network, |builder| builder.node(0, |facts| facts.host_id = None)).await;
        let session = mode.of(named(&network, cluster.addrs())).build().await.unwrap();
        cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
        let (bad, good) = (cluster.node(0).connections(), cluster.node(1).connections());
        assert_eq!(bad.len(), 1);
        assert_eq!(bad[0].stages(), [Stage::Options, Stage::Startup, Stage::Cluster, Stage::Identity]);
        assert!(!bad[0].is_open());
        let control = &good[0].stages()[..5];
        assert_eq!(control, [Stage::Options, Stage::Startup, Stage::Cluster, Stage::Identity, Stage::Register]);
        drop(session);
    }
}

/// connect 141: an identity rejection says which check failed, and at which address.
/// connect 84: all failed addresses of a name stand under one entry.
#[tokio::test(start_paused = true)]
async fn the_rejection_names_check_and_address() {
    let network = Network::new();
    let cluster = two(&network, |builder| {
        builder.node(0, |facts| facts.host_id = None).fault(
            1,
            Stage::Identity,
            Fault::Answer(rows!["host_id text"; ("me",)].into()),
        )
    })
    .await;
    let error = named(&network, cluster.addrs()).build().await.unwrap_err();
    assert_eq!(stages(&error), ["identity", "identity"]);
    let line = error.to_string();
    for part in
        ["10.0.0.1:9042 identity", "system.local.host_id: the node reports no host id", "10.0.0.2:9042 identity"]
    {
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
    assert!(attempts(&error)[0].error.find::<messina::topology::RowError>().is_some());
    all_closed(cluster.log()).await;
}

/// connect 79: one read of `system.local` per connection to a contact point.
/// connect 76: what it read is used without a second read.
#[tokio::test(start_paused = true)]
async fn read_once() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(3).start().await.unwrap();
    let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 4 && seen.count(Stage::Peers) == 1).await.unwrap();
    assert_eq!(cluster.log().now().count(Stage::Identity), 1);
    let requests = cluster.node(0).connections()[0].clone();
    let read = requests.requests().find(|(stage, _)| *stage == Stage::Identity);
    assert_eq!(read.unwrap().1, "SELECT * FROM system.local WHERE key='local'");
    drop(session);
}

/// connect 77: a stack that returns no identity: it is read directly.
/// connect D27: once.
#[tokio::test(start_paused = true)]
async fn a_stack_without_identity() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
    let forget = layer_fn(|attempt: BoxAttempt| {
        attempt.map_response(|mut accepted: Accepted| {
            accepted.node = None;
            accepted
        })
    });
    let session = named(&network, [cluster.node(0).addr()]).candidate_layer(forget).build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 3).await.unwrap();
    // Inside the attempt, and again by the session.
    assert_eq!(cluster.node(0).count(Stage::Identity), 2);
    drop(session);
}

/// connect 83: a literal contact point gets no further tries.
#[tokio::test(start_paused = true)]
async fn a_literal_is_tried_once() {
    let network = Network::new();
    let cluster = two(&network, |builder| builder.node(0, |facts| facts.host_id = None)).await;
    let addr = cluster.node(0).addr();
    let builder = messina::Session::builder().contact_point(addr.to_string()).connector(network.connector());
    let error = builder.build().await.unwrap_err();
    assert_eq!((network.dialled(), stages(&error)), (vec![addr], vec!["identity"]));
}

/// connect 83: an identified node at one address gets no further tries.
/// connect 88: for an identified node REGISTER follows the handshake directly.
#[tokio::test(start_paused = true)]
async fn an_identified_node_is_not_read() {
    let network = Network::new();
    let cluster = two(&network, |builder| builder).await;
    let stack = TestStack::new(&network, [cluster.node(0).addr()], |builder| builder);
    let (open, _events) = stack.control(&["STATUS_CHANGE"]);
    let host_id = cluster.node(0).host_id().unwrap();
    let established = stack.connect(open.expecting_host(host_id)).await.unwrap();
    assert!(established.connection.node.is_none());
    let stages = cluster.node(0).connections()[0].stages();
    assert_eq!(stages, [Stage::Options, Stage::Startup, Stage::Cluster, Stage::Register]);

    cluster.node(0).fault(Stage::Register, Fault::Close);
    let (open, _events) = stack.control(&["STATUS_CHANGE"]);
    stack.connect(open.expecting_host(host_id)).await.unwrap_err();
    assert_eq!(network.dialled().len(), 2);
}

/// What a service of the application's says of the first address; the second is always good.
async fn with_identity<S>(identity: S, limit: Duration) -> (Network, Cluster, Duration)
where
    S: tower::Service<IdentityRequest, Response = NodeInfo, Error = BoxError> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    let network = Network::new();
    let cluster = two(&network, |builder| builder).await;
    let builder = named(&network, cluster.addrs()).identity(identity).init_timeout(limit).sequential();
    let (session, took) = timed(builder).await;
    session.unwrap();
    let first = cluster.node(0).connections();
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].count(Stage::Register), 0);
    all_closed(cluster.log()).await;
    (network, cluster, took)
}

/// connect 70: the identity read is a service of the application's if it wants, with the limit of a step.
/// connect 71: it is asked after the handshake, before REGISTER, while the other addresses are still held.
/// connect 72: it rejects: closed, and the next address is tried.
/// connect 53: a rejection is one address's.
#[tokio::test(start_paused = true)]
async fn the_service_rejects() {
    let own = service_fn(|request: IdentityRequest| async move {
        if request.connection.peer().ip().to_string() == "10.0.0.1" {
            return Err("not one of ours".into());
        }
        SystemLocal::new().oneshot(request).await
    });
    let (_, cluster, took) = with_identity(own, LIMIT).await;
    assert_eq!(took, Duration::ZERO);
    assert_eq!(cluster.node(0).connections()[0].stages(), [Stage::Options, Stage::Startup, Stage::Cluster]);
}

/// connect 72: it panics, before it returns a future or in it: closed, and the next address is tried.
/// connect 53: a panic is one address's.
#[tokio::test(start_paused = true)]
async fn the_service_panics() {
    let own = service_fn(|request: IdentityRequest| {
        assert!(request.connection.peer().ip().to_string() != "10.0.0.1", "not this one");
        SystemLocal::new().oneshot(request)
    });
    with_identity(own, LIMIT).await;
    let own = service_fn(|request: IdentityRequest| async move {
        assert!(request.connection.peer().ip().to_string() != "10.0.0.1", "not this one");
        SystemLocal::new().oneshot(request).await
    });
    with_identity(own, LIMIT).await;
}

/// connect 72: it takes too long: closed at the limit, and the next address is tried.
/// connect 53: a timeout is one address's.
/// scenario S30: a silent identity read is bounded, whatever else is switched off.
/// reviewer 44: it has a limit of its own.
#[tokio::test(start_paused = true)]
async fn the_service_hangs() {
    let own = service_fn(|request: IdentityRequest| async move {
        if request.connection.peer().ip().to_string() == "10.0.0.1" {
            pending::<()>().await;
        }
        SystemLocal::new().oneshot(request).await
    });
    let limit = Duration::from_millis(300);
    let (_, _, took) = with_identity(own, limit).await;
    assert_eq!(took, limit);
}

/// connect 70: the service may ask on the connection; who it names is who the session takes it for.
#[tokio::test(start_paused = true)]
async fn the_service_asks_something_else() {
    let network = Network::new();
    let cluster = two(&network, |builder| builder).await;
    let own = service_fn(|request: IdentityRequest| async move {
        let query = messina::protocol::request::Query::new("SELECT id FROM routes", Default::default());
        let envelope = request.connection.try_send(&query)?.await?;
        response::parse(envelope, request.connection.dialect(), None)?;
        Ok::<_, BoxError>(NodeInfo::new(uuid::Uuid::from_u128(7)))
    });
    cluster.prime("SELECT id FROM routes", rows!["id int"; (1,)]);
    let session = named(&network, cluster.addrs()).identity(own).build().await.unwrap();
    assert_eq!(cluster.node(0).count(Stage::Identity), 0);
    assert_eq!(cluster.node(0).count(Stage::Query), 1);
    drop(session);
}

/// connect 76: identity comes with the connection that it was read on.
/// connect D8: it is part of what an attempt returns, so two connects of one stack cannot mix theirs up.
/// reviewer 45: overlapping connects keep their identities apart.
#[tokio::test(start_paused = true)]
async fn overlapping_connects_do_not_mix() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
    let stack = TestStack::new(&network, cluster.addrs(), |builder| builder);
    for slow in [0, 1] {
        cluster.node(slow).fault(Stage::Identity, Fault::Delay(Duration::from_secs(1)));
        let open = |index: usize| stack.open_at(cluster.node(index).addr());
        let (a, b) = tokio::join!(stack.connect(open(0)), stack.connect(open(1)));
        for (index, established) in [a, b].into_iter().enumerate() {
            let accepted = established.unwrap().connection;
            assert_eq!(accepted.node.unwrap().host_id, cluster.node(index).host_id().unwrap());
            assert_eq!(accepted.connection.peer(), cluster.node(index).addr());
        }
        cluster.node(slow).clear_faults();
    }
}

/// reviewer 43: a late answer of an address that timed out has nowhere to go.
#[tokio::test(start_paused = true)]
async fn a_stray_answer_changes_nothing() {
    let network = Network::new();
    let late = Fault::Delay(LIMIT + Duration::from_millis(1));
    let cluster = two(&network, |builder| builder.fault(0, Stage::Identity, late)).await;
    let stack = TestStack::new(&network, cluster.addrs(), |builder| builder.sequential());
    let established = stack.connect(stack.open()).await.unwrap();
    tokio::time::sleep(LIMIT).await;
    assert_eq!(established.connection.node.unwrap().host_id, cluster.node(1).host_id().unwrap());
    assert!(established.connection.connection.error().is_none());
    assert!(!cluster.node(0).connections()[0].is_open());

    // Nor does a session believe it, whose first connect it was.
    let session = named(&network, cluster.addrs()).sequential().build().await.unwrap();
    tokio::time::sleep(LIMIT).await;
    let told = session.topology().told().unwrap();
    assert_eq!((Some(told.host_id), told.addr), (cluster.node(1).host_id(), cluster.node(1).addr()));
    drop(session);
}

/// connect 82: the connection closes in the middle of the answer: a failure of that address.
#[tokio::test(start_paused = true)]
async fn closed_in_the_middle() {
    for fault in [Fault::Cut(20), Fault::Cut(200), Fault::Reset, Fault::Close, Fault::Wrong(Wrong::Crc)] {
        let network = Network::new();
        let cluster = two(&network, |builder| builder.fault(0, Stage::Identity, fault)).await;
        let session = named(&network, cluster.addrs()).sequential().build().await.unwrap();
        assert_eq!(network.dialled()[..2], cluster.addrs());
        drop(session);
    }
}

/// connect D27: a service that answers without asking is enough.
#[tokio::test(start_paused = true)]
async fn identity_without_a_read() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let host_id = cluster.node(0).host_id().unwrap();
    let own = service_fn(move |_: IdentityRequest| ready(Ok::<_, BoxError>(NodeInfo::new(host_id))));
    let session = named(&network, cluster.addrs()).identity(own).build().await.unwrap();
    assert_eq!(cluster.log().now().count(Stage::Identity), 0);
    drop(session);
}
