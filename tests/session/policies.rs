//! Retry policies, profiles and speculative execution.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use messina::error::Kind;
use messina::policy::{
    ConstantSpeculation, DowngradingRetry, FailedTry, Fallthrough, PercentileSpeculation, RetryCause, RetryDecision,
    RetryPolicy, SpeculativePolicy,
};
use messina::testkit::{Answer, Fault, Stage, rows};
use messina::{Consistency, Profile, Session, Statement};
use tokio::time::Instant;

use crate::support::{Nodes, error, start, start_with};

const READ: &str = "SELECT id FROM ks.t";

type Asked = Arc<Mutex<Vec<(usize, u16)>>>;

/// A session whose statement is answered by these first, whoever is asked, then by rows.
async fn answering(nodes: usize, answers: impl IntoIterator<Item = Answer>) -> (Nodes, Session, Asked) {
    let (cluster, session) = start(nodes).await;
    let asked = script(&cluster, answers);
    (cluster, session, asked)
}

fn script(cluster: &Nodes, answers: impl IntoIterator<Item = Answer>) -> Asked {
    let answers = Mutex::new(answers.into_iter().collect::<Vec<_>>().into_iter());
    let asked = Asked::default();
    let note = Arc::clone(&asked);
    cluster.prime_with(READ, move |request| {
        note.lock().unwrap().push((request.node, request.consistency));
        answers.lock().unwrap().next().unwrap_or_else(|| rows!["id int"; (1,)].into())
    });
    asked
}

fn read() -> Statement {
    Statement::new(READ).with_idempotence(true)
}

/// driver 2.1: a policy that gives up is asked instead of the default one, for the statement or for its profile.
#[tokio::test(start_paused = true)]
async fn fallthrough_never_repeats() {
    for with in [
        |statement: Statement| statement.with_retry_policy(Fallthrough),
        |statement: Statement| statement.with_profile(&Profile::new("once").with_retry_policy(Fallthrough)),
    ] {
        let (_cluster, session, asked) = answering(3, [Answer::unavailable(6, 2, 1)]).await;
        let wrong = error(session.execute(with(read()), ()).await);
        assert_eq!((wrong.kind(), wrong.tries().len(), asked.lock().unwrap().len()), (Kind::Server, 1, 1));
    }
}

/// driver 2.1: a request that never reached a node goes elsewhere whatever the policy says.
#[tokio::test(start_paused = true)]
async fn a_policy_is_not_asked_about_what_was_not_sent() {
    let (cluster, session) = start_with(
        |cluster| cluster.nodes(2),
        |session| session.retry_policy(Fallthrough).requests_per_connection(1, 0),
    )
    .await;
    let asked = script(&cluster, []);
    cluster.node(0).fault(Stage::Query, Fault::Delay(Duration::from_secs(1)));
    cluster.node(1).fault(Stage::Query, Fault::Delay(Duration::from_secs(1)));
    // Two at a time have room, the third waits for it.
    let three = [0, 1, 2].map(|_| session.execute(read(), ()));
    for result in futures_util::future::join_all(three).await {
        result.unwrap();
    }
    assert_eq!(asked.lock().unwrap().len(), 3);
}

/// driver 2.1: the downgrading policy asks for as many replicas as answered, once.
#[tokio::test(start_paused = true)]
async fn downgrading_asks_fewer() {
    let quorum = read().with_consistency(Consistency::Quorum).with_retry_policy(DowngradingRetry);
    let one = Consistency::One as u16;
    for answer in [Answer::unavailable(4, 2, 1), Answer::read_timeout(4, 1, 2, false)] {
        let (_cluster, session, asked) = answering(2, [answer.clone()]).await;
        session.execute(&quorum, ()).await.unwrap();
        let asked: Vec<_> = asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 2);
        assert_eq!((asked[0].0, asked[1].1), (asked[1].0, one), "the same node, with ONE");
    }
    let (_cluster, session, asked) = answering(2, [Answer::unavailable(4, 2, 0)]).await;
    assert_eq!(error(session.execute(&quorum, ()).await).kind(), Kind::Server);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

/// driver 2.1: a write that at least one replica has counts as done for the downgrading policy.
#[tokio::test(start_paused = true)]
async fn downgrading_ignores_a_write_that_arrived() {
    let (_cluster, session, asked) = answering(2, [Answer::write_timeout(4, 1, 2, "SIMPLE")]).await;
    let result = session.execute(read().with_retry_policy(DowngradingRetry), ()).await.unwrap();
    assert!(result.columns().is_empty());
    assert_eq!(asked.lock().unwrap().len(), 1);
}

/// driver 2.1: a policy of the application's own sees cause, idempotence, consistency and what came before.
#[tokio::test(start_paused = true)]
async fn a_policy_of_ones_own() {
    type Seen = (bool, bool, Consistency, u32, u32);

    #[derive(Debug, Default)]
    struct Thrice(Arc<Mutex<Vec<Seen>>>);

    impl RetryPolicy for Thrice {
        fn decide(&self, failed: &FailedTry<'_>) -> RetryDecision {
            let lost = matches!(failed.cause, RetryCause::Lost);
            let FailedTry { idempotent, consistency, same_cause, retries, .. } = *failed;
            self.0.lock().unwrap().push((lost, idempotent, consistency, same_cause, retries));
            if retries < 3 { RetryDecision::SameNode } else { RetryDecision::Fail }
        }
    }

    let seen = Arc::default();
    let policy = Thrice(Arc::clone(&seen));
    let answers = [Answer::error(0x0000, "a"), Answer::error(0x1001, "b"), Answer::error(0x0000, "c")];
    let (_cluster, session, asked) = answering(2, answers).await;
    let statement = Statement::new(READ).with_consistency(Consistency::One).with_retry_policy(policy);
    session.execute(statement, ()).await.unwrap();
    let one = Consistency::One;
    let expected = [(false, false, one, 0, 0), (false, false, one, 0, 1), (false, false, one, 1, 2)];
    assert_eq!(*seen.lock().unwrap(), expected);
    assert_eq!(asked.lock().unwrap().len(), 4);
}

/// driver 2.1: own options come before the profile's, the profile's before the session's.
#[tokio::test(start_paused = true)]
async fn profiles_stand_between() {
    let (cluster, session) = start_with(|cluster| cluster, |session| session.consistency(Consistency::All)).await;
    let asked = script(&cluster, []);
    let profile = Profile::new("two").with_consistency(Consistency::Two).with_timeout(Duration::from_millis(50));
    session.execute(READ, ()).await.unwrap();
    session.execute(read().with_profile(&profile), ()).await.unwrap();
    session.execute(read().with_profile(&profile).with_consistency(Consistency::One), ()).await.unwrap();
    let levels: Vec<_> = asked.lock().unwrap().iter().map(|(_, level)| *level).collect();
    assert_eq!(levels, [Consistency::All, Consistency::Two, Consistency::One].map(|level| level as u16));

    cluster.node(0).fault(Stage::Query, Fault::Silence);
    let begun = Instant::now();
    assert!(error(session.execute(read().with_profile(&profile), ()).await).is_timeout());
    assert_eq!(begun.elapsed().as_millis(), 50);
}

/// driver 2.1: one silent node costs an idempotent request the delay, not its limit; other requests wait.
#[tokio::test(start_paused = true)]
async fn speculation_goes_around_a_silent_node() {
    let policy = ConstantSpeculation::new(2, Duration::from_millis(100));
    let (cluster, session) = start_with(|cluster| cluster.nodes(3), |session| session.speculation(policy)).await;
    script(&cluster, []);
    for silent in [0, 1] {
        cluster.node(silent).fault(Stage::Query, Fault::Silence);
    }
    let begun = Instant::now();
    let result = session.execute(read(), ()).await.unwrap();
    assert_eq!(Some(result.served_by().host_id), cluster.node(2).host_id());
    assert!(begun.elapsed() <= Duration::from_millis(200), "{:?}", begun.elapsed());

    // Unmarked, it is sent to one node, wherever that is.
    cluster.fault(Stage::Query, Fault::Silence);
    let before: usize = cluster.nodes().iter().map(|node| node.count(Stage::Query)).sum();
    let statement = Statement::new(READ).with_timeout(Duration::from_secs(1));
    assert!(error(session.execute(statement, ()).await).is_timeout());
    let after: usize = cluster.nodes().iter().map(|node| node.count(Stage::Query)).sum();
    assert_eq!(after, before + 1);
}

/// driver 2.1: a delay that no clock can count to starts no further try.
#[tokio::test(start_paused = true)]
async fn speculation_may_be_endlessly_patient() {
    let policy = ConstantSpeculation::new(1, Duration::MAX);
    let (cluster, session) = start_with(|cluster| cluster.nodes(2), |session| session.speculation(policy)).await;
    script(&cluster, []);
    session.execute(read(), ()).await.unwrap();
}

/// driver 2.1: tries at the same time never share a node, and the error has all of them.
#[tokio::test(start_paused = true)]
async fn speculation_never_asks_a_node_twice() {
    let policy = ConstantSpeculation::new(9, Duration::from_millis(10));
    let (cluster, session) = start_with(|cluster| cluster.nodes(3), |session| session.speculation(policy)).await;
    cluster.fault(Stage::Query, Fault::Silence);
    let statement = read().with_timeout(Duration::from_secs(1));
    let wrong = error(session.execute(statement, ()).await);
    assert!(wrong.is_timeout(), "{wrong}");
    assert_eq!(wrong.tries().len(), 3, "{}", wrong.report());
    for node in cluster.nodes() {
        assert_eq!(node.count(Stage::Query), 1);
    }
}

/// driver 2.1: when one of several tries fails, the others go on; the one that answers counts.
#[tokio::test(start_paused = true)]
async fn speculation_outlives_a_failed_try() {
    let policy = ConstantSpeculation::new(1, Duration::from_millis(10));
    let (cluster, session) = start_with(|cluster| cluster.nodes(2), |session| session.speculation(policy)).await;
    let asked = script(&cluster, [Answer::error(0x2200, "no"), rows!["id int"; (5,)].into()]);
    cluster.fault(Stage::Query, Fault::Delay(Duration::from_millis(50)));
    let (id,) = session.execute(read(), ()).await.unwrap().one::<(i32,)>().await.unwrap();
    assert_eq!((id, asked.lock().unwrap().len()), (5, 2));
}

/// driver 2.1: the percentile policy learns what is slow, and forgets.
#[test]
fn percentiles_follow_the_answers() {
    let policy = PercentileSpeculation::new(1, 90.0, Duration::from_secs(1));
    assert_eq!(policy.delay(1), Some(Duration::from_secs(1)));
    assert_eq!(policy.delay(2), None);
    for millis in 0..1000 {
        policy.answered(Duration::from_micros(100 * (millis % 10 + 1)));
    }
    let near = |policy: &PercentileSpeculation, micros: u64| {
        let threshold = policy.threshold().unwrap();
        let (low, high) = (Duration::from_micros(micros), Duration::from_micros(micros * 5 / 4));
        assert!(threshold >= low && threshold <= high, "{threshold:?} is not near {low:?}");
    };
    near(&policy, 900);
    for _ in 0..100_000 {
        policy.answered(Duration::from_millis(20));
    }
    near(&policy, 20_000);
}
