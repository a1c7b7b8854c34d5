//! Write timestamps: who makes them, and that every try of a request has the same one.

use std::sync::{Arc, Mutex};

use messina::policy::{MonotonicTimestamps, ServerTimestamps};
use messina::testkit::{Answer, rows};
use messina::{Session, Statement};

use crate::support::{Nodes, start_with};

const WRITE: &str = "INSERT INTO ks.t (id) VALUES (1)";

type Seen = Arc<Mutex<Vec<Option<i64>>>>;

fn record(cluster: &Nodes, fail_first: bool) -> Seen {
    let seen = Seen::default();
    let note = Arc::clone(&seen);
    cluster.prime_with(WRITE, move |request| {
        let mut seen = note.lock().unwrap();
        seen.push(request.timestamp);
        if fail_first && seen.len() == 1 { Answer::unavailable(6, 2, 1) } else { rows!["id int"; (1,)].into() }
    });
    seen
}

async fn write(session: &Session, statement: Statement) {
    session.execute(statement, ()).await.unwrap();
}

/// driver 2.1: the client's clock is the default, it never stands still, and a statement's own comes first.
#[tokio::test(start_paused = true)]
async fn timestamps_grow() {
    let (cluster, session) = start_with(|cluster| cluster, |session| session).await;
    let seen = record(&cluster, false);
    for _ in 0..3 {
        write(&session, Statement::new(WRITE)).await;
    }
    write(&session, Statement::new(WRITE).with_timestamp(42)).await;
    let seen: Vec<i64> = seen.lock().unwrap().iter().map(|at| at.unwrap()).collect();
    assert!(seen[0] < seen[1] && seen[1] < seen[2], "{seen:?}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
    assert!(u128::try_from(seen[0]).unwrap().abs_diff(now) < 60_000_000, "{seen:?}");
    assert_eq!(seen[3], 42);
}

/// driver 2.1: the server's clock, where that is wanted.
#[tokio::test(start_paused = true)]
async fn the_server_may_choose() {
    let (cluster, session) = start_with(|cluster| cluster, |session| session.timestamps(ServerTimestamps)).await;
    let seen = record(&cluster, false);
    write(&session, Statement::new(WRITE)).await;
    assert_eq!(*seen.lock().unwrap(), [None]);
}

/// driver 2.1: a try that follows another has the same timestamp.
#[tokio::test(start_paused = true)]
async fn tries_share_a_timestamp() {
    let (cluster, session) = start_with(|cluster| cluster.nodes(2), |session| session).await;
    let seen = record(&cluster, true);
    write(&session, Statement::new(WRITE)).await;
    let seen = seen.lock().unwrap().clone();
    assert!(seen.len() == 2 && seen[0].is_some() && seen[0] == seen[1], "{seen:?}");
}

/// driver 2.1: a clock that stands still or is set back makes no timestamp twice.
#[test]
fn a_clock_set_back() {
    let timestamps = MonotonicTimestamps::new();
    let made: Vec<_> = [1000, 1000, 1000, 900, 1001, 5000, 10].map(|clock| timestamps.next_at(clock)).into();
    assert_eq!(made, [1000, 1001, 1002, 1003, 1004, 5000, 5001]);
}
