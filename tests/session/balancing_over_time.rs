//! A balancing policy of the application's own, where a request waits, goes to two nodes, or meets a panic.

use std::sync::Arc;
use std::time::Duration;

use messina::error::Kind;
use messina::policy::ConstantSpeculation;
use messina::testkit::{Fault, Stage, rows};
use messina::{Profile, Statement};
use tokio::time::Instant;

use crate::balancing::{NONE_OF_TWO, PLAIN, by, ids, only, served_by, start};
use crate::support::{error, settle};

/// design 4: while the one node that it wants is about to be connected again, the request waits; one that it refuses
/// does not.
#[tokio::test(start_paused = true)]
async fn a_request_waits_for_its_node() {
    let (cluster, session) = start(by(|choice| choice.built_in())).await;
    let wanted = Profile::new("second").with_balancing_policy(only(cluster.node(1).host_id().unwrap()));
    let statement = Statement::new(PLAIN).with_profile(&wanted);
    for speculative in [false, true] {
        // One that was lost soon after it was opened would be opened again later.
        tokio::time::sleep(Duration::from_secs(2)).await;
        cluster.node(1).fault(Stage::Startup, Fault::Delay(Duration::from_secs(1)).times(1));
        cluster.node(1).reset_connections();
        settle().await;
        let wanted = wanted.clone().with_speculation(ConstantSpeculation::new(1, Duration::from_secs(5)));
        let statement = if speculative {
            statement.clone().with_profile(&wanted).with_idempotence(true)
        } else {
            statement.clone()
        };
        let begun = Instant::now();
        assert_eq!(Some(served_by(&session, statement).await), cluster.node(1).host_id());
        let waited = begun.elapsed();
        assert!(waited > Duration::from_millis(900) && waited < Duration::from_secs(2), "{waited:?}");
    }
    let none = Profile::new("none").with_balancing_policy(by(|_| None));
    let begun = Instant::now();
    let wrong = error(session.execute(Statement::new(PLAIN).with_profile(&none), ()).await);
    assert_eq!(wrong.kind(), Kind::NoConnection);
    assert_eq!(wrong.to_string(), NONE_OF_TWO.replace("2 of 3", "3 of 3"));
    assert!(begun.elapsed() < Duration::from_millis(10));
}

/// design 4: a policy that refuses again and again while a node is being connected holds up nothing but its request.
#[tokio::test(start_paused = true)]
async fn a_policy_that_changes_its_mind() {
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let (cluster, session) = start(by(move |choice| {
        let odd = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 == 1;
        odd.then(|| choice.built_in()).flatten()
    }))
    .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    cluster.node(1).fault(Stage::Startup, Fault::Delay(Duration::from_secs(1)).times(1));
    cluster.node(1).reset_connections();
    settle().await;
    served_by(&session, PLAIN).await;
    served_by(&session, PLAIN).await;
}

/// design 4: speculative execution asks the policy for its second node.
#[tokio::test(start_paused = true)]
async fn speculation_asks_it_too() {
    let (cluster, session) = start(by(|choice| choice.built_in())).await;
    let [first, _, third] = ids(&cluster);
    cluster.node(0).freeze();
    let two = by(move |choice| choice.snapshot().index(if choice.tried().is_empty() { first } else { third }));
    let profile = Profile::new("two")
        .with_balancing_policy(two)
        .with_speculation(ConstantSpeculation::new(1, Duration::from_millis(50)));
    let statement = Statement::new(PLAIN).with_profile(&profile).with_idempotence(true);
    assert_eq!(served_by(&session, statement).await, third);
}

/// design 4: a policy that panics does so where rows are waited for, and the session goes on.
#[tokio::test(start_paused = true)]
async fn a_panic_while_a_page_is_fetched() {
    let panics = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let armed = Arc::clone(&panics);
    let (cluster, session) = start(by(move |choice| {
        assert!(!armed.load(std::sync::atomic::Ordering::Relaxed), "boom");
        choice.built_in()
    }))
    .await;
    cluster.prime(PLAIN, rows!["v int"; (1,), (2,), (3,)]);
    let result = session.execute(Statement::new(PLAIN).with_page_size(1), ()).await.unwrap();
    let served_by = result.served_by().addr;
    let node = cluster.nodes().iter().find(|node| node.addr() == served_by).unwrap();
    node.fault(Stage::Query, Fault::error(0x1002, "bootstrapping"));
    panics.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut rows = result.stream::<(i32,)>();
    let read = tokio::spawn(async move { while rows.try_next().await.unwrap().is_some() {} });
    let panic = read.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"boom"));
    panics.store(false, std::sync::atomic::Ordering::Relaxed);
    node.clear_faults();
    session.execute(PLAIN, ()).await.unwrap();
}
