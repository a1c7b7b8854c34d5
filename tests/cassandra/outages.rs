//! Requests while nodes are out: too few replicas, a silent one, and one that dies with many requests on it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use messina::error::Kind;
use messina::policy::{BalancingPolicy, ConstantSpeculation, DowngradingRetry, NodeChoice};
use messina::session::{ErrorDetail, OwnedRow, ServerError};
use messina::topology::NodeIndex;
use messina::value::Counter;
use messina::{Consistency, Profile, Session, Statement};
use tokio::time::Instant;

use crate::support::case::{Case, Clusters, case};
use crate::support::cluster::Cluster;
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

pub(crate) fn cases() -> Vec<Case> {
    let minutes = Duration::from_secs(240);
    let cases = vec![
        case("outages::too_few_replicas", [Spec::three()], too_few_replicas),
        case("outages::a_silent_node", [Spec::three()], a_silent_node),
        case("outages::many_in_flight", [Spec::three()], many_in_flight),
    ];
    cases.into_iter().map(|case| case.alone().limit(minutes)).collect()
}

fn addresses(cluster: &Cluster) -> Vec<SocketAddr> {
    cluster.nodes.iter().map(|node| node.native()).collect()
}

async fn session(clusters: &Clusters) -> (Way, Session) {
    let way = Way::through(Mode::Delay, &addresses(&clusters[0])).await;
    let session = way.builder().build().await.unwrap();
    let create =
        "CREATE KEYSPACE IF NOT EXISTS outages WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}";
    session.execute(create, ()).await.unwrap();
    let all = async {
        while session.state().nodes.iter().any(|node| node.connections.is_empty()) {
            session.execute("SELECT key FROM system.local", ()).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all).await.expect("every node is connected");
    (way, session)
}

async fn back(clusters: Clusters, session: Session) {
    session.close().await;
    clusters[0].beside(Cluster::settled).await.unwrap();
    clusters.whole();
}

/// cassandra: with one of three replicas alive a majority is refused, on whichever node, and the error says how many
/// live; the downgrading policy reads from the one that does.
async fn too_few_replicas(clusters: Clusters) {
    let (_way, session) = session(&clusters).await;
    session.execute("CREATE TABLE outages.few (id int PRIMARY KEY, v int)", ()).await.unwrap();
    let all = Statement::new("INSERT INTO outages.few (id, v) VALUES (1, 2)").with_consistency(Consistency::All);
    session.execute(all, ()).await.unwrap();
    clusters[0].beside(|cluster| cluster.nodes[1].kill()).await.unwrap();
    clusters[0].beside(|cluster| cluster.nodes[2].kill()).await.unwrap();
    let read = Statement::new("SELECT v FROM outages.few WHERE id = 1");
    // The node has to see it first.
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let error = session.execute(&read, ()).await.map(drop).unwrap_err();
        match &error.find::<ServerError>().map(|error| &error.detail) {
            Some(ErrorDetail::Unavailable { required, alive, .. }) => {
                assert_eq!((error.kind(), *required, *alive), (Kind::Server, 2, 1));
                break;
            }
            _ => assert!(Instant::now() < deadline, "{error}"),
        }
    }
    let (v,) = session
        .execute(read.clone().with_retry_policy(DowngradingRetry), ())
        .await
        .unwrap()
        .one::<(i32,)>()
        .await
        .unwrap();
    assert_eq!(v, 2);
    for node in [1, 2] {
        clusters[0].beside(move |cluster| cluster.nodes[node].restart()).await.unwrap();
    }
    back(clusters, session).await;
}

/// First this node, however silent it is.
#[derive(Debug)]
struct First(SocketAddr);

impl BalancingPolicy for First {
    fn pick(&self, choice: &NodeChoice<'_>) -> Option<NodeIndex> {
        let own = |node: &NodeIndex| choice.node(*node).is_some_and(|info| info.address == Some(self.0));
        let first = if choice.tried().is_empty() { choice.nodes().find(own) } else { None };
        first.or_else(|| choice.built_in())
    }
}

/// cassandra: with speculation no read waits for a silent node, though a policy of the application's sends it there first.
async fn a_silent_node(clusters: Clusters) {
    let (_way, session) = session(&clusters).await;
    let silent = clusters[0].nodes[2].native();
    let profile = Profile::new("hedged")
        .with_balancing_policy(First(silent))
        .with_speculation(ConstantSpeculation::new(2, Duration::from_millis(100)))
        .with_consistency(Consistency::One)
        .with_idempotence(true);
    // What a node knows by itself: it need not ask the silent one.
    let read = Statement::new("SELECT cluster_name FROM system.local").with_profile(&profile);
    let served = session.execute(&read, ()).await.unwrap().served_by();
    assert_eq!(served.addr, silent, "the policy's choice");
    clusters[0].beside(|cluster| cluster.nodes[2].freeze()).await.unwrap();
    for _ in 0..20 {
        let begun = Instant::now();
        let result = session.execute(&read, ()).await.unwrap();
        assert_ne!(result.served_by().addr, silent);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
    clusters[0].beside(|cluster| cluster.nodes[2].thaw()).await.unwrap();
    back(clusters, session).await;
}

/// What a majority has; asked again while the nodes still wait for the dead one.
async fn all<T: OwnedRow>(session: &Session, text: &str) -> Vec<T> {
    let statement = Statement::new(text).with_consistency(Consistency::Quorum).with_timeout(Duration::from_secs(30));
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match session.execute(&statement, ()).await {
            Ok(result) => return result.all().await.unwrap(),
            Err(error) => assert!(error.kind() == Kind::Server && Instant::now() < deadline, "{error}"),
        }
    }
}

/// cassandra: a node is killed with 512 requests in flight: counters, which must not be counted twice, are not; what
/// may be written twice is written; and what the servers have agrees with what the client was told.
async fn many_in_flight(clusters: Clusters) {
    let (_way, session) = session(&clusters).await;
    session.execute("CREATE TABLE outages.counts (id int PRIMARY KEY, n counter)", ()).await.unwrap();
    session.execute("CREATE TABLE outages.rows (part int, id int, PRIMARY KEY (part, id))", ()).await.unwrap();
    let count = session.prepare("UPDATE outages.counts SET n = n + 1 WHERE id = ?").await.unwrap();
    let insert = session.prepare("INSERT INTO outages.rows (part, id) VALUES (1, ?)").await.unwrap();
    let insert = insert.with_idempotence(true);
    let requests: Vec<_> = (0..512)
        .map(|id| {
            let (session, count, insert) = (session.clone(), count.clone(), insert.clone());
            tokio::spawn(async move {
                let result = if id % 2 == 0 {
                    session.execute(&count, (id % 64,)).await
                } else {
                    session.execute(&insert, (id,)).await
                };
                (id, result.map(drop))
            })
        })
        .collect();
    clusters[0].beside(|cluster| cluster.nodes[1].kill()).await.unwrap();
    let (mut counted, mut open, mut written, mut lost) = (0, 0, BTreeSet::new(), 0_usize);
    for request in requests {
        match request.await.unwrap() {
            (id, Ok(())) if id % 2 == 0 => counted += 1,
            (id, Ok(())) => {
                written.insert(id);
            }
            (id, Err(error)) => {
                // What replicas did not confirm in time may have been done, and so may what was lost.
                let known = matches!(error.kind(), Kind::Connection | Kind::Server | Kind::Timeout);
                assert!(id % 2 == 0 && known && error.tries().len() <= 2, "{id}: {error}");
                open += 1;
                lost += usize::from(error.kind() == Kind::Connection);
            }
        }
    }
    assert_eq!(written.len(), 256, "what may be written twice is written");
    let found = all::<(Counter,)>(&session, "SELECT n FROM outages.counts").await;
    let found: i64 = found.into_iter().map(|(Counter(n),)| n).sum();
    assert!((counted..=counted + open).contains(&found), "{found} counted, told {counted}, {open} open");
    let rows = all::<(i32,)>(&session, "SELECT id FROM outages.rows WHERE part = 1").await;
    let rows: BTreeSet<i32> = rows.into_iter().map(|(id,)| id).collect();
    assert_eq!(rows, written);
    // A third of the counters were on it, more or less.
    assert!(lost < 128, "{lost} of 256 counters were on the node that was killed");
    println!("{counted} counted, {open} open, {lost} of them lost with their connection");
    clusters[0].beside(|cluster| cluster.nodes[1].restart()).await.unwrap();
    back(clusters, session).await;
}
