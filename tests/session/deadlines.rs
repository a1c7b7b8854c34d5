//! Requests that set no timer of their own until they have waited for a while: each ends in its own time all the same.

use std::time::Duration;

use messina::error::Kind;
use messina::policy::{BalancingPolicy, NodeChoice};
use messina::testkit::{Answer, Cluster, rows};
use messina::topology::NodeIndex;
use messina::{Profile, Session, Statement};
use tokio::time::Instant;

use crate::support::{Nodes, SECOND, settle, start};

const SELECT: &str = "SELECT id FROM ks.t";

async fn one_row(nodes: usize) -> (Nodes, Session) {
    let (cluster, session) = start(nodes).await;
    cluster.prime(SELECT, rows!["id int"; (1,)]);
    (cluster, session)
}

fn within(limit: Duration) -> Statement {
    Statement::new(SELECT).with_timeout(limit)
}

/// Starts a request in a task of its own, which nothing but its own connection and deadline wake; how it ends and when.
fn alone(session: &Session, statement: Statement) -> tokio::task::JoinHandle<(Result<(), Kind>, Duration)> {
    let (session, begun) = (session.clone(), Instant::now());
    tokio::spawn(async move {
        let result = session.execute(statement, ()).await;
        (result.map(drop).map_err(|error| error.kind()), begun.elapsed())
    })
}

/// design 4.1: a request that nobody else wakes ends when its time is up, whatever else is on the connection: nothing,
/// requests that are answered, requests that came before and after, long and short ones.
#[tokio::test(start_paused = true)]
async fn each_ends_in_its_own_time() {
    let (cluster, session) = one_row(1).await;
    cluster.prime(SELECT, Answer::from(rows!["id int"; (1,)]).delayed(SECOND * 1000));
    let limits =
        [1, 19, 20, 79, 80, 81, 82, 99, 100, 101, 120, 160, 250, 1000, 9999, 10_000].map(Duration::from_millis);
    for limit in limits {
        let (result, took) = tokio::time::timeout(SECOND * 60, alone(&session, within(limit))).await.unwrap().unwrap();
        assert_eq!((result, took), (Err(Kind::Timeout), limit));
    }
    // All at once, and others that begin while they wait.
    let mut all = Vec::new();
    for wave in 0..40 {
        all.extend(limits.map(|limit| (limit, alone(&session, within(limit)))));
        tokio::time::sleep(Duration::from_millis(wave % 7)).await;
    }
    for (limit, request) in all {
        let (result, took) = tokio::time::timeout(SECOND * 60, request).await.unwrap().unwrap();
        assert_eq!((result, took), (Err(Kind::Timeout), limit));
    }
    // The connection has been idle, and is busy with what is answered at once.
    tokio::time::sleep(SECOND * 5).await;
    let waiting = alone(&session, within(SECOND * 2));
    settle().await;
    cluster.prime(SELECT, rows!["id int"; (1,)]);
    while !waiting.is_finished() {
        let (result, took) = alone(&session, within(SECOND)).await.unwrap();
        assert_eq!((result, took < SECOND), (Ok(()), true));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(waiting.await.unwrap(), (Err(Kind::Timeout), SECOND * 2));
}

/// design 4.1: so does one that is sent while nothing can be written, since the peer reads no more: after a request that
/// is as long, or after what was sent beside requests.
#[tokio::test(start_paused = true)]
async fn so_do_those_that_cannot_be_written() {
    let (cluster, session) = one_row(2).await;
    let text = format!("SELECT id FROM ks.t -- {}", "x".repeat(900_000));
    cluster.prime(&*text, rows!["id int"; (1,)]);
    let only = |index: usize| {
        let host_id = cluster.node(index).host_id().unwrap();
        Profile::new("one node").with_balancing_policy(Only(host_id))
    };
    for beside in [false, true] {
        cluster.node(1).freeze();
        if beside {
            // The other node is told of the statement.
            session.prepare(Statement::new(&*text).with_profile(&only(0))).await.unwrap();
        } else {
            let large = Statement::new(&*text).with_timeout(SECOND * 2).with_profile(&only(1));
            let session = session.clone();
            tokio::spawn(async move { session.execute(large, ()).await.map(drop) });
        }
        settle().await;
        let small = alone(&session, Statement::new(SELECT).with_timeout(SECOND).with_profile(&only(1)));
        let (result, took) = tokio::time::timeout(SECOND * 60, small).await.unwrap().unwrap();
        assert_eq!((result, took), (Err(Kind::Timeout), SECOND), "{beside}");
        cluster.node(1).start();
        tokio::time::sleep(SECOND * 120).await;
    }
}

/// One node and no other.
#[derive(Debug)]
struct Only(uuid::Uuid);

impl BalancingPolicy for Only {
    fn pick(&self, choice: &NodeChoice<'_>) -> Option<NodeIndex> {
        choice.snapshot().index(self.0)
    }
}

/// design 6: a request that waits in another runtime than the session's ends in time, though that one stands still; also
/// one that was begun there.
#[test]
fn another_runtime_stands_still() {
    let build = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (own, other) = (build(), build());
    let (_cluster, session) = own.block_on(async {
        let cluster = Cluster::builder().start().await.unwrap();
        cluster.prime(SELECT, rows!["id int"; (1,)]);
        let session = Session::builder().contact_addr(cluster.node(0).addr()).build().await.unwrap();
        session.execute(SELECT, ()).await.unwrap();
        cluster.prime(SELECT, Answer::from(rows!["id int"; (1,)]).delayed(SECOND * 60));
        // Its connection knows where it runs.
        assert_eq!(session.execute(within(SECOND / 10), ()).await.map(drop).unwrap_err().kind(), Kind::Timeout);
        (cluster, session)
    });
    for begun_there in [false, true] {
        let begun = Instant::now();
        let mut request = Box::pin(session.execute(within(SECOND / 5), ()));
        if begun_there {
            assert!(own.block_on(async { futures_util::poll!(request.as_mut()) }).is_pending());
        }
        let late = other.block_on(async { tokio::time::timeout(SECOND * 5, request).await });
        assert_eq!(late.expect("in time").map(drop).unwrap_err().kind(), Kind::Timeout);
        assert!(begun.elapsed() < SECOND * 2, "{begun_there}: {:?}", begun.elapsed());
    }
}

/// design 6: on a runtime of several threads a request ends in time, though the task of its connection is left behind one
/// that computes for long.
#[test]
fn the_connection_is_left_behind() {
    let servers = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let cluster = servers.block_on(Cluster::builder().start()).unwrap();
    cluster.prime(SELECT, Answer::from(rows!["id int"; (1,)]).delayed(SECOND * 60));
    let own = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    own.block_on(async {
        let session = Session::builder().contact_addr(cluster.node(0).addr()).build().await.unwrap();
        let _ = session.execute(within(SECOND / 10), ()).await;
        // Something always happens, so that some thread always looks at the time.
        let ticking = tokio::spawn(async {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                tokio::spawn(async {});
            }
        });
        let waiting = alone(&session, within(SECOND / 5));
        let computing = {
            let session = session.clone();
            tokio::spawn(async move {
                tokio::join!(session.execute(within(SECOND * 2), ()), async {
                    let until = Instant::now() + SECOND;
                    while Instant::now() < until {
                        std::hint::spin_loop();
                    }
                })
            })
        };
        let (result, took) = waiting.await.unwrap();
        assert_eq!(result, Err(Kind::Timeout));
        assert!(took < SECOND * 3 / 4, "{took:?}");
        ticking.abort();
        let _ = computing.await;
    });
}

/// design 6: a request that is awaited where there is no runtime says so, at once.
#[test]
fn outside_of_a_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (_cluster, session) = runtime.block_on(async {
        let cluster = Cluster::builder().start().await.unwrap();
        cluster.prime(SELECT, Answer::from(rows!["id int"; (1,)]).delayed(SECOND * 60));
        let session = Session::builder().contact_addr(cluster.node(0).addr()).build().await.unwrap();
        (cluster, session)
    });
    let mut request = std::pin::pin!(session.execute(SELECT, ()));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Err(wrong)) = request.as_mut().poll(&mut cx) else { panic!("it waits") };
    assert_eq!(wrong.kind(), Kind::Config);
    assert!(wrong.to_string().contains("outside of a Tokio runtime"), "{wrong}");
}
