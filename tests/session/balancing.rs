//! A balancing policy of the application's own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use messina::error::Kind;
use messina::policy::{BalancingPolicy, NodeChoice};
use messina::testkit::{Answer, NodeFacts, Prime, Scylla, rows};
use messina::topology::{Murmur3, NodeIndex, NodeList, Snapshot, Strategy};
use messina::{Profile, Session, Statement};
use uuid::Uuid;

use crate::support::{Nodes, error, settle, start_with};

const READ: &str = "SELECT v FROM ks.t WHERE id = ?";
pub(crate) const PLAIN: &str = "SELECT v FROM ks.t";

pub(crate) const NONE_OF_TWO: &str = "the balancing policy By gave no node that can be asked; it may give each of the snapshot that is \
                           connected, as 2 of 3 are, and has not been tried";

/// A policy made of a closure.
struct By<F>(F);

impl<F> std::fmt::Debug for By<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("By")
    }
}

impl<F> BalancingPolicy for By<F>
where
    F: Fn(&NodeChoice<'_>) -> Option<NodeIndex> + Send + Sync + 'static,
{
    fn pick(&self, choice: &NodeChoice<'_>) -> Option<NodeIndex> {
        (self.0)(choice)
    }
}

pub(crate) fn by(pick: impl Fn(&NodeChoice<'_>) -> Option<NodeIndex> + Send + Sync + 'static) -> impl BalancingPolicy {
    By(pick)
}

/// The node with this host id alone.
pub(crate) fn only(host_id: Uuid) -> impl BalancingPolicy {
    by(move |choice| choice.snapshot().index(host_id))
}

/// Three nodes that hold all of `ks`, and a session with this policy.
pub(crate) async fn start(policy: impl BalancingPolicy) -> (Nodes, Session) {
    start_changed(policy, |_| {}).await
}

async fn start_changed(
    policy: impl BalancingPolicy,
    change: impl Fn(&mut NodeFacts) + Copy + Send + 'static,
) -> (Nodes, Session) {
    let nodes = |mut builder: messina::testkit::ClusterBuilder| {
        builder = builder.nodes(3).keyspaces(["ks"]);
        for index in 0..3 {
            builder = builder.node(index, change);
        }
        builder
    };
    let (cluster, session) = start_with(nodes, |session| session.balancing_policy(policy)).await;
    cluster.prime(Prime::new(READ).of("ks", "t").params("id int").partition_key([0]), rows!["v text"; ("x",)]);
    cluster.prime(PLAIN, rows!["v text"; ("x",)]);
    (cluster, session)
}

pub(crate) fn ids(cluster: &Nodes) -> [Uuid; 3] {
    [0, 1, 2].map(|index| cluster.node(index).host_id().unwrap())
}

pub(crate) async fn served_by(session: &Session, statement: impl Into<Statement>) -> Uuid {
    session.execute(statement.into(), ()).await.unwrap().served_by().host_id
}

/// design 4: the policy is told what is known of the request, and its choice is where it goes.
#[tokio::test(start_paused = true)]
async fn it_is_told_and_decides() {
    type Seen = (Option<i64>, Option<(String, String)>, Vec<Uuid>, usize);
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let note = Arc::clone(&seen);
    let (_cluster, session) = start(by(move |choice| {
        let host_id = |index: NodeIndex| choice.node(index).unwrap().host_id;
        let table = choice.table().map(|(keyspace, table)| (keyspace.to_owned(), table.to_owned()));
        let replicas: Vec<_> = choice.replicas().map(host_id).collect();
        note.lock().unwrap().push((choice.token().map(|token| token.0), table, replicas, choice.nodes().count()));
        // The replica that its ring names first, whoever's turn it is.
        let sets = choice.snapshot().replica_sets(&Strategy::Simple { replicas: 3 });
        choice.token().map_or_else(|| choice.built_in(), |token| sets.of(token).first().copied())
    }))
    .await;
    let prepared = session.prepare(READ).await.unwrap();
    seen.lock().unwrap().clear();
    let snapshot = session.topology();
    let sets = snapshot.replica_sets(&Strategy::Simple { replicas: 3 });
    for id in 0..20_i32 {
        let served = session.execute(&prepared, (id,)).await.unwrap().served_by().host_id;
        let token = Murmur3::token(&id.to_be_bytes());
        let mut expected: Vec<_> = sets.of(token).iter().map(|at| snapshot.at(*at).unwrap().host_id).collect();
        assert_eq!(served, expected[0]);
        let (told, table, mut replicas, nodes) = seen.lock().unwrap().pop().unwrap();
        assert_eq!((told, table, nodes), (Some(token.0), Some(("ks".to_owned(), "t".to_owned())), 3));
        expected.sort();
        replicas.sort();
        assert_eq!(replicas, expected);
    }
    // Of a text without values nothing is known.
    served_by(&session, PLAIN).await;
    assert_eq!(seen.lock().unwrap().pop(), Some((None, None, Vec::new(), 3)));
}

/// design 4: it is asked again for each further try, and told which nodes were tried; the order is its own.
#[tokio::test(start_paused = true)]
async fn it_is_asked_for_each_try() {
    let (cluster, session) =
        start(by(|choice| choice.snapshot().nodes().len().checked_sub(1 + choice.tried().len()).map(index))).await;
    cluster.prime(PLAIN, Answer::error(0x1002, "bootstrapping"));
    let wrong = error(session.execute(PLAIN, ()).await);
    let tried: Vec<_> = wrong.tries().iter().map(|tried| tried.host_id).collect();
    let mut expected = ids(&cluster);
    expected.sort();
    expected.reverse();
    assert_eq!(tried, expected);
}

/// design 4: what was tried is none of the best, and each node is asked once.
#[tokio::test(start_paused = true)]
async fn the_best_was_not_tried() {
    let (cluster, session) = start(by(|choice| choice.best_of((0..3).map(NodeIndex)))).await;
    cluster.prime(PLAIN, Answer::error(0x1002, "bootstrapping"));
    let wrong = error(session.execute(PLAIN, ()).await);
    let tried: std::collections::BTreeSet<_> = wrong.tries().iter().map(|tried| tried.host_id).collect();
    assert_eq!((tried.len(), wrong.tries().len()), (3, 3));
}

fn index(place: usize) -> NodeIndex {
    NodeIndex(u32::try_from(place).unwrap())
}

/// design 4: a node without a connection is passed over, and the policy asked again; what it may not choose ends the choice.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_taken() {
    let asked: Arc<Mutex<Vec<Vec<Uuid>>>> = Arc::default();
    let note = Arc::clone(&asked);
    let (cluster, session) = start(by(move |choice| {
        note.lock().unwrap().push(choice.tried().to_vec());
        (0..).map(NodeIndex).find(|at| choice.node(*at).is_none_or(|node| !choice.tried().contains(&node.host_id)))
    }))
    .await;
    let mut sorted = ids(&cluster);
    sorted.sort();
    let of = |host_id: Uuid| cluster.nodes().iter().find(|node| node.host_id() == Some(host_id)).unwrap();
    of(sorted[0]).kill().await;
    settle().await;
    asked.lock().unwrap().clear();
    assert_eq!(served_by(&session, PLAIN).await, sorted[1]);
    assert_eq!(*asked.lock().unwrap(), [vec![], vec![sorted[0]]]);

    // Beyond the snapshot, and again the same.
    for place in [3, u32::MAX] {
        let profile = Profile::new("wrong").with_balancing_policy(by(move |_| Some(NodeIndex(place))));
        let wrong = error(session.execute(Statement::new(PLAIN).with_profile(&profile), ()).await);
        assert_eq!(wrong.kind(), Kind::NoConnection);
        assert_eq!(wrong.to_string(), NONE_OF_TWO);
    }
    cluster.prime(PLAIN, Answer::error(0x1002, "bootstrapping"));
    let same = Profile::new("same").with_balancing_policy(only(sorted[1]));
    let wrong = error(session.execute(Statement::new(PLAIN).with_profile(&same), ()).await);
    assert_eq!(wrong.tries().iter().map(|tried| tried.host_id).collect::<Vec<_>>(), [sorted[1]]);
}

/// design 4: a policy of a profile comes before the session's, and one is asked for preparing and batches as well.
#[tokio::test(start_paused = true)]
async fn one_of_a_profile() {
    let (cluster, session) = start(by(|choice| choice.built_in())).await;
    let [_, second, third] = ids(&cluster);
    for host_id in [second, third] {
        let profile = Profile::new("one").with_balancing_policy(only(host_id));
        for _ in 0..6 {
            assert_eq!(served_by(&session, Statement::new(PLAIN).with_profile(&profile)).await, host_id);
        }
        let batch = messina::Batch::unlogged().with("INSERT INTO ks.t (id) VALUES (1)", ()).with_profile(&profile);
        cluster.prime("INSERT INTO ks.t (id) VALUES (1)", Answer::void());
        assert_eq!(session.execute(batch, ()).await.unwrap().served_by().host_id, host_id);
    }
    let mut all = std::collections::BTreeSet::new();
    for _ in 0..12 {
        all.insert(served_by(&session, PLAIN).await);
    }
    assert_eq!(all.len(), 3, "the built-in choice takes turns");
}

/// design 4: the lesser loaded is found, loads are told, and a frozen node loses its traffic.
#[tokio::test(start_paused = true)]
async fn loads_are_told() {
    let loads: Arc<Mutex<Vec<Option<usize>>>> = Arc::default();
    let note = Arc::clone(&loads);
    let (cluster, session) = start(by(move |choice| {
        let all = choice.snapshot().nodes().len();
        *note.lock().unwrap() = (0..all).map(|at| Some(choice.load(index(at))?.in_flight)).collect();
        choice.best_of(choice.nodes().filter(|node| choice.is_local(*node)))
    }))
    .await;
    let frozen = cluster.node(1).host_id().unwrap();
    cluster.node(1).freeze();
    let requests = (0..3).map(|_| {
        let session = session.clone();
        tokio::spawn(async move { session.execute(PLAIN, ()).await.map(drop) })
    });
    let requests: Vec<_> = requests.collect();
    settle().await;
    let waiting = requests.iter().filter(|request| !request.is_finished()).count();
    assert_eq!(waiting, 1, "one of three went to the frozen node");
    tokio::time::sleep(Duration::from_millis(100)).await;
    for _ in 0..12 {
        assert_ne!(served_by(&session, PLAIN).await, frozen);
    }
    let mut told = loads.lock().unwrap().clone();
    told.sort();
    // It is asked whether it lives, besides.
    assert_eq!(told, [Some(0), Some(0), Some(2)]);
    cluster.node(2).kill().await;
    settle().await;
    served_by(&session, PLAIN).await;
    assert!(loads.lock().unwrap().contains(&None), "a node without a connection has no load");
}

/// design 4: replicas of a conditional statement keep their order, and the best of them is the first that answers.
#[tokio::test(start_paused = true)]
async fn conditional_statements_keep_the_order() {
    const WRITE: &str = "UPDATE ks.t SET v = 'x' WHERE id = ? IF EXISTS";
    let (cluster, session) = start_changed(
        by(|choice| {
            assert!(choice.is_conditional() || choice.token().is_none());
            choice.best_of(choice.replicas()).or_else(|| choice.built_in())
        }),
        |facts| {
            facts.versions.retain(|version| *version < 5);
            let mark = "LWT_OPTIMIZATION_META_BIT_MASK=1024";
            facts.scylla = Some(Scylla::new(0).with("SCYLLA_LWT_ADD_METADATA_MARK", mark));
        },
    )
    .await;
    let prime = Prime::new(WRITE).of("ks", "t").params("id int").partition_key([0]).conditional();
    cluster.prime(prime, rows!["[applied] boolean"; (true,)]);
    let prepared = session.prepare(WRITE).await.unwrap();
    let snapshot = session.topology();
    let sets = snapshot.replica_sets(&Strategy::Simple { replicas: 3 });
    for id in 0..20_i32 {
        let first = snapshot.at(sets.of(Murmur3::token(&id.to_be_bytes()))[0]).unwrap().host_id;
        // Also while it is busy.
        let three = [0; 3].map(|_| session.execute(&prepared, (id,)));
        for result in futures_util::future::join_all(three).await {
            assert_eq!(result.unwrap().served_by().host_id, first);
        }
    }
}

/// design 4: a choice can be made by hand, to try a policy without a session.
#[test]
fn a_choice_by_hand() {
    let ids = [1, 2, 3].map(Uuid::from_u128);
    let nodes = ids.map(|id| {
        let mut info = messina::topology::NodeInfo::new(id);
        info.address = Some("127.0.0.1:9042".parse().unwrap());
        info
    });
    let snapshot = Snapshot::new(NodeList::new(nodes.to_vec()), None);
    let token = Murmur3::token(b"x");
    let replicas = [NodeIndex(2), NodeIndex(1)];
    let choice = NodeChoice::new(&snapshot);
    assert_eq!((choice.replicas().count(), choice.nodes().count(), choice.token()), (0, 3, None));
    let choice = choice.with_replicas(token, &replicas);
    assert_eq!((choice.token(), choice.built_in()), (Some(token), Some(NodeIndex(2))));
    let after = choice.after(&ids[2..]);
    assert_eq!(after.built_in(), Some(NodeIndex(1)));
    let tried = [ids[2], ids[1]];
    assert_eq!(choice.after(&tried).built_in(), Some(NodeIndex(0)));
    assert_eq!(choice.after(&ids).built_in(), None);
    assert_eq!((choice.load(NodeIndex(3)), choice.is_local(NodeIndex(3))), (None, false));
    assert_eq!(choice.best_of([NodeIndex(7), NodeIndex(1)]), Some(NodeIndex(1)));
}
