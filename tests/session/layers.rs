//! Layers of the application's around requests, and the throttles that ship.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use messina::error::Kind;
use messina::session::{ConcurrencyThrottle, RateThrottle, SessionBuilder, Throttled};
use messina::testkit::{Fault, Prime, Rows, Stage, rows};
use messina::{Request, Session, Statement};
use tokio::time::Instant;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::load_shed::LoadShedLayer;
use tower::util::MapRequestLayer;

use crate::support::{Nodes, error, start_with};

const READ: &str = "SELECT id FROM ks.t";
const BY_ID: &str = "SELECT name FROM ks.users WHERE id = ?";

/// Counts the requests that go through.
fn counted(session: SessionBuilder, count: &Arc<AtomicUsize>) -> SessionBuilder {
    let count = Arc::clone(count);
    session.request_layer(MapRequestLayer::new(move |request: Request| {
        count.fetch_add(1, Ordering::Relaxed);
        request
    }))
}

async fn with_layer(layered: impl FnOnce(SessionBuilder) -> SessionBuilder) -> (Nodes, Session) {
    let (cluster, session) = start_with(|cluster| cluster, layered).await;
    cluster.prime(READ, rows!["id int"; (1,), (2,), (3,)]);
    cluster.prime(Prime::new(BY_ID).params("id int").partition_key([0]), rows!["name text"; ("Ada",)]);
    (cluster, session)
}

/// driver 7.19: each request and each page goes through a layer once; what the session does by itself does not.
#[tokio::test(start_paused = true)]
async fn every_request_once() {
    let count = Arc::default();
    let (cluster, session) = with_layer(|session| counted(session, &count)).await;
    session.execute(READ, ()).await.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);

    // Prepared on the way.
    session.execute(BY_ID, (7,)).await.unwrap();
    assert_eq!((count.load(Ordering::Relaxed), cluster.node(0).count(Stage::Prepare)), (2, 1));
    cluster.node(0).forget_prepared();
    session.execute(BY_ID, (7,)).await.unwrap();
    assert_eq!((count.load(Ordering::Relaxed), cluster.node(0).count(Stage::Prepare)), (3, 2));

    let pages = session.execute(Statement::new(READ).with_page_size(1), ()).await.unwrap();
    assert_eq!(pages.all::<(i32,)>().await.unwrap(), [(1,), (2,), (3,)]);
    assert_eq!(count.load(Ordering::Relaxed), 6);
}

/// driver 7.19: a layer may change what is sent.
#[tokio::test(start_paused = true)]
async fn a_layer_may_change_a_request() {
    let small = MapRequestLayer::new(|request: Request| request.with_page_size(2));
    let (_cluster, session) = with_layer(|session| session.request_layer(small)).await;
    assert_eq!(session.execute(READ, ()).await.unwrap().page().len(), 2);
}

/// driver 7.19: the session's error comes through layers as it was; a layer's own has a kind of its own.
#[tokio::test(start_paused = true)]
async fn errors_come_through() {
    let (_cluster, session) =
        with_layer(|session| session.request_layer(MapRequestLayer::new(|request: Request| request))).await;
    let wrong = error(session.execute("SELECT nothing", ()).await);
    assert_eq!((wrong.kind(), wrong.tries().len()), (Kind::Server, 1));

    let shed = |session: SessionBuilder| {
        session.request_layer(GlobalConcurrencyLimitLayer::new(1)).request_layer(LoadShedLayer::new())
    };
    let (cluster, session) = with_layer(shed).await;
    cluster.node(0).fault(Stage::Query, Fault::Delay(Duration::from_millis(10)));
    let results = join_all([session.execute(READ, ()), session.execute(READ, ())]).await;
    let failed: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    let [shed] = &failed[..] else { panic!("{failed:?}") };
    assert_eq!(shed.kind(), Kind::Layer);
    assert!(shed.find::<tower::load_shed::error::Overloaded>().is_some(), "{shed}");
}

/// driver 7.19: the request's timeout covers its layers, and its error still has the try that ran.
#[tokio::test(start_paused = true)]
async fn timeouts_cover_layers() {
    let (cluster, session) =
        with_layer(|session| session.request_layer(ConcurrencyThrottle::new(1, 10)).request_timeout(SHORT)).await;
    cluster.node(0).fault(Stage::Query, Fault::Silence);
    let begun = Instant::now();
    let results = join_all([session.execute(READ, ()), session.execute(READ, ())]).await;
    let mut tries: Vec<_> = results.into_iter().map(error).map(|wrong| (wrong.kind(), wrong.tries().len())).collect();
    tries.sort_by_key(|(_, tries)| *tries);
    assert_eq!(tries, [(Kind::Timeout, 0), (Kind::Timeout, 1)]);
    assert!(begun.elapsed() < SHORT * 2, "{:?}", begun.elapsed());
}

const SHORT: Duration = Duration::from_millis(100);

/// driver 2.1: so many requests at a time, so many in line, the next is refused; who is dropped leaves the line.
#[tokio::test(start_paused = true)]
async fn concurrency_is_limited() {
    let throttle = ConcurrencyThrottle::new(2, 2);
    let line = throttle.clone();
    let (cluster, session) = with_layer(|session| session.request_layer(throttle)).await;
    cluster.node(0).fault(Stage::Query, Fault::Delay(SHORT));
    let begun = Instant::now();
    let results = join_all((0..5).map(|_| session.execute(READ, ()))).await;
    let refused: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    let [refused] = &refused[..] else { panic!("{refused:?}") };
    let why = refused.find::<Throttled>().unwrap().to_string();
    assert!(why.contains("2 requests wait") && why.contains("at most 2 run"), "{why}");
    assert!(begun.elapsed() >= SHORT * 2 && begun.elapsed() < SHORT * 3, "{:?}", begun.elapsed());
    assert_eq!(line.waiting(), 0);

    let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(session.execute(READ, ()))).collect();
    for request in &mut waiting {
        assert!(futures_util::poll!(request.as_mut()).is_pending());
    }
    assert_eq!(line.waiting(), 2);
    drop(waiting);
    assert_eq!(line.waiting(), 0);
    session.execute(READ, ()).await.unwrap();
}

/// driver 2.1: so many requests start per second, evenly.
#[tokio::test(start_paused = true)]
async fn the_rate_is_limited() {
    let (_cluster, session) = with_layer(|session| session.request_layer(RateThrottle::new(100, 20))).await;
    let begun = Instant::now();
    let results = join_all((0..30).map(|_| session.execute(READ, ()))).await;
    let refused = results.iter().filter(|result| result.is_err()).count();
    assert_eq!(refused, 9, "one at once, twenty in line");
    assert_eq!(begun.elapsed().as_millis() / 10, 20);
    // Time that passed unused is not saved up.
    tokio::time::advance(Duration::from_secs(10)).await;
    let begun = Instant::now();
    for _ in 0..3 {
        session.execute(READ, ()).await.unwrap();
    }
    assert_eq!(begun.elapsed().as_millis() / 10, 2);
}

/// driver 7.19: layers do not keep a session alive that nobody holds.
#[tokio::test(start_paused = true)]
async fn layers_end_with_the_session() {
    let (cluster, session) = with_layer(|session| counted(session, &Arc::default())).await;
    cluster.prime("SELECT n FROM ks.n", Rows::new("n int"));
    session.execute("SELECT n FROM ks.n", ()).await.unwrap();
    drop(session);
    cluster.wait_for(crate::support::SECOND, |log| log.open() == 0).await.unwrap();
}
