//! The session as a tower service, and its end.

use std::time::Duration;

use messina::error::Kind;
use messina::testkit::{Answer, Fault, Prime, Stage, rows};
use messina::{Error, Request, ResultSet, Session};
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::support::{Nodes, SECOND, error, settle, start};

const BY_ID: &str = "SELECT name FROM ks.users WHERE id = ?";

async fn users() -> (Nodes, Session, Request) {
    let (cluster, session) = start(1).await;
    cluster.prime(Prime::new(BY_ID).params("id int"), rows!["name text"; ("Ada",)]);
    let request = session.prepare(BY_ID).await.unwrap().bind((7,)).unwrap();
    (cluster, session, request)
}

/// surface 1: the session is a service of requests, under any of tower's middleware.
#[tokio::test(start_paused = true)]
async fn under_tower() {
    fn is_a_service<S: Service<Request, Response = ResultSet, Error = Error> + Clone + Send + Sync>(_: &S) {}
    let (cluster, session, request) = users().await;
    is_a_service(&session);
    let mut stack = ServiceBuilder::new().concurrency_limit(2).timeout(SECOND).service(session);
    for _ in 0..2 {
        let result = stack.ready().await.unwrap().call(request.clone()).await.unwrap();
        assert_eq!(result.one::<(String,)>().await.unwrap().0, "Ada");
    }
    cluster.fault(Stage::Query, Fault::Silence);
    assert!(stack.ready().await.unwrap().call(request).await.unwrap_err().is::<tower::timeout::error::Elapsed>());
}

/// surface 1: futures of a session may be sent to another thread.
#[tokio::test]
async fn futures_are_send() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let (_cluster, session, _) = users().await;
    let name = BY_ID.to_owned();
    let result = is_send(session.execute(&name, (7,))).await.unwrap();
    is_send(result.one::<(String,)>()).await.unwrap();
    let result = is_send(session.execute(&name, vec![7])).await.unwrap();
    let mut stream = is_send(result.stream::<(String,)>());
    is_send(stream.try_next()).await.unwrap();
    is_send(session.prepare(name)).await.unwrap();
    is_send(session.close()).await;
}

/// surface 1: a closed session lets requests end, takes no new ones, and closes every connection of every clone.
#[tokio::test(start_paused = true)]
async fn close_drains() {
    let (cluster, session, request) = users().await;
    cluster.prime(BY_ID, Answer::from(rows!["name text"; ("Ada",)]).delayed(SECOND));
    let running = tokio::spawn({
        let (session, request) = (session.clone(), request.clone());
        async move { session.execute_request(&request).await }
    });
    settle().await;
    let closed = session.clone().close().await;
    assert_eq!((closed.connections, closed.cut), (1, 0));
    assert!(running.await.unwrap().is_ok());
    assert!(session.is_closed());
    let wrong = error(session.execute_request(&request).await);
    assert_eq!((wrong.kind(), wrong.to_string().as_str()), (Kind::Closed, "the session is closed"));
    cluster.wait_for(SECOND, |log| log.open() == 0).await.unwrap();
    // A second close has nothing to do.
    assert_eq!(session.close().await.connections, 0);
    tokio::time::sleep(SECOND * 120).await;
    assert_eq!(cluster.log().now().open(), 0, "nothing connects again");
}

/// surface 1: what does not end within the limit is cut, and counted.
#[tokio::test(start_paused = true)]
async fn close_cuts() {
    let (cluster, session, request) = users().await;
    cluster.fault(Stage::Query, Fault::Silence);
    let running = tokio::spawn({
        let (session, request) = (session.clone(), request.clone());
        async move { session.execute_request(&request).await }
    });
    settle().await;
    let start = tokio::time::Instant::now();
    let closed = session.close_within(Duration::from_millis(300)).await;
    assert_eq!(start.elapsed(), Duration::from_millis(300));
    assert_eq!((closed.connections, closed.cut), (1, 1));
    assert!(running.await.unwrap().is_err());
    cluster.wait_for(SECOND, |log| log.open() == 0).await.unwrap();
}
